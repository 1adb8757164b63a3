"""A fleet of small jobs with real servers over them, and the kills of both: what is fed, killed and compared in a soak.

How far the jobs are is read from their files, so that it can be told while no server lives.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil

from pipelines.client.wire import bearer
from pipelines.domain.ids import JobName
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.storage.layout import Layout
from pipelines.verbs.jobs import ListBatches
from pipelines.workspace.files import Files
from pipelines.workspace.opening import open_workspace
from tests import java
from tests.browser.serving import Served, served
from tests.driver.process import CONF
from tests.supervisor import soak_job
from tests.waiting import until

CODE = Path(__file__).with_name("soak_job.py").read_text()
CONFS = {**CONF, "spark.driver.memory": "512m", "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""Spark starts on no less memory. Without batches that have no data, each batch has a file, whenever it comes."""
RESTARTS = {"strategy": "exponential-delay", "initial_backoff_ms": 200, "max_backoff_ms": 1_000}
ROWS, SECONDS = 40, 5
"""Rows of a file, and how much event time lies between two files."""
BEGAN = datetime(2026, 1, 1)
SERVER_SECONDS = 180.0


def rows(seed: int, number: int) -> list[dict[str, Any]]:
    """The rows of a file: out of order, some late, some ids of the file before again."""
    chance = random.Random(f"{seed} {number}")
    at = [BEGAN + timedelta(seconds=number * SECONDS + chance.uniform(-25, 5)) for _ in range(ROWS)]
    ids = [(number - (chance.random() < 0.2)) * ROWS + row for row in range(ROWS)]
    return [
        {"id": row, "k": f"k{chance.randrange(5)}", "v": chance.randrange(1_000), "t": moment.isoformat()}
        for row, moment in zip(ids, at, strict=True)
    ]


class Fleet:
    """A workspace, the servers on it, the jobs in it and their input."""

    def __init__(self, folder: Path, seed: int, servers: ExitStack, *, standby: bool) -> None:
        self.layout, self.events = Layout(folder / "ws"), folder / "events"
        self.files = Files(self.layout)
        self.seed, self.chance = seed, random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.fed = 0
        self._folder, self._servers, self._standby = folder, servers, standby
        self._begun = 0
        self.events.mkdir(parents=True)
        self.active = self._serve()
        self._beginning = ThreadPoolExecutor(1)
        self.next = self._beginning.submit(self._serve) if standby else None
        """The standby, which comes up while other things go on."""
        self.jobs: tuple[str, ...] = ()

    def _serve(self) -> Served:
        self._begun += 1
        log = self._folder / f"server-{self._begun}.log"
        return self._servers.enter_context(served(self.layout.root, log, *(["--standby"] if self._standby else [])))

    # jobs and their input

    def begin(self, kinds: Sequence[str]) -> None:
        """A job of each kind, whose name is the kind's."""
        self.feed(2)
        for kind in kinds:
            args = [kind, str(self.events), "{output}"]
            self.active.tell("/jobs", {"name": kind, "script": "soak_job.py", "code": CODE, "args": args, "conf": CONFS})
            self._request("PATCH", f"/jobs/{kind}/restart-strategy", RESTARTS)
        self.jobs = tuple(kinds)
        until(lambda: all(self.read(job) >= 1 for job in self.jobs), 600, what="the jobs have not begun")

    def _request(self, method: str, path: str, body: Any) -> None:
        url, headers = f"{self.active.url}/api/v1{path}", bearer(self.active.token)
        httpx.request(method, url, json=body, headers=headers, timeout=60).raise_for_status()

    def feed(self, files: int) -> None:
        for number in range(self.fed, self.fed + files):
            aside = self.events / f".{number:04d}"
            aside.write_text("".join(json.dumps(row) + "\n" for row in rows(self.seed, number)))
            os.utime(aside, (1_700_000_000 + number,) * 2)
            aside.rename(self.events / f"{number:04d}.json")
        self.fed += files

    def read(self, job: str) -> int:
        """How many files all queries of the job have done with."""
        run_id = self.files.wanted(JobName(job)).run
        if run_id is None:
            return 0
        checkpoints = Path(self.files.spec(JobName(job), run_id).checkpoints)
        places = [_place(checkpoint) for checkpoint in checkpoints.glob("*") if (checkpoint / "commits").is_dir()]
        return min(places) if len(places) == len(soak_job.QUERIES[job]) else 0

    # kills

    def kill(self, kind: str, job: str) -> None:
        """SIGKILL to the job's Python, to its JVM, or to the active server."""
        self.kills[kind] += 1
        if kind == "server":
            self._kill_server()
        else:
            os.kill(self._python(job) if kind == "driver" else self._java(job), signal.SIGKILL)

    def _kill_server(self) -> None:
        if self.next is None:
            os.kill(self.active.pid, signal.SIGKILL)
            self.active = self._serve()
            return
        killed, self.active = self.active, self.next.result()
        os.kill(killed.pid, signal.SIGKILL)
        until(lambda: _role(self.active) == "active", SERVER_SECONDS, what="the standby does not take over")
        self.next = self._beginning.submit(self._serve)

    def _python(self, job: str) -> int:
        until(lambda: self._driver(job) is not None, SERVER_SECONDS, what=f"{job} has no driver")
        driver = self._driver(job)
        assert driver is not None
        return driver.pid

    def _java(self, job: str) -> int:
        until(lambda: self._jvms(job), SERVER_SECONDS, what=f"{job} has no JVM")
        return self._jvms(job)[0]

    def _jvms(self, job: str) -> list[int]:
        driver = self._driver(job)
        return [jvm.pid for jvm in java.jvms(driver)] if driver else []

    def _driver(self, job: str) -> psutil.Process | None:
        """The living driver of the job's wanted run."""
        run_id = self.files.wanted(JobName(job)).run
        known = self.files.process(JobName(job), run_id) if run_id else None
        if known is None or not psutil.pid_exists(known.pid):
            return None
        process = psutil.Process(known.pid)
        return process if process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - known.started) < 2 else None

    # the end

    def drain(self, seconds: float) -> None:
        """Waits until every job has done with all that was fed."""
        until(lambda: all(self.read(job) == self.fed for job in self.jobs), seconds, what=f"{self.far()} of {self.fed} files")

    def far(self) -> dict[str, int]:
        return {job: self.read(job) for job in self.jobs}

    def end(self) -> None:
        """Stops the jobs, each with a savepoint, then the servers."""
        stops = [self.active.tell(f"/jobs/{job}/stop", {})["id"] for job in self.jobs]
        states = ("done", "failed", "cancelled")
        until(lambda: all(self.active.ask(f"/operations/{stop}")["state"] in states for stop in stops), 600, what="the stops do not end")
        assert [self.active.ask(f"/operations/{stop}")["state"] for stop in stops] == ["done"] * len(stops)
        self.settle()
        self._servers.close()

    def settle(self) -> None:
        """Waits for the standby that is coming up: it is ended with the others."""
        self._beginning.shutdown()

    def check(self, spark: Any, reference: Path) -> int:
        """Every job's output equals that of a plain Spark that nobody interrupts, row for row; how many rows those are."""
        compared = 0
        for job in self.jobs:
            spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
            spark.conf.set("spark.sql.streaming.checkpointLocation", str(reference / "checkpoints" / job))
            for query in soak_job.begin(spark, job, str(self.events), str(reference / job), once=True):
                query.awaitTermination()
            for number, (name, _, _, sink) in enumerate(soak_job.QUERIES[job]):
                folder = soak_job.folder(number, name)
                there, whole = (_written(spark, root / folder, sink) for root in (self.layout.output(JobName(job)), reference / job))
                assert there == whole, f"{job}, {folder}: {_differing(there, whole)}"
                compared += len(whole)
        return compared

    def check_progress(self) -> int:
        """The catalog has each batch that the drivers told of once, and none that they did not; how many those are."""
        counted = 0
        workspace = open_workspace(self.layout.root)
        try:
            for job in self.jobs:
                known = Counter((row.query, row.batch) for row in workspace.ask(ListBatches(job, limit=10_000)) if "addBatch" in row.phases)
                assert max(known.values()) == 1, f"{job}: {known.most_common(3)}"
                assert sorted(known) == sorted(_told(self.layout, JobName(job))), job
                counted += len(known)
        finally:
            workspace.close()
        return counted


