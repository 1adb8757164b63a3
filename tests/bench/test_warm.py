"""Proof, reading and verdict of the example's savepoint: by a process that was warm and by one that starts cold, in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.sandbox import classes, environment
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.state import ListStates, ReadState
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import example
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace
from tests import warm
from tests.bench import machine
from tests.waiting import until

pytestmark = [pytest.mark.bench, pytest.mark.spark]
BARE = 'from pyspark.sql import SparkSession; SparkSession.builder.master("local[2]").getOrCreate().stop()'
ROUNDS = 3
BATCHES = 20


def seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def saved(face: Workspace) -> Savepoint:
    """A savepoint of the example's counter, when its jobs have stopped."""
    do(face, StartExample())
    loop = SupervisorLoop(face, interval=0.1)
    loop.start()
    try:
        until(lambda: max(face.ask(ShowJob(example.COUNTER)).batches.values(), default=0) >= BATCHES, seconds=600)
        savepoint = do(face, Take(example.COUNTER))
        newer = max(face.ask(ShowJob(example.COUNTER)).batches.values()) + 5  # what a proof runs a batch with
        until(lambda: max(face.ask(ShowJob(example.COUNTER)).batches.values()) >= newer, seconds=300)
        for job in (example.GENERATOR, example.COUNTER):
            do(face, Stop(job, savepoint=False))
        until(lambda: not any(face.ask(ShowJob(job)).runs[0].state.live for job in (example.GENERATOR, example.COUNTER)), seconds=300)
    finally:
        loop.stop()
    return savepoint


def test_what_a_warm_process_saves(tmp_path: Path) -> None:
    face = open_workspace(tmp_path / "ws")
    try:
        savepoint = saved(face)
        warm.one_environment()
        os.environ[classes.SUBMIT_OPTIONS] = os.environ[classes.SUBMIT_OPTIONS].replace(classes.BRIEF, "")  # of the tests, not of users
        bare = seconds(lambda: subprocess.run([sys.executable, "-c", BARE], env=dict(environment.environ("local[2]", OWN)), check=True))
        print(f"a bare session: {bare:.2f} s")
        edits, limits = iter(range(1_000)), iter(range(1, 1_000))
        code = example.code(f"{example.COUNTER}.py")

        def prove() -> None:
            assert do(face, Verify(savepoint.id, Trust.PROVED)).reached is Trust.PROVED

        def check() -> None:
            do(face, Check(savepoint.id, code=f"{code}\n# {next(edits)}\n"))

        def read() -> None:
            (table, *_) = face.ask(ListStates(savepoint.id))
            do(face, ReadState(savepoint.id, limit=next(limits), query=table.query, operator=table.operator, store=table.store))

        for name, call in (("verdict", check), ("reading", read), ("proof", prove)):
            cold = min(seconds(call) for _ in range(ROUNDS))
            face.context.sparks.open(face.layout.warm)
            call()
            warm_s = []
            for _ in range(ROUNDS):
                warm.one_environment()
                until(lambda: all(process.is_warm and not process.work for process in face.context.sparks.processes()))
                machine.comes_to_rest()
                warm_s.append(seconds(call))
            face.context.sparks.close()
            print(f"{name}: cold {cold:.1f} s, {cold / bare:.2f} of a bare session")
            print(f"{name}: warm {min(warm_s):.2f} s, {min(warm_s) / cold:.2f} of cold")
            assert min(warm_s) < cold
    finally:
        face.close()
