"""What a cluster says of the driver that it runs in cluster mode, whichever cluster it is."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.bounds import Moment

UNANSWERED_FILE = "unanswered.json"
"""In the run's folder, while it is so."""


class Stage(enum.StrEnum):
    """Nothing follows `OVER`."""

    WAITING = "waiting"
    """Its driver was not started yet."""
    RUNNING = "running"
    OVER = "over"


@dataclass(frozen=True)
class Application:
    """The driver of one run, as its cluster knows it."""

    id: str
    """By which the cluster is asked for it: YARN's id of the application, the name of the pod."""
    stage: Stage
    report: str
    """How it stands and why, in the cluster's words."""
    is_killed: bool = False
    """Whether somebody had the cluster end it."""


@dataclass(frozen=True)
class Unanswered:
    """That the cluster, or the job's home, does not answer: a stop or a cancel of the run waits for it."""

    since_ms: Moment
    message: str