def _place(checkpoint: Path) -> int:
    """How many files of each of its sources the checkpoint's newest committed batch and those before it have read."""
    newest = max((int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), default=None)
    if newest is None:
        return 0
    lines = (checkpoint / "offsets" / str(newest)).read_text().splitlines()[2:]
    return min(json.loads(line)["logOffset"] + 1 if line.startswith("{") else 0 for line in lines)


def _role(server: Served) -> str:
    try:
        answer = httpx.get(f"{server.url}/api/v1/ping", headers=bearer(server.token), timeout=30)
    except httpx.TransportError:
        return ""
    return str(answer.json()["role"]) if answer.is_success else ""


def _told(layout: Layout, job: JobName) -> Iterator[tuple[str, int]]:
    """The batches of a job that its drivers have written down."""
    for path in layout.runs(job).glob(f"*/{PROGRESS_FILE}"):
        for line in path.read_text().splitlines():
            progress = json.loads(line)
            if "addBatch" in progress["durationMs"]:
                yield progress["name"], progress["batchId"]


def _written(spark: Any, output: Path, sink: str) -> Counter[str]:
    if sink == "noted":
        assert not list(output.glob("*.differs")), f"{output}: a batch was written again with other rows"
        return Counter(f"{path.stem} {path.read_text()}" for path in output.glob("*.json"))
    return Counter(map(str, spark.read.parquet(str(output)).collect()))


def _differing(there: Counter[str], whole: Counter[str]) -> str:
    missing, doubled = list((whole - there).elements()), list((there - whole).elements())
    return f"{len(missing)} rows are missing, {len(doubled)} too many: {missing[:3]}, {doubled[:3]}"


@contextmanager
def fleet(folder: Path, seed: int, *, standby: bool) -> Iterator[Fleet]:
    """A fleet without jobs; all processes of it end with the block."""
    with ExitStack() as servers:
        house = Fleet(folder, seed, servers, standby=standby)
        try:
            yield house
        finally:
            house.settle()


def steps(fleet: Fleet, count: int) -> Iterator[tuple[str, str]]:
    """Kills to come: what, and of which job. Of four, two hit a driver, one a JVM, one the server."""
    for _ in range(count):
        yield fleet.chance.choice(("driver", "driver", "jvm", "server")), fleet.chance.choice(fleet.jobs)
