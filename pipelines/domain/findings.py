"""What needs attention: one finding a problem, the same on every page, in lists and over REST."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.ids import JobName


class Urgency(enum.StrEnum):
    """How soon somebody should look: now, today, some day."""

    FAILED = "failed"
    WARNING = "warning"
    NOTICE = "notice"


class Problem(enum.StrEnum):
    """The kind of a finding."""

    FAILED = "failed"
    NOT_UP = "not-up"
    NO_PROGRESS = "no-progress"
    LAGGING = "lagging"
    FALLING_BEHIND = "falling-behind"
    CATCHING_UP = "catching-up"
    RESTARTING = "restarting"
    WAITING = "waiting-to-restart"
    POISON = "poison-batch"
    GROWING = "growing"
    UNSAVED = "unsaved"
    SCHEDULE = "schedule"
    """The newest scheduled savepoint could not be taken."""
    UNPROVED = "unproved"
    """The proof of the newest scheduled savepoint failed."""
    UNUSABLE = "unusable"
    """The newest savepoint can no longer be used: its sources have let go of what was read after it."""
    UNBEGUN = "unbegun"
    """A schedule could not begin the job."""
    ALERT = "alert"
    """An alert on a figure fires; one on a finding is that finding."""


@dataclass(frozen=True)
class Finding:
    """A problem of a job: `title` says it in a word or two, `words` give the reason."""

    job: JobName
    problem: Problem
    urgency: Urgency
    title: str
    words: str
    code: str = ""
    """Error class of what failed; empty for everything else."""
    since_ms: int | None = None
    """Since when, epoch ms; None where that is not known."""
