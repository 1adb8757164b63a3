"""A job that fails, is killed and is stopped at a poison batch, restarted by its supervisor each time, with real Spark: what goes on from
there has the rows of a run that was never interrupted, as they follow from the files; so has one that is upgraded while it runs, and passes
its probation or goes back. `tests/long/test_probations.py` has an upgrade that misses a limit."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.findings import Problem
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.probations import MISSED, Stand, Way
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.restarts import FailedBatch
from pipelines.domain.runs import EXIT_FILE, RunState
from pipelines.domain.savepoints import Reason
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.upgrade import Upgrade
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.serving import Server, serving
from tests.workspace.test_runtimes_exact import rows_of

FLAKY, POISON, FILES = 2, 6, 9
"""One file a batch: the third fails twice and then succeeds, the seventh holds a value that is no number."""
BEGAN_S = time.time() - 3_600
"""Files are read in the order of their times."""
CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

events, output, flaked = sys.argv[1:4]
spark = SparkSession.builder.getOrCreate()


@F.udf("string")
def passing(post):
    if post == "flaky":
        with open(flaked, "a+") as file:
            file.seek(0)
            if len(file.readlines()) < 2:
                file.write("once\\n")
                file.flush()
                raise RuntimeError("not yet")
    return post


schema = "event_time TIMESTAMP, post STRING, value STRING"
rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(events)
amounts = rows.select("event_time", passing("post").alias("post"), AMOUNT.alias("amount"))
windows = amounts.withWatermark("event_time", "10 seconds").groupBy(F.window("event_time", "10 seconds"), "post")
sums = windows.agg(F.count("*").alias("rows"), F.sum("amount").alias("amount"))
sums.select(F.col("window.start").alias("start"), "post", "rows", "amount").writeStream.queryName("sums").trigger(
    processingTime="300 milliseconds"
).start(f"{output}/sums", format="parquet")
spark.streams.awaitAnyTermination()
"""
FAILS_FROM = f"2026-11-20T10:{20 * (FILES + 1) // 60:02d}:{20 * (FILES + 1) % 60:02d}Z"
STRICT = CODE.replace("AMOUNT", 'F.col("value").cast("int")')
WRONG = CODE.replace("AMOUNT", f"F.expr(\"CAST(IF(event_time >= TIMESTAMP'{FAILS_FROM}', 'seven', value) AS INT) * 1000\")")
"""It counts what is not so, and fails at the second file that it reads."""
FIXED = CODE.replace("AMOUNT", 'F.expr("try_cast(value AS INT)")')


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "my data #1 (ä)") as running:
        yield running


def write(events: Path, files: Iterable[int]) -> None:
    """Each file has twenty seconds of events, so that its windows close with the next file."""
    events.mkdir(exist_ok=True)
    for number in files:
        rows = [
            {"event_time": f"{clock(20 * number + second)}Z", "post": post, "value": value} for second, post, value in events_of(number)
        ]
        aside = events / f".{number}.tmp"
        aside.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(aside, (BEGAN_S + number, BEGAN_S + number))
        aside.rename(events / f"{number:03d}.json")


def clock(second: int) -> str:
    return f"2026-11-20T10:{second // 60:02d}:{second % 60:02d}"


def events_of(file: int) -> list[tuple[int, str, str]]:
    """Second, post and value of each event in a file."""
    rows = [(second, post, str(second)) for second in range(20) for post in ("a", "b")]
    return rows + [(0, "flaky", "0")] * (file == FLAKY) + [(0, "a", "seven")] * (file == POISON)


