"""What a job's sources have waiting, in words: how much, and whether it will be caught up. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.jobs import JobSummary
from pipelines.domain.moments import DAY_MS
from pipelines.domain.sources import Waiting
from pipelines.words import formats

UNITS = ("rows", "bytes", "files", "offsets")
"""Of a source that counts in several, the first of them is said."""
STEADY_SHARE, OVER_S = 0.02, 600
"""A backlog that grows by less than this share of itself in so many seconds does not grow."""
BACK_TO_BACK = 0.99
LONGEST_MS = DAY_MS
"""What would take longer than a day to catch up has no end in sight."""


def main(backlog: Sequence[Waiting]) -> Waiting | None:
    """The one of several units that is said; None where no source tells."""
    return min(backlog, key=lambda waiting: (not waiting.amount, _place(waiting.unit)), default=None)


def _place(unit: str) -> int:
    return UNITS.index(unit) if unit in UNITS else len(UNITS)


def amount(waiting: Waiting | None) -> str:
    """`1.2M rows`, `46.0 MB`, `12 files`; `none` where all is read."""
    if waiting is None:
        return formats.MISSING
    if not waiting.amount:
        return "none"
    return formats.size(waiting.amount) if waiting.unit == "bytes" else f"{formats.compact(waiting.amount)} {waiting.unit}"


def grows(waiting: Waiting | None) -> bool:
    """Whether more comes in than is worked off."""
    return waiting is not None and bool(waiting.amount) and is_steady_growth(waiting.per_second, waiting.amount)


def is_steady_growth(per_second: float | None, amount: float) -> bool:
    """Whether what changes so fast grows by more than a share of itself that says nothing."""
    change = per_second or 0.0
    return change > 0 and change * OVER_S >= STEADY_SHARE * amount


def left_ms(waiting: Waiting | None) -> float | None:
    """In how many ms it will be caught up at the present pace; None where it will not, or is."""
    if waiting is None or not waiting.amount or waiting.per_second is None or waiting.per_second >= 0:
        return None
    taken_ms = 1_000 * waiting.amount / -waiting.per_second
    return taken_ms if taken_ms <= LONGEST_MS else None


def behind_ms(waiting: Waiting | None, rows_per_second: float | None) -> float | None:
    """How far behind a backlog that grows is: of rows the time to read them, of files and bytes, which wait only where a batch leaves them,
    since when they have grown at this pace. None where it does not grow, or nobody can tell."""
    if waiting is None or waiting.unit == "offsets" or not grows(waiting):
        return None
    speed = rows_per_second if waiting.unit == "rows" else waiting.per_second
    return 1_000 * waiting.amount / speed if speed else None


def outlook(waiting: Waiting | None) -> str:
    """`caught up in about 4m 12s`, `growing by 1.2k rows/s`, `neither grows nor shrinks`; empty where no source tells."""
    if waiting is None or waiting.per_second is None:
        return ""
    if not waiting.amount:
        return "all that there is has been read"
    taken_ms = left_ms(waiting)
    if taken_ms is not None:
        return f"caught up in about {formats.left(taken_ms)}"
    if waiting.per_second < 0:
        return f"shrinking by {formats.pace(-waiting.per_second, waiting.unit)}, more than a day left"
    return f"growing by {formats.pace(waiting.per_second, waiting.unit)}" if grows(waiting) else "neither grows nor shrinks"


def share(job: JobSummary) -> str:
    """What batches fill of the time that they have: `73 % of the trigger's 10.0 s`; learnt `73 % of their time`, `all of their time`."""
    if job.busy is None:
        return formats.MISSING
    if job.interval_ms:
        return f"{100 * job.busy:.0f} % of the trigger's {formats.duration(job.interval_ms)}"
    return "all of their time" if job.busy >= BACK_TO_BACK else f"{100 * job.busy:.0f} % of their time"


def briefly(waiting: Waiting | None) -> str:
    """For a table: `1.2M rows, growing`, `46.0 MB, 4m 12s`, `none`."""
    taken_ms = left_ms(waiting)
    more = "growing" if grows(waiting) else formats.left(taken_ms) if taken_ms is not None else ""
    return ", ".join(filter(None, (amount(waiting), more)))
