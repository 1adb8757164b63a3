"""The whole walk with real Spark: run, savepoint, fork, restart of the server, compare, drop and undrop, kill, back in time, promote."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.decisions import Choice
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import (
    CompareRequest,
    DropRequest,
    ExperimentRequest,
    ForkRequest,
    PromoteRequest,
    ResumeRequest,
    RunRequest,
    TakeRequest,
    UndropRequest,
)
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust
from pipelines.supervisor import processes
from pipelines.workspace import example
from tests.waiting import until
from tests.workspace.serving import Server, serving

CONF = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "512m"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as running:
        yield running


def begin(server: Server) -> None:
    events = str(server.face.layout.root / "jobs" / "events" / "output")
    made = ("--out", "{output}", "--rate", "40", "--interval", "0.5")
    counted = ("--events", events, "--output", "{output}", "--window", "2 seconds", "--delay", "2 seconds", "--trigger", "300 milliseconds")
    server.face.run(RunRequest("events", "post_events.py", example.code("post_events.py"), made))
    server.face.run(RunRequest("a", "post_engagement.py", example.code("post_engagement.py"), counted, CONF))


def take(server: Server, job: str) -> Savepoint:
    """Under a second of this process's time: by the clock on the wall a busy machine would be measured."""
    began = time.process_time()
    taken = server.face.take(job, TakeRequest())
    took_s = time.process_time() - began
    assert isinstance(taken, Savepoint)
    assert took_s < 1.0
    return taken


def assert_same_outputs(server: Server, a: str, b: str) -> int:
    """Waits until both have rows up to a common time; how many those are."""
    until(lambda: server.face.compare(CompareRequest(a, b)).rows_b > 0)
    found = server.face.compare(CompareRequest(a, b))
    assert (found.only_a, found.only_b, found.changed) == (0, 0, 0), found
    assert found.equal == found.rows_a == found.rows_b
    return found.equal


@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_walk(server: Server) -> None:
    begin(server)
    server.await_batches("a", 4)
    assert server.newest("a").state is RunState.RUNNING
    until(lambda: server.face.job("a").summary.checkpoint_bytes)

    saved = take(server, "a")
    until(lambda: server.face.savepoint(saved.id).trust is Trust.INTACT)
    variant = ForkRequest("b", example.code("post_engagement.py") + "# a variant\n")
    experiment = server.face.start_experiment(ExperimentRequest("walk", saved.id, (variant,), with_parent=True))

    pids = {job: server.newest(job).pid for job in ("events", "a")}
    server.end()
    server.start()
    assert {job: server.newest(job).pid for job in ("events", "a")} == pids
    server.await_batches("b", 2)
    assert server.face.job("b").queries[0].query_id != server.face.job("a").queries[0].query_id
    first = assert_same_outputs(server, "a", "b")

    dropped = server.face.drop("b", DropRequest(savepoint=False))
    assert isinstance(dropped, Operation)
    until(lambda: server.face.operation(dropped.id).state is OperationState.DONE)
    assert [one.choice for one in server.face.experiment(experiment.id).decisions] == [Choice.DROPPED]
    stopped = server.face.savepoint(server.stop("a", savepoint=True))
    assert (stopped.reason, stopped.job) == (Reason.STOP, "a") and stopped.batch > saved.batch

    server.face.resume("a", ResumeRequest())
    server.await_batches("a", 2)
    pid = server.newest("a").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.newest("a").state is RunState.FAILED)
    exit_ = server.newest("a").exit
    assert exit_ is not None and exit_.reason == "killed"
    server.face.resume("a", ResumeRequest())
    ended = server.newest("b")
    assert server.face.undrop("b", UndropRequest()).run == server.newest("b").id != ended.id
    assert server.newest("b").checkpoints == ended.checkpoints and not server.face.experiment(experiment.id).decisions
    server.await_batches("a", 2)
    server.await_batches("b", 2)
    until(lambda: server.face.compare(CompareRequest("a", "b")).equal > first)
    assert_same_outputs(server, "a", "b")

    server.stop("a", savepoint=False)
    back = server.face.resume("a", ResumeRequest(from_savepoint=saved.id))
    assert isinstance(back, Run) and back.from_savepoint == saved.id
    kept = server.face.savepoints("a")[0]
    assert kept.reason is Reason.BEFORE_RESUME and kept.batch > stopped.batch
    until(lambda: any(row.at_ms > back.created_ms for row in server.face.batches("a")) or server._fail_if_failed("a"))
    back_at = assert_same_outputs(server, "a", "b")

    begun = server.face.promote("b", PromoteRequest())
    assert isinstance(begun, Operation)
    until(lambda: server.face.operation(begun.id).state != OperationState.RUNNING)
    promoted = server.face.operation(begun.id)
    assert (promoted.state, promoted.result) == (OperationState.DONE, server.newest("a").id), promoted
    assert server.newest("a").version == server.newest("b").version != back.version
    server.await_batches("a", 2)
    until(lambda: server.face.compare(CompareRequest("a", "b")).equal > back_at)
    assert_same_outputs(server, "a", "b")
    assert not [process for process in processes._CHILDREN.values() if process.poll() is not None]
    before = {summary.job.name: summary.batch for summary in server.face.jobs()}
    counts = server.face.rebuild_catalog()
    assert counts["savepoints"] == 4 and counts["runs"] == 8
    assert {summary.job.name for summary in server.face.jobs()} == before.keys()