def sums(files: Iterable[int]) -> list[tuple[Any, ...]]:
    """Start, post, rows and amount of every window of these files, in order: what the code puts out that passes over what is no number."""
    windows: dict[tuple[str, str], list[str]] = {}
    for file in files:
        for second, post, value in events_of(file):
            windows.setdefault((clock(20 * file + second // 10 * 10), post), []).append(value)
    amounts = {key: [int(value) for value in values if value.isdigit()] for key, values in windows.items()}
    return sorted((*key, len(values), sum(amounts[key])) for key, values in windows.items())


def committed(server: Server, job: str) -> int:
    return committed_in(server.newest(job))


def committed_in(run: Run) -> int:
    commits = Path(run.checkpoints) / "sums" / "commits"
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)


def failed_batch(run: Run) -> FailedBatch:
    assert run.restart is not None and run.restart.batch is not None, run
    return run.restart.batch


def files(batch: FailedBatch) -> list[str]:
    """Names of the files that the batch reads of its one source."""
    (source,) = batch.sources
    assert (source.amount, source.unit) == (len(source.files), "files")
    return [Path(file).name for file in source.files]


def ran(server: Server, job: str) -> str:
    """For messages: the runs of the job, and the log of the newest."""
    return f"{server.face.ask(ShowJob(job)).runs}\n{server.face.ask(ReadLog(job)).text}"


def puts_out(server: Server, name: str, expected: list[tuple[Any, ...]]) -> None:
    """Waits until the sink has these rows and no other."""

    def does() -> bool:
        assert not server.newest(name).state.has_failed, ran(server, name)
        return written(server, name) == expected

    until(does, what=name)


def written(server: Server, name: str) -> list[tuple[Any, ...]]:
    """The rows of the files that the sink's log names."""
    sink = server.face.layout.output(job(name)) / "sums"
    if not (sink / "_spark_metadata").is_dir():
        return []
    return sorted((f"{start:%Y-%m-%dT%H:%M:%S}", *others) for start, *others in rows_of(sink))


def without_poison(files: int) -> list[tuple[Any, ...]]:
    """What one puts out that has read so many files but for the poison one, and was never interrupted: all but the last file's windows."""
    return sums(file for file in range(files - 1) if file != POISON)


class Upgrades:
    """Upgrades of `main` while it runs, whose events come a file at a time."""

    def __init__(self, server: Server, events: Path) -> None:
        self.server, self.events, self.files = server, events, FILES

    def more(self) -> None:
        write(self.events, [self.files])
        self.files += 1

    def same(self) -> None:
        """The rows are those of one that was never upgraded."""
        puts_out(self.server, "main", without_poison(self.files))

    def upgraded(self, change: Upgrade) -> Run:
        """The run that begins with it."""
        assert self.server.newest("main").state is RunState.RUNNING and self.server.face.plan(change).stops
        done = do(self.server.face, change)
        run = self.server.newest("main")
        assert (done.result, done.state) == (run.id, OperationState.DONE), done
        return run

    def fails(self) -> None:
        """The new code fails while no server is there."""
        server = self.server
        old = server.newest("main").version
        change = Upgrade("main", code=WRONG, probation_batches=9, check=True)
        plan = server.face.plan(change).restore.probation
        assert plan is not None and (plan.way, plan.version) == (Way.SAVEPOINT, old)
        wrong = self.upgraded(change)
        until(lambda: server.newest("main").state is RunState.RUNNING)
        server.end()
        began = committed_in(wrong)
        self.more()
        until(lambda: committed_in(wrong) > began)
        self.more()
        exited = server.root / "jobs" / "main" / "runs" / wrong.id / EXIT_FILE
        until(exited.exists)
        server.start()
        until(lambda: server.newest("main").version == old)
        back = server.newest("main")
        saved = server.face.ask(ShowSavepoint(back.from_savepoint or ""))
        assert (saved.reason, saved.version, back.attempt) == (Reason.STOP, old, 0)
        self.more()
        self.same()
        failed = server.face.ask(ShowJob("main")).runs[1]
        assert failed.id == wrong.id and failed.restart is not None and "failed: [CAST_INVALID_INPUT] " in failed.restart.why

    def misses(self) -> None:
        """It misses a limit."""
        server = self.server
        old = server.newest("main").version
        slow = self.upgraded(Upgrade("main", code=f"{WRONG}# slow\n", probation_batches=50, longest_batch_ms=1))
        self.more()
        until(lambda: server.newest("main").version == old)
        ended = server.face.ask(ShowJob("main")).runs[1]
        assert ended.id == slow.id and ended.exit is not None and ended.exit.error_class == MISSED
        self.more()
        self.same()

    def passes(self) -> None:
        server = self.server
        good = self.upgraded(Upgrade("main", code=f"{STRICT}# the same\n", probation_batches=1, check=True))
        self.more()
        until(lambda: stand(server) is Stand.PASSED)
        self.same()
        assert server.newest("main").id == good.id

    def told(self) -> list[str]:
        """The kinds of the events about them, the newest first."""
        return [event.kind for event in self.server.face.ask(ListEvents("main")) if "probation" in event.kind or "back" in event.kind]


def stand(server: Server) -> Stand | None:
    probation = server.face.ask(ShowJob("main")).probation
    return probation.stand if probation else None


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.timeout(1800)
def test_restarts_and_a_poison_batch_lose_and_double_nothing(server: Server, tmp_path: Path) -> None:
    events, flaked = tmp_path / "events", tmp_path / "flaked"
    write(events, range(POISON))
    args = (str(events), "{output}", str(flaked))
    do(server.face, RunScript(name="main", script="sums.py", code=STRICT, args=args, conf=CONF))
    do(server.face, SetRestartStrategy("main", Strategy.EXPONENTIAL_DELAY, initial_backoff_ms=200, max_backoff_ms=400))

    until(lambda: server.newest("main").attempt == 2)
    third, second, first = server.face.ask(ShowJob("main")).runs
    flaky = failed_batch(first)
    until(lambda: committed(server, "main") > flaky.batch)
    assert [run.attempt for run in (third, second, first)] == [2, 1, 0]
    assert {run.checkpoints for run in (third, second, first)} == {first.checkpoints}
    for run in (first, second):
        assert run.exit is not None and run.exit.query == "sums" and "not yet" in run.exit.message, run.exit
        assert (failed_batch(run).batch, files(failed_batch(run))) == (flaky.batch, [f"{FLAKY:03d}.json"])

    pid = server.newest("main").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.newest("main").attempt == 3)
    write(events, range(POISON, FILES))
    until(lambda: server.newest("main").state is RunState.FAILED)
    sixth, fifth, fourth, killed = server.face.ask(ShowJob("main")).runs[:4]
    assert killed.exit is not None and killed.exit.reason == "killed"
    decision = sixth.restart
    assert decision is not None and decision.batch is not None and (decision.poison, sixth.attempt) == (3, 5), ran(server, "main")
    assert decision.batch.batch == committed(server, "main") + 1
    assert files(decision.batch) == [f"{POISON:03d}.json"]
    assert {run.exit.error_class for run in (fourth, fifth, sixth) if run.exit} == {"CAST_INVALID_INPUT"}
    finding = server.face.ask(ShowJob("main")).summary.findings[0]
    assert (finding.problem, finding.code) == (Problem.POISON, "CAST_INVALID_INPUT")

    read = do(server.face, ReadInputRows("main"))
    (rows,) = read.sources
    values = [(row[1], row[2]) for row in rows.rows]
    assert (read.query, read.batch, rows.problem, rows.more, rows.cut) == ("sums", decision.batch.batch, "", False, 0), rows
    assert [column.name for column in rows.columns[:3]] == ["event_time", "post", "value"], "what the source gives, not what fails"
    assert len(values) == 2 * 20 + 1 and values.count(("a", "seven")) == 1
    assert {Path(row[3] or "").name for row in rows.rows} == {f"{POISON:03d}.json"}

    saved = do(server.face, Take("main"))
    assert saved.batch == decision.batch.batch - 1
    do(server.face, Fork(saved.id, name="mended", code=FIXED))
    puts_out(server, "mended", sums(range(FILES - 1)))
    server.stop("mended", savepoint=False)

    leave_out = Resume("main", past_batch=True)
    plan = server.face.plan(leave_out)
    assert plan.passed == decision.batch and plan.refusal is None
    assert plan.saves == (f"before batch {decision.batch.batch} was left out",)
    assert plan.files > 0 and plan.bytes > 0 and plan.new_bytes > 0, "what it costs, as of any other plan"
    do(server.face, leave_out)
    puts_out(server, "main", without_poison(FILES))
    upgrades = Upgrades(server, events)
    upgrades.fails()
    upgrades.passes()
    assert upgrades.told() == ["job.probation_passed", "job.went_back", "job.probation_failed"]
    with pytest.raises(Conflict, match=r"not known at which batch|is not waiting any more"):
        server.stop("main", savepoint=False)
        server.face.plan(leave_out)
