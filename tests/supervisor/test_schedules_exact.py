"""A running job with real Spark gets savepoints by its schedule, and a fork of one gives row for row what the job gives that ran on. The
newest of them is proved by schedule while the job runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import psutil
import pytest

from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.domain.trust import Trust
from pipelines.sandbox import processes
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.system import ListEvents
from pipelines.workspace.opening import open_workspace, wall_clock_ms
from tests.waiting import until
from tests.workspace.proving import CONF
from tests.workspace.serving import Server, end_jobs

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.usefixtures("kept_jvms")]

CODE = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(sys.argv[1])
query = events.dropDuplicates(["n"]).writeStream.queryName("rows").format("parquet").trigger(processingTime="200 milliseconds")
query.start(sys.argv[2]).awaitTermination()
"""
ENDS = CODE.replace('processingTime="200 milliseconds"', "availableNow=True")
FILES = 5
HOUR_MS = 3_600_000


class Ahead(Server):
    """A server whose clock can be set forward."""

    ahead_ms = 0

    processors: dict[int, tuple[str, int]]
    """Process of a proof -> its name, and how many processors it may use."""

    def start(self) -> None:
        self.processors = {}
        self.face = open_workspace(self.root, clock=lambda: wall_clock_ms() + self.ahead_ms)
        self.loop = SupervisorLoop(self.face)
        self.loop.start()

    def at_next(self, job: str) -> Savepoint:
        """The savepoint that the job has by its schedule once the next time of it has come."""
        due_ms = self.face.ask(ShowSchedule(job)).next_ms[0]
        self.pass_by(due_ms)
        until(lambda: (last := self.face.ask(ShowSchedule(job)).last) is not None and last.due_ms >= due_ms)
        return self.face.ask(ListSavepoints(job))[0]

    def proof_at_next(self, job: str) -> Attempt:
        """What the job's proof has come to once the next time of it has come."""
        due_ms = self.face.ask(ShowSchedule(job)).next_proof_ms
        assert due_ms is not None
        self.pass_by(due_ms)

        def is_over() -> bool:
            self.look_at_processors()
            last = self.face.ask(ShowSchedule(job)).last_proof
            return last is not None and last.due_ms >= due_ms

        until(is_over)
        last = self.face.ask(ShowSchedule(job)).last_proof
        assert last is not None
        return last

    def look_at_processors(self) -> None:
        """Remembers how many each process of the sandbox may use."""
        for process in processes._marked(self.face.layout.sandbox):
            with suppress(psutil.NoSuchProcess):
                self.processors[process.pid] = process.name(), len(process.cpu_affinity())

    def pass_by(self, at_ms: int) -> None:
        """It is that time, and a second."""
        self.ahead_ms = at_ms + 1_000 - wall_clock_ms()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Ahead]:
    running = Ahead(tmp_path / "ws")
    yield running
    end_jobs(running.face)
    running.end()


def feed(events: Path, file: int) -> None:
    """A file of which half was in the one before it: without state that would come again."""
    path = events.parent / f"{file}.json"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(file * 5, file * 5 + 10)))
    os.utime(path, (1_767_225_600 + file,) * 2)
    path.rename(events / path.name)


def rows(server: Server, job: str) -> list[int]:
    files = list((server.face.layout.root / "jobs" / job / "output").glob("*.parquet"))
    records = duckdb.sql(f"SELECT n FROM read_parquet({list(map(str, files))}) ORDER BY n").fetchall() if files else []
    return [n for (n,) in records]


def has(server: Server, job: str, files: int) -> bool:
    """Whether the job has written all rows of so many files, each once; one that fails fails the test with its log."""
    assert server.newest(job).state is not RunState.FAILED, server.face.ask(ReadLog(job)).text
    return server.batch(job) >= files - 1 and rows(server, job) == list(range(files * 5 + 5))


def test_it_gets_two_and_a_fork_of_the_first_is_exact(server: Ahead, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    feed(events, 0)
    do(server.face, RunScript(name="a", script="job.py", code=CODE, args=(str(events), "{output}"), conf=CONF))
    until(lambda: has(server, "a", 1))
    do(server.face, SetSchedule("a", every_ms=HOUR_MS, keep=24))
    feed(events, 1)
    until(lambda: has(server, "a", 2))
    first = server.at_next("a")
    feed(events, 2)
    until(lambda: has(server, "a", 3))
    second = server.at_next("a")
    assert [(savepoint.batch, savepoint.reason) for savepoint in (first, second)] == [(1, Reason.SCHEDULED), (2, Reason.SCHEDULED)]
    for file in range(3, FILES):
        feed(events, file)
    do(server.face, Fork(first.id, name="b"))
    until(lambda: has(server, "a", FILES) and has(server, "b", FILES))
    comparison = server.face.ask(Compare("a", "b"))
    assert (comparison.equal, comparison.only_a, comparison.only_b, comparison.changed) == (FILES * 5 + 5, 0, 0, 0)
    do(server.face, SetSchedule("a", prove_at="0 3 * * *", proof_cpus=1, off=True))
    proof = server.proof_at_next("a")
    assert (proof.outcome, proof.savepoint, proof.message) == (Outcome.PROVED, second.id, "")
    assert server.face.ask(ShowSavepoint(second.id)).trust is Trust.PROVED
    assert {count for name, count in server.processors.values() if name.startswith("python")} == {1}
    assert not list(server.face.layout.sandbox.glob("*"))
    assert has(server, "a", FILES), "the job's own output is as it was"
    assert not server.face.ask(ListEvents("a", kind="failures")), "nothing was missed, and nothing failed"


def test_a_job_that_ends_by_itself_begins_at_its_times_and_is_exact(server: Ahead, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    feed(events, 0)
    do(server.face, RunScript(name="a", script="job.py", code=ENDS, args=(str(events), "{output}"), conf=CONF))
    until(lambda: has(server, "a", 1) and server.newest("a").state is RunState.FINISHED)
    do(server.face, SetSchedule("a", run_at="0 * * * *"))
    for file in (1, 2):
        feed(events, file)
        due_ms = server.face.ask(ShowSchedule("a")).next_run_ms
        assert due_ms is not None
        server.pass_by(due_ms)
        until(lambda file=file: has(server, "a", file + 1) and server.newest("a").state is RunState.FINISHED)  # type: ignore[misc]
    assert len(server.face.ask(ShowJob("a")).runs) == 3
