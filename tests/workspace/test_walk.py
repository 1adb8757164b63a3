"""The whole walk with real Spark: run, savepoint, fork, restart of the server, compare, drop and undrop, kill, back in time, promote."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pipelines.domain.collection import COLLECTION
from pipelines.domain.decisions import Choice
from pipelines.domain.operations import OperationState
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust
from pipelines.storage import rights
from pipelines.supervisor import processes
from pipelines.verbs.check import Check
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, ShowExperiment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.system import RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import example
from tests.places import odd
from tests.waiting import until
from tests.workspace.exposure import exposed
from tests.workspace.serving import Server, serving

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # a batch without data makes more of the next rows late: who lags has none
}


@pytest.fixture
def server(kept_jvms: None, tmp_path: Path) -> Iterator[Server]:
    with serving(odd(tmp_path)) as running:
        yield running


def begin(server: Server) -> None:
    events = str(server.face.layout.root / "jobs" / "events" / "output")
    made = ("--out", "{output}", "--rate", "40", "--interval", "2")
    counted = ("--events", events, "--output", "{output}", "--window", "2 seconds", "--delay", "2 seconds", "--trigger", "300 milliseconds")
    do(server.face, RunScript(name="events", script="post_events.py", code=example.code("post_events.py"), args=made))
    do(server.face, RunScript(name="a", script="post_engagement.py", code=example.code("post_engagement.py"), args=counted, conf=CONF))


def take(server: Server, job: str) -> Savepoint:
    """Under a second of this process's time: by the clock on the wall a busy machine would be measured."""
    began = time.process_time()
    taken = do(server.face, Take(job))
    took_s = time.process_time() - began
    assert took_s < 1.0
    return taken


def assert_same_outputs(server: Server, a: str, b: str) -> int:
    """Waits until both have rows up to a common time; how many those are."""
    until(lambda: server.face.ask(Compare(a, b)).rows_b > 0)
    comparison = server.face.ask(Compare(a, b))
    assert (comparison.only_a, comparison.only_b, comparison.changed) == (0, 0, 0), comparison
    assert comparison.equal == comparison.rows_a == comparison.rows_b
    return comparison.equal


@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_walk(server: Server) -> None:
    others = list(processes._CHILDREN.values())  # of tests before this one
    begin(server)
    server.await_batches("a", 4)
    assert server.newest("a").state is RunState.RUNNING
    until(lambda: server.face.ask(ShowJob("a")).summary.checkpoint_bytes)

    saved = take(server, "a")
    until(lambda: server.face.ask(ShowSavepoint(saved.id)).trust is Trust.INTACT)
    promised = COLLECTION["post_engagement"]
    assert do(server.face, Check(saved.id, code=example.code(promised.scripts[1]))).outcome is promised.outcome
    variant = Variant(name="b", code=example.code("post_engagement.py") + "# a variant\n")
    experiment = do(server.face, StartExperiment("walk", saved.id, (variant,), with_parent=True))

    pids = {job: server.newest(job).pid for job in ("events", "a")}
    server.end()
    server.start()
    assert {job: server.newest(job).pid for job in ("events", "a")} == pids
    server.await_batches("b", 2)
    assert server.face.ask(ShowJob("b")).queries[0].query_id != server.face.ask(ShowJob("a")).queries[0].query_id
    first = assert_same_outputs(server, "a", "b")

    do(server.face, Drop("b", savepoint=False))
    assert [decision.choice for decision in server.face.ask(ShowExperiment(experiment.id)).decisions] == [Choice.DROPPED]
    stopped = server.face.ask(ShowSavepoint(server.stop("a", savepoint=True)))
    assert (stopped.reason, stopped.job) == (Reason.STOP, "a") and stopped.batch > saved.batch

    do(server.face, Resume("a"))
    server.await_batches("a", 2)
    do(server.face, SetRestartStrategy("a", Strategy.NONE))
    pid = server.newest("a").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.newest("a").state is RunState.FAILED)
    exit_ = server.newest("a").exit
    assert exit_ is not None and exit_.reason == "killed"
    do(server.face, Resume("a"))
    ended = server.newest("b")
    assert do(server.face, Undrop("b")).run == server.newest("b").id != ended.id
    assert server.newest("b").checkpoints == ended.checkpoints and not server.face.ask(ShowExperiment(experiment.id)).decisions
    server.await_batches("a", 2)
    server.await_batches("b", 2)
    until(lambda: server.face.ask(Compare("a", "b")).equal > first)
    assert_same_outputs(server, "a", "b")

    server.stop("a", savepoint=False)
    back = do(server.face, Resume("a", from_savepoint=saved.id))
    assert back.from_savepoint == saved.id
    kept = server.face.ask(ListSavepoints("a"))[0]
    assert kept.reason is Reason.BEFORE_RESUME and kept.batch > stopped.batch
    until(lambda: any(row.at_ms > back.created_ms for row in server.face.ask(ListBatches("a"))) or server._fail_if_failed("a"))
    back_at = assert_same_outputs(server, "a", "b")

    promoted = do(server.face, Promote("b"))
    assert (promoted.state, promoted.result) == (OperationState.DONE, server.newest("a").id), promoted
    assert server.newest("a").version == server.newest("b").version != back.version
    server.await_batches("a", 2)
    until(lambda: server.face.ask(Compare("a", "b")).equal > back_at)
    assert_same_outputs(server, "a", "b")
    children = [child for child in processes._CHILDREN.values() if child not in others]
    assert not [child.args for child in children if child.poll() is not None]
    before = {summary.job.name: summary.batch for summary in server.face.ask(ListJobs())}
    counts = do(server.face, RebuildCatalog())
    assert counts["savepoints"] == 4 and counts["runs"] == 8
    assert {summary.job.name for summary in server.face.ask(ListJobs())} == before.keys()
    assert_nothing_but_outputs_is_open(server.root, before)


def assert_nothing_but_outputs_is_open(root: Path, jobs: Iterable[str]) -> None:
    """Spark writes with the umask that the server was started with."""
    open_paths = exposed(root).keys()
    way = {".", "jobs"} | {f"jobs/{job}" for job in jobs}
    assert {path for path in open_paths if not {"output", "warehouse"} & set(path.split("/"))} == (way if open_paths else set())
    assert bool(open_paths) == (rights.users_umask() & 0o077 != 0o077)
