"""Operations: work that outlasts the call that asked for it, with how far it is, until it is done, failed or cancelled."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import GROUPS, Conflict, TidemarkError
from pipelines.domain.ids import JobName, OperationId


class OperationState(enum.StrEnum):
    """States of an operation."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


SOUND, DAMAGED = "sound", "damaged"
"""Results of work that looked for damage."""


@dataclass(frozen=True)
class Amount:
    """How much of a step is done: bytes (or, where `unit` says so, files, batches, stores). `total` is 0 while nobody knows."""

    step: str
    """What is being done now, as people read it: `copying`, `reading state`, `running a batch`."""
    done: Count = 0
    total: Count = 0
    unit: str = "bytes"


@dataclass(frozen=True)
class Operation:
    """One piece of work."""

    id: OperationId
    kind: str
    """`take`, `fork`, `resume`, `rescale`, `stop`, `cancel`, `verify`, `prove`, `diagnose`, `export`, `import`, `read`, `promote`, …"""
    job: JobName
    """The job it is about (of a fork: the new one); empty for an import that has not read its manifest yet."""
    state: OperationState
    created_ms: Moment
    ended_ms: Moment | None = None
    result: str = ""
    """What it made: a savepoint's id for a take, a stop and an import, the job for a fork and a resume, the level reached for a verify (or
    `damaged`), the URL for an export, `sound` or `damaged` for a diagnosis, the reading's id for a read, the run for a promotion."""
    error_group: str = ""
    """The group of the error it failed with: decides a command's exit code. Empty where it did not fail."""
    error_code: str = ""
    error_message: str = ""
    error_hint: str = ""
    subject: str = ""
    """Id of the savepoint, the URL, or the variant that it works on; empty where it is the job itself."""
    amount: Amount | None = None
    """How far the present step is; None for an operation without steps (a stop)."""
    can_cancel: bool = False
    verb: str = ""
    """The words of the command that began it; empty for what Tidemark began by itself."""


class BegunThenFailed(TidemarkError):
    """A change was begun, and failed afterwards."""


def failed(running: Operation, error: TidemarkError, now_ms: int) -> Operation:
    """The operation as the error ended it."""
    return replace(
        running,
        state=OperationState.FAILED,
        ended_ms=now_ms,
        error_group=error.group,
        error_code=error.code,
        error_message=error.message,
        error_hint=error.hint,
    )


def sound(ended: Operation) -> Operation:
    """Returns an ended operation that succeeded; raises its error (BegunThenFailed where it has none), or Conflict if it was cancelled."""
    if ended.state is OperationState.FAILED:
        raise GROUPS.get(ended.error_group, BegunThenFailed)(ended.error_code, ended.error_message, ended.error_hint)
    if ended.state is OperationState.CANCELLED:
        raise Conflict("operation.cancelled", f"the {ended.kind} was cancelled", "Begin it again.")
    return ended
