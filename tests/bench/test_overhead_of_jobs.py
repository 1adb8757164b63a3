"""Processor time a row of each job of the collection, by the driver and by plain `spark-submit`, in pairs that take turns.

Run by hand: `python3 -m tests -m bench tests/bench/test_overhead_of_jobs.py -s`. One run has all the jobs, one after the other in one
Spark, so that it starts once and is warm from the second job on. `TIDEMARK_OVERHEAD_PAIRS` says how many pairs, `TIDEMARK_OVERHEAD_JOBS`
(names with commas) which jobs, `TIDEMARK_OVERHEAD_BATCHES` the window (`12-48`), `TIDEMARK_OVERHEAD_JAVA=usual` takes Java's own choice
of compilers and garbage collector in both arms in place of the first compiler and the serial one. SQL jobs have no plain `spark-submit`
to be compared with. What serves the inputs that are no files is this process, whose own time is not counted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.domain.collection import COLLECTION, CONF, EVENTS
from pipelines.sandbox import classes
from tests import java
from tests.bench.processor_time import Used
from tests.bench.steady import Pair, Window, measured, shown
from tests.bench.test_overhead import LIMIT, PAIRS, cpu_s, plain_python, submit_command
from tests.driver.process import CONF as QUIET
from tests.driver.process import ROOT, Drivers
from tests.jobs import feeds, kinesis_server
from tests.jobs.collected import QUERIES, ROWS, make_inputs
from tests.jobs.loading import JOBS

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(14_400)]
PLAIN = [name for name, example in COLLECTION.items() if example.suffix == ".py"]
NAMES = [name for name in os.environ.get("TIDEMARK_OVERHEAD_JOBS", "").split(",") if name] or PLAIN
FIRST, LAST = map(int, os.environ.get("TIDEMARK_OVERHEAD_BATCHES", "12-48").split("-"))
FILES = LAST + 3
PATHS = os.pathsep.join((str(ROOT), str(JOBS)))
SCRIPT = """
import json, pathlib, runpy, sys
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter
spark = SparkSession.builder.getOrCreate()
named = DataStreamWriter.queryName
for job in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    DataStreamWriter.queryName = lambda writer, queryName, name=job["name"]: named(writer, f"{name}_{queryName}")
    for key, value in job["conf"].items():
        spark.conf.set(key, value)
    sys.argv = [job["script"], *job["arguments"]]
    runpy.run_path(job["script"], run_name="__main__")
    for key in job["conf"]:
        spark.conf.unset(key)
"""
"""Runs jobs one after the other, whose queries are called after them."""


def queries(name: str) -> tuple[str, ...]:
    """What the queries of a job are called there."""
    return tuple(f"{name}_{query}" for query in QUERIES.get(name, ("engagement",)))


@dataclass(frozen=True)
class Laboratory:
    """Where the jobs run, on which input."""

    folder: Path
    drivers: Drivers
    inputs: Path
    served: Mapping[str, str]
    """The address in a job's usual arguments -> where it is served here."""

    def plain(self, number: int) -> Mapping[str, Used]:
        """What each job used."""
        folder = self.folder / f"plain-{number}"
        folder.mkdir()
        conf = {**QUIET, **CONF, "spark.sql.streaming.checkpointLocation": str(folder / "checkpoints")}
        command = submit_command(self._script(), self._jobs(folder, folder / "output"), conf=conf)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, env={**os.environ, **plain_python(), "PYTHONPATH": PATHS}, stdout=log, stderr=log)
        try:
            used = self._windows(process, folder / "checkpoints")
            assert process.wait(600) == 0, (folder / "log").read_text()
        finally:
            process.kill()
        return used

    def ours(self, number: int) -> tuple[Mapping[str, Used], Mapping[str, int]]:
        """What each job used, and the rows that it read meanwhile."""
        job, output = f"ours-{number}", self.drivers.output(f"ours-{number}")
        arguments = self._jobs(self.folder, output)
        driver = self.drivers.start(f"r-{job}", self._script(), *arguments, job=job, conf=CONF, environment={"PYTHONPATH": PATHS})
        used = self._windows(driver.process, self.drivers.checkpoints(job))
        assert driver.wait(600) == 0, driver.log
        rows: dict[str, int] = defaultdict(int)
        for batch in driver.progress:
            if FIRST < batch["batchId"] <= LAST:
                rows[next(name for name in NAMES if batch["name"] in queries(name))] += batch["numInputRows"]
        return used, rows

    def _windows(self, process: subprocess.Popen[bytes], checkpoints: Path) -> dict[str, Used]:
        windows = {name: Window(tuple(checkpoints / query for query in queries(name)), FIRST, LAST) for name in NAMES}
        return {name: window.used(process) for name, window in windows.items()}

    def _script(self) -> Path:
        script = self.folder / "all_jobs.py"
        script.write_text(SCRIPT)
        return script

    def _jobs(self, folder: Path, output: Path) -> list[str]:
        """The argument of the script: a file with its jobs, which write below `output`."""
        file = folder / f"{output.name}.json"
        file.write_text(json.dumps([self._job(name, output / name) for name in NAMES]))
        return [str(file)]

    def _job(self, name: str, output: Path) -> dict[str, object]:
        example = COLLECTION[name]
        output.mkdir(parents=True)
        made = str(self.inputs / "events" if example.generator == EVENTS else self.inputs)
        words = [self.served.get(word, word).replace("{output}", str(output)).replace("{job}", "job") for word in example.args(made)]
        pace = ["--rows", str(ROWS)] if example.address else []
        conf = {key: value for key, value in example.conf.items() if CONF.get(key) != value}
        return {"name": name, "script": str(JOBS / f"{name}.py"), "arguments": [*words, *pace, "--available-now"], "conf": conf}


