"""Verifications: of files and checksums, and the proof by the sandbox; as operations with progress, their outcome kept in the savepoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.ids import OperationId
from pipelines.domain.operations import DAMAGED, Operation
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.savepoint import library, manifests
from pipelines.savepoint import verify as verifying
from pipelines.storage.protocol import Advance, unwatched
from pipelines.workspace import events, operations, progress, proving, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.operations import Ticket

TURN_S = 0.5


def verify(context: Context, named: str, level: Trust) -> Verification:
    """Checks a savepoint and answers when it is done; damage is in the answer, not raised.

    A proof is an operation here too, so that it is ended with the server.
    """
    savepoint = savepoints.get(context, named)
    if level is not Trust.PROVED:
        return _files(context, savepoint, level)
    wanted = operations.cancellable(context, "prove", savepoint.job, savepoint.id)
    return operations.answered(context, wanted, lambda ticket: _checked(context, savepoint, level, wanted.id, ticket), _result)


def start(context: Context, named: str, level: Trust) -> Operation:
    """The same as an operation; its result is the level reached, or `damaged`."""
    savepoint = savepoints.get(context, named)
    wanted = operations.cancellable(context, "prove" if level is Trust.PROVED else "verify", savepoint.job, savepoint.id)
    return operations.begin(context, wanted, lambda ticket: _result(_checked(context, savepoint, level, wanted.id, ticket)))


def last(context: Context, named: str) -> Verification | None:
    return manifests.last_verification(context.library, savepoints.get(context, named).id)


def _checked(context: Context, savepoint: Savepoint, level: Trust, operation: OperationId, ticket: Ticket) -> Verification:
    if level is Trust.PROVED:
        return _prove(context, savepoint, operation, ticket)
    ticket.step("checking", savepoint.bytes if level is not Trust.COMPLETE else 0)
    return _files(context, savepoint, level, ticket.advance)


def _result(found: Verification) -> str:
    return found.reached or DAMAGED


def _files(context: Context, savepoint: Savepoint, level: Trust, advance: Advance = unwatched) -> Verification:
    _keep_progress(context, savepoint, level)
    return _recorded(context, savepoint, verifying.check(context.library, savepoint.id, level, context.now_ms(), advance))


def _prove(context: Context, savepoint: Savepoint, operation: OperationId, ticket: Ticket) -> Verification:
    _keep_progress(context, savepoint, Trust.PROVED)
    with turn(context, ticket):
        answer = _recorded(context, savepoint, proving.prove(context, savepoint.id, operation, ticket))
    if answer.reached is Trust.PROVED and answer.proof is not None:
        events.say(context, "savepoint.proved", savepoint.job, savepoint.id, _proved(savepoint, answer))
    return answer


@contextmanager
def turn(context: Context, ticket: Ticket) -> Iterator[None]:
    """One piece of work with Spark at a time: many asked for at once would take the machine from the jobs."""
    while not context.proving.acquire(timeout=TURN_S):
        ticket.step("waiting for the sandbox")
    try:
        yield
    finally:
        context.proving.release()


def _keep_progress(context: Context, savepoint: Savepoint, level: Trust) -> None:
    """Before the savepoint is sealed, so that the seal covers what the job said of it."""
    if level is not Trust.COMPLETE:
        progress.keep(context, context.library, library.manifest(context.library, savepoint.id))


def _recorded(context: Context, savepoint: Savepoint, found: Verification) -> Verification:
    """`found` with what earlier verifications add, kept in the savepoint and in the catalog."""
    answer = verifying.record(context.library, found)
    savepoints.refresh(context, savepoint.id)
    if answer.damages:
        worst = answer.damages[0]
        message = f"{len(answer.damages)} damages in {savepoint.id}, the first: {worst.path}: {worst.message}"
        events.say(context, "savepoint.damaged", savepoint.job, savepoint.id, message)
    return answer


def _proved(savepoint: Savepoint, answer: Verification) -> str:
    proof = answer.proof
    assert proof is not None
    compared = [one for one in proof.states if one.expected is not None]
    rows = sum(one.rows for one in proof.states)
    counts = f"{rows} rows in {len(proof.states)} stateful operators, {len(compared)} of them compared with what the job had counted"
    batches = ", ".join(f"batch {one.batch} of {one.query} ({one.input_rows} rows in, {one.output_rows} out)" for one in proof.batches)
    return f"savepoint {savepoint.id} is proved: Spark {proof.spark_version} read {counts}, and ran {batches}"
