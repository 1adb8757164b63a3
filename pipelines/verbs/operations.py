"""Operations: listed, looked at, called back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.operations import Operation, OperationState
from pipelines.verbs.listing import ListedByTime
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Change, Http, Question, named, option

OPERATION = "Id of an operation."


@dataclass(frozen=True)
class ListOperations(ListedByTime, Question[Sequence[Operation]]):
    """List operations, newest first. They are stops, verifications, readings of state, exports, imports and copies, each with how far it
    is; the newest hundred, if nothing else is asked for."""

    running: bool = option("Only running operations.", False)
    state: OperationState | None = option("Only those that are so.", None, filters=Filter("state"))
    kind: str = option("Only those of this kind: take, stop, verify, export, …", "", filters=Filter("kind"))
    job: str = option("Only those about this job.", "", metavar="JOB", filters=Filter("job"))
    subject: str = option("Only those that work on this: a savepoint's id, a URL.", "", filters=Filter("subject"))

    call, topic = "operations", "operations"
    role = Role.VIEWER
    http = Http("GET", "/operations")
    command = "operations"
    rows = Rows.of("id", "created_ms", "ended_ms", "kind", "job", "state")


@dataclass(frozen=True)
class ShowOperation(Question[Operation]):
    """Show an operation. It is `running` with how far it is, `done` with its result, `failed` with its error, or `cancelled`."""

    operation: str = named(OPERATION)

    call, topic = "operation", "operations"
    role = Role.VIEWER
    http = Http("GET", "/operations/{operation}")
    refuses = (NotFound,)


@dataclass(frozen=True)
class ReadAnswer(Question[object]):
    """Read an operation's result. It is the answer of the change that began it, once it has ended; what it failed with is raised.
    Answers are kept for the newest thousand that ended since the server started."""

    operation: str = named(OPERATION)

    call, topic = "read_answer", "operations"
    role = Role.VIEWER
    http = Http("GET", "/operations/{operation}/answer")
    refuses = (NotFound, Conflict)


@dataclass(frozen=True)
class CancelOperation(Change[Operation, Operation]):
    """Cancel a running operation. What it made is removed; the answer may still say `running`: follow it until it is `cancelled`."""

    operation: str = named("Id of a running operation.")

    call, topic = "cancel", "operations"
    role = Role.OPERATOR
    http = Http("POST", "/operations/{operation}/cancel", 202)
    command, shell = "cancel-operation", "Waits until it is removed. ('cancel' ends a job.)"
    refuses = (NotFound, Conflict)
