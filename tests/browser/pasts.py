"""A day of many jobs in a workspace in memory: savepoints, forks of forks, and some that ended."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.requests import ForkRequest, TakeRequest
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from tests.faces import FakeFace

DAY_MS = 86_400_000
LARGE = 34
"""Forks of the first job: more than a page of the tree has lanes."""


def give(face: FakeFace, jobs: int) -> None:
    """Every third of `job_0` … gets a savepoint, every tenth two forks, the first one many; of twenty one has ended."""
    now = min(run.created_ms for runs in face.runs.values() for run in runs)
    for number in range(jobs):
        _move(face, f"job_{number}", now - DAY_MS + number * 400_000 % (DAY_MS - 3_600_000))
        if number % 20 == 7:
            _end(face, f"job_{number}")
    for number in range(0, jobs, 3):
        forks = LARGE if number == 0 and jobs > 100 else 2 if number % 10 == 0 else 0
        _fork(face, f"job_{number}", forks)


def _move(face: FakeFace, job: str, at_ms: int) -> None:
    face.runs[job] = [replace(run, created_ms=at_ms, started_ms=at_ms) for run in face.runs[job]]


def _end(face: FakeFace, job: str) -> None:
    face.runs[job] = [replace(run, state=RunState.STOPPED, ended_ms=run.created_ms + 1_800_000) for run in face.runs[job]]


def _fork(face: FakeFace, job: str, forks: int) -> None:
    if not face.runs[job][-1].state.live:
        return
    taken = face.take(job, TakeRequest(label="before the change"))
    assert isinstance(taken, Savepoint)
    begun = face.runs[job][-1].created_ms
    query = replace(taken.queries[0], batch_timestamp_ms=begun + 1_200_000)
    face.savepoints_by_id[taken.id] = replace(taken, created_ms=begun + 1_200_000, queries=(query, *taken.queries[1:]))
    for fork in range(forks):
        name = f"{job}_variant_{fork}"
        face.fork(taken.id, ForkRequest(name))
        _move(face, name, begun + 1_300_000 + fork * 300_000)
        if fork % 4:
            _end(face, name)
