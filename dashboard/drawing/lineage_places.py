"""Where each lane of the tree of versions stands. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.drawing.families import CALM, Family
from pipelines.domain.experiments import Lane, Mark
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Run

STEP, LOWEST = 0.24, 0.48
"""How far savepoints of one batch stand below each other, and the lowest of them below its lane, in lanes."""


@dataclass(frozen=True)
class Placed:
    """A lane: `y` counts lanes of full height from the top; a calm one is a thin line."""

    lane: Lane
    y: float
    calm: bool = False
    does: str = ""
    """How its job does, where that is not its newest run's state: `no progress`, `idle`."""
    color: str = ""


@dataclass(frozen=True)
class More:
    """The line that stands for the folded lanes of a family."""

    family: Family
    y: float


@dataclass(frozen=True)
class Places:
    """All that has a place, and how high it is, in lanes."""

    lanes: tuple[Placed, ...]
    more: tuple[More, ...]
    height: float


def placed(families: Sequence[Family], *, calm: bool, health: Mapping[str, tuple[str, str]] | None = None) -> Places:
    """Families below each other; with `calm` a job without forks is one thin line. `health` is how jobs do, in words and in a colour."""
    lanes: list[Placed] = []
    more: list[More] = []
    top = 0.0
    for family in families:
        thin = calm and family.alone
        height = CALM if thin else 1.0
        for lane in family.lanes:
            lanes.append(Placed(lane, _middle(top, height), thin, *(health or {}).get(lane.job, ("", ""))))
            top += height
        if family.folded:
            more.append(More(family, _middle(top, CALM)))
            top += CALM
    return Places(tuple(lanes), tuple(more), top)


def _middle(top: float, height: float) -> float:
    """A lane of full height that stands first is at 0."""
    return top + (height - 1) / 2


def end(run: Run, now_ms: float) -> float:
    """When it ended, now for one that runs; epoch ms."""
    return max(run.started_ms or run.created_ms, run.ended_ms or now_ms)


def heights(lanes: Sequence[Placed], marks: Sequence[Mark]) -> dict[SavepointId, float]:
    """The height of each mark whose lane is drawn. Savepoints of one batch stand below each other in the order they were taken, the first
    on its lane's line, so that each can be seen and chosen."""
    rows = {row.lane.job: row for row in lanes}
    of_batch: defaultdict[tuple[JobName, float], list[Mark]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: (mark.at_ms, mark.id)):
        of_batch[mark.job, moment(mark)].append(mark)
    return {
        mark.id: y for (job, _), own in of_batch.items() if job in rows for mark, y in zip(own, _below(rows[job], len(own)), strict=True)
    }


def _below(row: Placed, many: int) -> list[float]:
    step = (CALM if row.calm else 1.0) * min(STEP, LOWEST / max(many - 1, 1))
    return [row.y + step * below for below in range(many)]


def moment(mark: Mark) -> float:
    """Where a savepoint sits in time: at the batch that it holds, not at the moment it was taken."""
    return mark.batch_timestamp_ms or mark.at_ms
