"""The phases that Spark times of each batch: what they are called here, and their colours. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.drawing.figures import BLUE, CYAN, GRAY, GREEN, ORANGE, PINK, VIOLET


@dataclass(frozen=True)
class Phase:
    """`names` are Spark's own, `columns` those of a job's series; the two commits of Spark count as one."""

    title: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    color: str
    tone: str
    """The colour's name in the style sheet."""


PHASES = (
    Phase("process", ("addBatch",), ("add_batch_ms",), BLUE, "blue"),
    Phase("get offsets", ("latestOffset",), ("latest_offset_ms",), GREEN, "green"),
    Phase("plan query", ("queryPlanning",), ("planning_ms",), ORANGE, "orange"),
    Phase("get batch", ("getBatch",), ("get_batch_ms",), CYAN, "cyan"),
    Phase("write-ahead log", ("walCommit",), ("wal_commit_ms",), VIOLET, "violet"),
    Phase("commit", ("commitBatch", "commitOffsets"), ("commit_batch_ms", "commit_offsets_ms"), PINK, "pink"),
)
REST = Phase("everything else", (), (), GRAY, "gray")


def timed(phases: Mapping[str, float], batch_ms: float) -> list[tuple[Phase, float]]:
    """Each phase that a batch had with its ms, in one order for all batches; what no phase accounts for is the last."""
    known = [(phase, sum(phases[name] for name in phase.names if name in phases)) for phase in PHASES if phases.keys() & set(phase.names)]
    return [*known, (REST, max(0.0, batch_ms - sum(phases.values())))]
