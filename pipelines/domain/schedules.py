"""Schedules: when savepoints are taken and proved by themselves, and how many are kept. A job's own is laid over the workspace's."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipelines.domain.blackouts import window
from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.moments import LONGEST_MS, spelt_duration

LEAST_EVERY_MS = 10_000
MOST_BLACKOUTS = 20
PROOF_CPUS, MOST_CPUS = 2, 4_096
UTC = "UTC"
USUAL, NONE, OFF = "usual", "none", "off"
"""What brings the workspace's own back, what takes all blackout windows away, and what proves nothing."""
SAID = {"cron": "cron expression", "zone": "time zone", "prove_at": "time of proofs", "run_at": "time of runs"}


@dataclass(frozen=True)
class Times:
    """By a cron expression, or every so many ms (counted from 1970-01-01 UTC); neither is never."""

    cron: str = ""
    every_ms: Count = 0

    def __bool__(self) -> bool:
        return bool(self.cron or self.every_ms)


@dataclass(frozen=True)
class Schedule:
    """None is what the workspace has. What nobody has set is: never, UTC, no blackout windows, all are kept, none is proved."""

    times: Times | None = None
    zone: str | None = None
    """Name of the time zone (`Europe/Berlin`) that the cron expression and the windows are in."""
    blackouts: tuple[str, ...] | None = None
    """`22:00-06:00`, `Mon-Fri 08:00-10:00`: times in these windows are passed over."""
    keep: Count | None = None
    """So many of the scheduled ones are kept, the newest."""
    keep_ms: Count | None = None
    """They are kept for so long."""
    keep_bytes: Count | None = None
    """They are kept while they take no more than this on disk together."""
    keep_all: bool = False
    """All are kept, whatever the workspace keeps; then there is no limit above."""
    since_ms: Moment | None = None
    """When it was set: no time before it was missed."""
    prove_at: str | None = None
    """Cron expression of the times at which the newest scheduled savepoint is proved; empty for never."""
    run_at: str | None = None
    """Cron expression of the times at which a job that has ended begins again; only a job has it."""
    proof_limit_ms: Count | None = None
    """A proof that takes longer is ended."""
    proof_cpus: Count | None = None
    """Processors that the Spark of a proof may keep busy; `PROOF_CPUS` where nobody has set it."""


class Outcome(enum.StrEnum):
    """What came of a scheduled time: of a take, or of a proof."""

    TAKEN = "taken"
    UNCHANGED = "unchanged"
    """No batch was committed since the newest savepoint; the newest scheduled savepoint is proved already."""
    NOTHING = "nothing"
    """The job has committed no batch at all yet; it has no scheduled savepoint."""
    FAILED = "failed"
    PROVED = "proved"
    OPEN = "open"
    """Nothing speaks against the savepoint, but not all of it could be shown."""
    BEGUN = "begun"
    BUSY = "busy"
    """The run before had not ended: no second one was begun beside it."""


@dataclass(frozen=True)
class Attempt:
    """The newest time of a schedule that was attended to."""

    due_ms: Moment
    at_ms: Moment
    outcome: Outcome
    savepoint: SavepointId | Literal[""] = ""
    """That was taken or proved, or that already holds what would have been."""
    code: str = ""
    message: str = ""
    """Why it failed, or is not proved."""
    run: RunId | Literal[""] = ""
    """That was begun, or that had not ended."""


@dataclass(frozen=True)
class ScheduleState:
    """The schedule of a job, or (without a job) of the workspace."""

    job: JobName
    own: Schedule
    usual: Schedule
    """The workspace's."""
    schedule: Schedule
    """What holds: its own over the workspace's."""
    next_ms: tuple[int, ...] = ()
    """The next three times, epoch ms; they are for a job that runs then."""
    last: Attempt | None = None
    next_proof_ms: Moment | None = None
    last_proof: Attempt | None = None
    next_run_ms: Moment | None = None
    last_run: Attempt | None = None


@dataclass(frozen=True)
class SchedulePlan:
    """A schedule as it is, and as it will be."""

    job: JobName
    before: Schedule
    after: Schedule
    schedule: Schedule
    """What will hold: its own over the workspace's."""
    next_ms: tuple[int, ...] = ()
    next_proof_ms: Moment | None = None
    next_run_ms: Moment | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """What is given of a schedule; None stays as it is."""

    cron: str | None = None
    every_ms: int | None = None
    off: bool = False
    usual: bool = False
    zone: str | None = None
    blackouts: tuple[str, ...] = ()
    keep: int | None = None
    keep_ms: int | None = None
    keep_bytes: int | None = None
    prove_at: str | None = None
    run_at: str | None = None
    proof_limit_ms: int | None = None
    proof_cpus: int | None = None
    keep_all: bool = False


def over(own: Schedule, usual: Schedule) -> Schedule:
    """What holds: each thing that the job's own has, else the workspace's."""
    usual = replace(usual, keep=None, keep_ms=None, keep_bytes=None) if own.keep_all else usual
    values = {name: getattr(usual, name) if value is None else value for name, value in vars(own).items()}
    return Schedule(**{**values, "since_ms": max(own.since_ms or 0, usual.since_ms or 0) or None})


