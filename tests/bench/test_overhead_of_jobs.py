"""Processor time a row of each job of the collection, by the driver and by plain `spark-submit`, in pairs that take turns.

Run by hand: `python3 -m tests -m bench tests/bench/test_overhead_of_jobs.py -s`, one job by `-k NAME` (a few minutes).
`TIDEMARK_OVERHEAD_PAIRS` (at least 2) and `TIDEMARK_OVERHEAD_FILES` are those of `test_overhead.py`. SQL jobs have no plain
`spark-submit` to be compared with. What serves the inputs that are no files is this process, whose own time is not counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipelines.domain.collection import COLLECTION, EVENTS, Example
from tests import java
from tests.bench.test_overhead import FILES, LIMIT, PAIRS, cpu_s, interval, submit
from tests.driver.process import CONF, Driver, Drivers
from tests.jobs import feeds, kinesis_server
from tests.jobs.collected import ROWS, make_inputs
from tests.jobs.loading import JOBS

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3_600)]
PLAIN = [name for name, example in COLLECTION.items() if example.suffix == ".py"]


@dataclass
class Measured:
    """One job: seconds of a processor of each pair, and the rows that a run read."""

    example: Example
    ours_s: list[float] = field(default_factory=list)
    plain_s: list[float] = field(default_factory=list)
    rows: int = 0

    @property
    def over(self) -> list[float]:
        return [ours / plain - 1 for ours, plain in zip(self.ours_s, self.plain_s, strict=True)]

    def line(self) -> str:
        """A row of the report: microseconds a row, and the share that comes on top."""
        mean, half = interval(self.over)
        plain, ours = (f"{statistics.mean(times) / self.rows * 1_000_000:,.0f}" for times in (self.plain_s, self.ours_s))
        return " | ".join((self.example.name, f"{self.rows:,}", plain, ours, f"{mean:+.1%}", f"{mean - half:+.1%} to {mean + half:+.1%}"))

    def pair(self, laboratory: Laboratory, number: int) -> None:
        """One run of each kind, the other one first than in the last pair."""
        name = self.example.name

        def plain() -> None:
            self.plain_s.append(cpu_s(lambda: laboratory.plain(name, number)))

        def ours() -> None:
            read: list[int] = []
            self.ours_s.append(cpu_s(lambda: read.append(laboratory.ours(name, number))))
            self.rows = max(self.rows, *read)

        for run in (plain, ours) if number % 2 else (ours, plain):
            run()


@dataclass(frozen=True)
class Laboratory:
    """Where the jobs run, on which input."""

    folder: Path
    drivers: Drivers
    inputs: Path
    served: Mapping[str, str]
    """The address in a job's usual arguments -> where it is served here."""

    def plain(self, name: str, number: int) -> None:
        folder = self.folder / f"plain-{name}-{number}"
        folder.mkdir()
        conf = {**CONF, **COLLECTION[name].conf, "spark.sql.streaming.checkpointLocation": str(folder / "checkpoints")}
        submit(JOBS / f"{name}.py", *self._arguments(name, str(folder / "output")), conf=conf, log=folder / "log")

    def ours(self, name: str, number: int) -> int:
        """How many rows it read."""
        job = f"{name}-{number}"
        words = self._arguments(name, str(self.drivers.output(job)))
        driver = self.drivers.start(f"r-{job}", JOBS / f"{name}.py", *words, job=job, conf=COLLECTION[name].conf)
        assert driver.wait(1_800) == 0, driver.log
        return rows(driver)

    def _arguments(self, name: str, output: str) -> list[str]:
        example = COLLECTION[name]
        made = str(self.inputs / "events" if example.generator == EVENTS else self.inputs)
        words = [self.served.get(word, word).replace("{output}", output).replace("{job}", "job") for word in example.args(made)]
        pace = ["--rows", str(ROWS)] if example.address else []
        return [*words, *pace, "--available-now"]


def rows(driver: Driver) -> int:
    return sum(source["numInputRows"] for batch in driver.progress for source in batch["sources"])


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


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    java.prepare(compiles=True)
    with laboratory(tmp_path_factory.mktemp("laboratory")) as here:
        yield here


@pytest.fixture(scope="module")
def report() -> Iterator[list[Measured]]:
    """The jobs that were measured, whose table is printed at the end."""
    jobs: list[Measured] = []
    yield jobs
    print(f"\n\n{FILES} batches, {PAIRS} pairs; a row in microseconds of a processor")
    print(" | ".join(("job", "rows", "plain", "driver", "on top", "95 %")), " | ".join(["---"] * 6), sep="\n")
    for measured in jobs:
        print(measured.line())
    if jobs:
        mean, half = interval([share for measured in jobs for share in measured.over])
        print(
            f"\nall: {mean:+.1%}, 95 % between {mean - half:+.1%} and {mean + half:+.1%} ({mean / LIMIT:.1f} of the {LIMIT:.0%} expected)"
        )


@pytest.mark.parametrize("name", PLAIN)
def test_a_job_beside_spark_submit(here: Laboratory, report: list[Measured], name: str) -> None:
    measured = Measured(COLLECTION[name])
    for number in range(PAIRS):
        measured.pair(here, number)
        print(f"\n{number} {name}: {measured.over[-1]:+.1%}", end="", flush=True)
    assert measured.rows
    report.append(measured)
