"""Retention: which of the savepoints that were taken by themselves go, by age, count and bytes. Pure.

What somebody took, named or builds on never goes, and neither do the newest one and the newest proved one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.domain.disposals import Disposal
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.schedules import Schedule
from pipelines.domain.trust import Trust


@dataclass(frozen=True)
class Judged:
    """A scheduled savepoint that is past a limit."""

    savepoint: SavepointId
    job: JobName
    created_ms: int
    limits: tuple[str, ...]
    """Fields of the schedule that it is past: `keep`, `keep_ms`, `keep_bytes`."""
    stays: str = ""
    """Why it stays all the same; empty for one that goes."""


@dataclass(frozen=True)
class PrunePlan:
    """What pruning deletes, what stays though it is past a limit, and what all of it frees."""

    goes: tuple[Judged, ...]
    stays: tuple[Judged, ...]
    disposal: Disposal


@dataclass(frozen=True)
class Needs:
    """Savepoints that something was made from: id -> what."""

    by: dict[SavepointId, str]


def judge(
    savepoints: Sequence[Savepoint], limits: Schedule, needs: Needs, now_ms: int, disk_bytes: Iterable[int] = ()
) -> tuple[Judged, ...]:
    """Every scheduled savepoint of one job that is past a limit, newest first, with why it stays if it does.

    `savepoints` are all of the job. `disk_bytes` says, of each scheduled one from the newest on, what it and the newer ones take on disk
    together.
    """
    ordered = sorted(savepoints, key=lambda savepoint: (savepoint.created_ms, savepoint.id), reverse=True)
    scheduled = scheduled_of(ordered)
    together = list(disk_bytes)
    judged = []
    for place, savepoint in enumerate(scheduled):
        past = (
            ("keep", limits.keep is not None and place >= limits.keep),
            ("keep_ms", limits.keep_ms is not None and now_ms - savepoint.created_ms > limits.keep_ms),
            ("keep_bytes", limits.keep_bytes is not None and together[place] > limits.keep_bytes),
        )
        names = tuple(name for name, is_past in past if is_past)
        if names:
            judged.append(Judged(savepoint.id, savepoint.job, savepoint.created_ms, names, _stays(savepoint, ordered, needs)))
    return tuple(judged)


def scheduled_of(savepoints: Iterable[Savepoint]) -> list[Savepoint]:
    """Those that were taken by themselves, here, newest first."""
    scheduled = [savepoint for savepoint in savepoints if savepoint.reason is Reason.SCHEDULED and savepoint.imported_ms is None]
    return sorted(scheduled, key=lambda savepoint: (savepoint.created_ms, savepoint.id), reverse=True)


def _stays(savepoint: Savepoint, ordered: Sequence[Savepoint], needs: Needs) -> str:
    """Why nothing but a person disposes of it; empty where nothing speaks for it. `ordered` are all of the job, newest first."""
    if savepoint.label or savepoint.note:
        return "somebody gave it a label or a note"
    if savepoint.id in needs.by:
        return needs.by[savepoint.id]
    if savepoint.id == ordered[0].id:
        return "it is the newest"
    if savepoint.id == _first(scheduled_of(ordered), proved=False):
        return "it is the newest scheduled one that is not damaged"
    if savepoint.id == _first(ordered, proved=True):
        return "it is the newest proved one"
    return ""


def _first(ordered: Iterable[Savepoint], *, proved: bool) -> SavepointId | None:
    """The newest of them without damage, and proved where asked."""
    sound = (savepoint for savepoint in ordered if not savepoint.damaged_files)
    return next((savepoint.id for savepoint in sound if not proved or Trust.PROVED in (savepoint.trust, *savepoint.levels)), None)