def of_proofs(schedule: Schedule) -> Schedule:
    """The schedule whose times are those of its proofs; zone and blackout windows are the same."""
    return replace(schedule, times=Times(cron=schedule.prove_at or ""))


def of_runs(schedule: Schedule) -> Schedule:
    """The schedule whose times are those of its runs; zone and blackout windows are the same."""
    return replace(schedule, times=Times(cron=schedule.run_at or ""))


def changed(before: Schedule, given: Given, now_ms: int) -> Schedule:
    """`before` with what is given; `before` itself where nothing differs. Raises Invalid (`schedule.several`, `schedule.empty`,
    `schedule.interval`, `schedule.keep`, `schedule.blackout`); the cron expression and the zone are for who knows the calendar."""
    _refuse_empty(given)
    times = [given.cron, given.every_ms, given.off, given.usual]
    if sum(map(bool, times)) > 1:
        raise Invalid("schedule.several", "More than one of cron, every, off and usual was given", "Give one of them.")
    after = before if not given.usual else Schedule()
    if given.cron:
        after = replace(after, times=Times(cron=" ".join(given.cron.split())))
    if given.every_ms is not None:
        after = replace(after, times=_every(given.every_ms))
    if given.off:
        after = replace(after, times=Times())
    if given.zone:
        after = replace(after, zone=None if given.zone == USUAL else given.zone)
    if given.blackouts:
        after = replace(after, blackouts=_windows(given.blackouts))
    if given.prove_at:
        after = replace(after, prove_at=_cron(given.prove_at))
    if given.run_at:
        after = replace(after, run_at=_cron(given.run_at) or None)
    after = _limited(_kept(after, given), given)
    return before if after == replace(before, since_ms=after.since_ms) else replace(after, since_ms=now_ms)


def _refuse_empty(given: Given) -> None:
    """What is given and says nothing is no way to clear it: each has a word for that."""
    for name, clears in (("cron", OFF), ("zone", USUAL), ("prove_at", OFF), ("run_at", OFF)):
        text = getattr(given, name)
        if text is not None and not text.strip():
            hint = "Say --off to take none by itself." if name == "cron" else f"Say {clears!r} to clear it, or leave it out."
            raise Invalid("schedule.empty", f"An empty {SAID[name]} was given", hint)


def _every(every_ms: int) -> Times | None:
    if not every_ms:
        return None
    if not LEAST_EVERY_MS <= every_ms <= LONGEST_MS:
        hint = "Give an interval from 10 s to 366 days."
        raise Invalid(
            "schedule.interval", f"Every {spelt_duration(every_ms)} is too {'often' if every_ms < LEAST_EVERY_MS else 'seldom'}", hint
        )
    return Times(every_ms=every_ms)


def _cron(given: str) -> str | None:
    text = " ".join(given.split())
    return None if text == USUAL else "" if text == OFF else text


def _windows(texts: Sequence[str]) -> tuple[str, ...] | None:
    if tuple(texts) in ((USUAL,), (NONE,)):
        return None if texts[0] == USUAL else ()
    if len(texts) > MOST_BLACKOUTS:
        raise Invalid("schedule.blackout", f"There are {len(texts)} blackout windows; there may be {MOST_BLACKOUTS}", "Give fewer.")
    for text in texts:
        window(text)
    return tuple(" ".join(text.split()) for text in texts)


def _limited(after: Schedule, given: Given) -> Schedule:
    values: dict[str, int] = {name: getattr(given, name) for name in ("proof_limit_ms", "proof_cpus") if getattr(given, name) is not None}
    if not 0 <= values.get("proof_limit_ms", 0) <= LONGEST_MS or not 0 <= values.get("proof_cpus", 0) <= MOST_CPUS:
        hint = "Give a time such as 30m, and a whole number of processors; 0 brings the usual back."
        raise Invalid("schedule.proof", "A proof has at most 366 days and 4,096 processors", hint)
    changed: dict[str, Any] = {name: value or None for name, value in values.items()}
    return replace(after, **changed)


def _kept(after: Schedule, given: Given) -> Schedule:
    values = {name: getattr(given, name) for name in ("keep", "keep_ms", "keep_bytes") if getattr(given, name) is not None}
    if values.get("keep_ms", 0) > LONGEST_MS * 10 or min(values.values(), default=0) < 0:
        raise Invalid(
            "schedule.keep", "What is kept is from 1 on, a time at most ten years", "Give a smaller one; 0 brings the usual back."
        )
    if given.keep_all and any(values.values()):
        raise Invalid("schedule.several", "Both keep-all and a limit of what is kept were given", "Give one of them.")
    if given.keep_all:
        return replace(after, keep=None, keep_ms=None, keep_bytes=None, keep_all=True)
    changed: dict[str, Any] = {name: value or None for name, value in values.items()}
    return replace(after, keep_all=after.keep_all and not values, **changed)
