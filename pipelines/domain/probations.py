"""Probation: changed code is watched in its first batches or minutes, and its job goes back by itself where it fails in them. Pure.

The way back is decided before the code starts: to the savepoint before it, where each sink can be cut back to that; else on with the code
before from the newest batch, where the verdict is that both do the same with the state. That verdict compares digests of what both codes
compute and keep, so it holds in both directions.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.alert_rules import Rule, condition
from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import QueryName, SavepointId, VersionId
from pipelines.domain.resources import Resources
from pipelines.domain.verdicts import Outcome, Verdict

PROBATION_FILE = "probation.json"
"""In the folder of the run that is watched: a `Probation`, written before the run is wanted."""
MISSED = "PROBATION_LIMIT"
"""The error class of a run that was ended because it missed a limit of its probation."""
NO_WAY = "probation.no_way_back"
MOST_BATCHES = 1_000_000


class Way(enum.StrEnum):
    """How a job goes back."""

    SAVEPOINT = "savepoint"
    """To the savepoint before the changed code: what that wrote is cut from the sinks, and done again."""
    NEWEST = "newest"
    """On from the newest batch: what the changed code wrote stays."""


class Stand(enum.StrEnum):
    """What has become of a probation."""

    WATCHED = "watched"
    PASSED = "passed"
    BACK = "back"
    """The code failed, or missed a limit."""
    ENDED = "ended"
    """The run was stopped before it was over."""


@dataclass(frozen=True)
class Terms:
    """For how long changed code is watched (whichever is over first), and what it must not miss; None for what nobody set."""

    batches: Count | None = None
    """So many of each query that the run starts."""
    time_ms: Count | None = None
    """Since its first query started."""
    longest_batch_ms: Count | None = None
    limits: tuple[str, ...] = ()
    """Thresholds of figures, as rules of alerts have them (`event_time_lag_seconds > 5m`), from the run's first batch on."""


@dataclass(frozen=True)
class Probation:
    """The probation of a run (`probation.json`), and in a plan the one that it will have."""

    terms: Terms
    way: Way
    version: VersionId
    """To which it goes back."""
    savepoint: SavepointId | None = None
    """The one before the changed code; in a plan None where it is taken first."""
    resources: Resources | None = None
    """What the job could take before, where that was changed with the code."""
    stand: Stand = Stand.WATCHED
    why: str = ""
    at_ms: Moment | None = None
    """When it ended."""


@dataclass(frozen=True)
class Took:
    """A batch of a query, and how long it took, or has taken so far."""

    query: QueryName
    batch: int
    ms: int


@dataclass(frozen=True)
class Seen:
    """A run as it is at `at_ms`, or was when it ended. Batches are those that count: of each query its first ones."""

    at_ms: int
    began_ms: int | None
    """When its first query started."""
    ended: Mapping[QueryName, int]
    """How many batches of each of its queries have ended."""
    too_long: tuple[Took, ...] = ()
    """Those that ended and took too long."""
    under_way: tuple[Took, ...] = ()
    beyond: tuple[str, ...] = ()
    """The figures that are beyond their limit now, in words."""


def terms(batches: int | None, time_ms: int | None, longest_batch_ms: int | None, limits: tuple[str, ...] = ()) -> Terms | None:
    """The terms that were asked for, None where none were; Invalid (`probation.endless`) for a limit without an end."""
    if batches is None and time_ms is None:
        if longest_batch_ms is None and not limits:
            return None
        subject = "A longest batch" if longest_batch_ms is not None else limits[0]
        message = f"{subject} is a limit of a probation, and nobody said how long that lasts"
        raise Invalid("probation.endless", message, "Give --probation-batches or --probation-time, or both, too.")
    return Terms(batches, time_ms, longest_batch_ms, limits)


def limit(text: str) -> Rule:
    """The rule that holds where a limit is missed; raises what `alert_rules.condition` raises, and Invalid (`probation.limit`) for one
    without a threshold, and for a growth: what it grew from is of the code before."""
    rule = Rule("limit", text)
    read = condition(rule)
    if read.problem is not None or read.growth is not None:
        hint = "Write a figure with its threshold: 'event_time_lag_seconds > 5m', 'backlog_rows > 1e6', 'observed NAME.COLUMN > 5'."
        raise Invalid("probation.limit", f"{text!r} is no limit of a probation", hint)
    return rule


def way(uncut: Sequence[str], verdict: Verdict | None, *, unsaved: str = "", rewritten: bool = False) -> Way:
    """The way back from changed code. `uncut`: the sinks that cannot be cut back, in words; `verdict`: on the changed code; `unsaved`: why
    there will be no savepoint before it; `rewritten`: whether it begins on state that is rewritten, or with another Spark.

    Raises Conflict (`probation.no_way_back`).
    """
    if not uncut and not unsaved:
        return Way.SAVEPOINT
    if verdict is not None and verdict.outcome is Outcome.SAME and not rewritten:
        return Way.NEWEST
    first = f"there is no savepoint before it ({unsaved})" if unsaved else f"{' and '.join(uncut)} cannot be cut back"
    if rewritten:
        second, hint = "the code before cannot go on with what becomes of the state", "Leave the probation out, or fork the job."
    elif verdict is None:
        second = "nobody has checked whether the code before can go on with the state"
        hint = "Check the code against a savepoint of now first (check SAVEPOINT --code FILE): where the verdict is 'same' there is a way."
    else:
        second, hint = f"the verdict on this code is {verdict.outcome.value!r}, not 'same'", "Leave the probation out, or fork the job."
    if unsaved:
        hint = f"Ask again once a savepoint of the job can be taken. Or {hint[0].lower()}{hint[1:]}"
    raise Conflict(NO_WAY, f"There would be no way back from this code: {first}, and {second}", hint)


def missed(terms: Terms, seen: Seen) -> str:
    """The limit that the run missed in its probation, in words; empty where it missed none."""
    longest = terms.longest_batch_ms
    if longest is None:
        return next(iter(seen.beyond), "")
    for took in (*seen.too_long, *seen.under_way):
        if took.ms > longest:
            so_far = " so far" if took in seen.under_way else ""
            return f"batch {took.batch:,} of {took.query} took {took.ms:,} ms{so_far}, more than {longest:,} ms"
    return next(iter(seen.beyond), "")


def is_over(terms: Terms, seen: Seen) -> bool:
    """Whether the run was watched for as long as it was to be."""
    if terms.time_ms is not None and seen.began_ms is not None and seen.at_ms - seen.began_ms >= terms.time_ms:
        return True
    needed = terms.batches
    return needed is not None and bool(seen.ended) and all(ended >= needed for ended in seen.ended.values())
