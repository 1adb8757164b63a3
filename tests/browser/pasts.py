"""A day of many jobs on a fake: savepoints, forks of forks, and some that ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.domain.events import DRIVER, PAGE
from pipelines.domain.ids import JobName, QueryName, RunId, VersionId
from pipelines.domain.jobs import Event, Origin
from pipelines.domain.restarts import FailedBatch, RestartDecision, SourceSpan
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.versions import version
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.state import ListStates
from tests import samples
from tests.faces import FakeFace

DAY_MS = 86_400_000
LARGE = 34
"""Forks of the first job: more than a page of the tree has lanes."""
LONG_NAMES = [f"orders_enriched_with_customer_segments_and_promotions_per_region_and_hour_v{number:06}" for number in (3, 4)]
UNSAVED = "daily_totals"
"""A job that runs for days, of whose state nobody ever took a savepoint."""
BATCHES = range(1, 701)
"""What each job has committed: more than a page of batches, and than Spark keeps."""
PARTLY = 10_000
"""Rows read of a state that has more."""


def give(face: FakeFace, jobs: int) -> None:
    """Every third of `job_0` … gets a savepoint, every tenth two forks, the first one many; of twenty one has ended."""
    now = samples.NOW_MS
    face.committed = BATCHES
    for number in range(jobs):
        _move(face, f"job_{number}", now - DAY_MS + number * 400_000 % (DAY_MS - 3_600_000))
        if number % 20 == 7:
            _end(face, f"job_{number}")
    _restless(face, "post_engagement", now)
    face.began(UNSAVED, version("daily_totals.py", "print('a')\n"))
    _move(face, UNSAVED, now - 2 * DAY_MS)
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
    taken = face.saved(job, label="before the change")
    begun = face.runs[job][-1].created_ms
    query = replace(taken.queries[0], batch_timestamp_ms=begun + 1_200_000)
    face.savepoints_by_id[taken.id] = replace(taken, created_ms=begun + 1_200_000, queries=(query, *taken.queries[1:]))
    for fork in range(forks):
        name = f"{job}_variant_{fork}"
        face.origins[name] = Origin(taken.id, taken.job)
        face.began(name, face.versions[taken.version], taken.id)
        _move(face, name, begun + 1_300_000 + fork * 300_000)
        if fork % 4:
            _end(face, name)


def _restless(face: FakeFace, job: str, now: int) -> None:
    """Began 13 minutes ago, was begun again three times, then came two other versions at once, and a savepoint."""
    _move(face, job, now - 780_000)
    first = face.runs[job][0]
    others = [VersionId(version) for version in face.versions if version != first.version]
    begun = [(700, first.version), (680, first.version), (660, first.version), (300, others[0]), (285, others[1])]
    moments = [(now - seconds * 1_000, version) for seconds, version in begun]
    earlier = [replace(run, state=RunState.FAILED, ended_ms=run.created_ms + 5_000) for run in face.runs[job]]
    later = [replace(first, id=RunId(f"r-again-{n}"), version=of, created_ms=at, started_ms=at) for n, (at, of) in enumerate(moments)]
    face.runs[job] = earlier + later
    taken = face.saved(job, label="between")
    face.happened += [
        Event(now - 12_000, "savepoint.taken", JobName(job), taken.id, f"{job} at batch {taken.batch}", PAGE),
        Event(now - 655_000, "run.failed", JobName(job), later[1].id, "the driver ended with 1", DRIVER),
    ]


def read_partly(face: FakeFace, savepoint: str) -> None:
    """Of the savepoint's last table of state some rows are read."""
    read = face.memory.reading(face.ask(ShowSavepoint(savepoint)), face.ask(ListStates(savepoint))[-1], PARTLY)
    face.readings[read.id] = read


def fail(face: FakeFace) -> None:
    """One job waits for its third restart, another was stopped at a poison batch."""
    span = SourceSpan("FileStreamSource[file:/in]", '{"logOffset":6}', '{"logOffset":7}', 1, "files", ("file:/in/part-00007.json",))
    batch = FailedBatch(QueryName("counts"), 7, (span,))
    says = "query counts: [CAST_INVALID_INPUT] The value 'seven' is no INT."
    why = Exit("failed", 1, "CAST_INVALID_INPUT", says, samples.NOW_MS - 10_000, "counts")
    waits = RestartDecision(samples.NOW_MS + 3_600_000, 3, 5, 40_000, batch=batch)
    poison = RestartDecision(None, why="it failed at the same batch 3 times in a row", batch=batch, poison=3)
    for job, state, decision in (("post_engagement", RunState.RESTARTING, waits), ("post_engagement_split", RunState.FAILED, poison)):
        face.ended(job, RunState.FAILED, why)
        failed = replace(face.runs[job][-1], restart=replace(waits, at_ms=samples.NOW_MS - 70_000, attempt=2), attempt=1)
        begun: dict[str, Any] = {"created_ms": samples.NOW_MS - 60_000, "started_ms": samples.NOW_MS - 59_000, "attempt": 2}
        again = replace(failed, id=RunId(f"{failed.id}-again"), state=state, restart=decision, **begun)
        face.runs[job] = [*face.runs[job][:-1], failed, again]