@contextmanager
def laboratory(folder: Path) -> Iterator[Laboratory]:
    inputs = folder / "inputs"
    inputs.mkdir()
    drivers = Drivers(folder)
    with feeds.serving(FILES) as (feed, _), kinesis_server.serving() as kinesis:
        kinesis.feed(0, FILES)
        here = {COLLECTION["views_over_http"].address: feed, COLLECTION["author_lookups"].address: feed.removesuffix("/views")}
        own = next(word for word in COLLECTION["views_from_kinesis"].more if word.startswith("http"))
        try:
            yield Laboratory(folder, drivers, make_inputs(inputs, FILES), {**here, own: kinesis.endpoint})
        finally:
            drivers.end()


@dataclass(frozen=True)
class Round:
    """Each arm once: the window of each job in both, the rows in it, and what comes on top of the whole run, starts and ends with it."""

    pairs: Mapping[str, Pair]
    rows: Mapping[str, int]
    whole: float


def run_round(here: Laboratory, number: int) -> Round:
    """The other arm begins than in the round before."""
    used: dict[str, Mapping[str, Used]] = {}
    rows: dict[str, int] = {}

    def plain() -> None:
        used["plain"] = here.plain(number)

    def ours() -> None:
        used["ours"], counted = here.ours(number)
        rows.update(counted)

    took_s = {arm.__name__: cpu_s(arm) for arm in ((plain, ours) if number % 2 else (ours, plain))}
    return Round({name: Pair(used["ours"][name], used["plain"][name]) for name in NAMES}, rows, took_s["ours"] / took_s["plain"] - 1)


def report(rounds: Sequence[Round]) -> None:
    """A table: microseconds of a processor a row, and the shares that come on top."""
    print(f"\n\nbatches {FIRST} to {LAST} of each job; a row in microseconds of a processor; load {os.getloadavg()[0]:.0f}")
    print("| job | rows | plain | driver | on top | without compilers, garbage | on the driver's threads |", "|---" * 7 + "|", sep="\n")
    for name in NAMES:
        pairs, rows = [each.pairs[name] for each in rounds], rounds[0].rows[name]
        plain, ours = (
            statistics.mean(arm) / rows * 1e6 for arm in zip(*((pair.plain.total_s, pair.ours.total_s) for pair in pairs), strict=True)
        )
        print("|", " | ".join((name, f"{rows:,}", f"{plain:,.0f}", f"{ours:,.0f}", *measured(pairs))), "|")
    everything = [pair for each in rounds for pair in each.pairs.values()]
    print("| all | | | |", " | ".join(measured(everything)), "|")
    print(f"whole runs: {shown([each.whole for each in rounds])} on top")
    print(f"({statistics.mean(map(Pair.attributed, everything)) / LIMIT:.2f} of the {LIMIT:.0%} expected)", flush=True)


def test_jobs_beside_spark_submit(tmp_path: Path) -> None:
    java.prepare(compiles=True)
    if os.environ.get("TIDEMARK_OVERHEAD_JAVA") == "usual":
        os.environ[classes.SUBMIT_OPTIONS] = os.environ[classes.SUBMIT_OPTIONS].replace(classes.BRIEF, "")
    rounds: list[Round] = []
    with laboratory(tmp_path) as here:
        for number in range(PAIRS):
            rounds.append(run_round(here, number))
            for name, pair in rounds[-1].pairs.items():
                print(f"\n{number} {name}, a batch in ms: {pair.kinds(LAST - FIRST)}", end="", flush=True)
            report(rounds)
