"""Verifications: of files and checksums, and the proof by the sandbox; as operations with progress, their outcome kept in the savepoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.catalog import operations
from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.watch import Watch
from pipelines.savepoint import library, manifests, worker
from pipelines.savepoint import verify as verifying
from pipelines.verbs.savepoints import ReadVerification
from pipelines.verbs.verify import Verify, VerifyPlan
from pipelines.words import formats
from pipelines.workspace import events, progress, proofs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket

TURN_S = 0.5


@plans(Verify)
def plan(context: Context, change: Verify) -> Planned[Verification, VerifyPlan]:
    """Checks a savepoint; damage is in the answer, not raised."""
    savepoint = savepoints.get(context, change.savepoint)
    read = savepoint.bytes if change.level is not Trust.COMPLETE else 0
    plan = VerifyPlan(savepoint.id, savepoint.job, change.level, savepoint.files, read)
    return Planned(plan, lambda ticket: _check(context, savepoint, plan, ticket))


@answers(ReadVerification)
def last(context: Context, question: ReadVerification) -> Verification | None:
    savepoint = savepoints.get(context, question.savepoint).id
    return manifests.last_verification(context.shelf(savepoint), savepoint)


def seal(context: Context, savepoint: SavepointId, watch: Watch) -> None:
    """Seals a savepoint, or compares its checksums where it is sealed; raises what `watch` raises."""
    unsealed = savepoints.get(context, savepoint)
    _keep_progress(context, unsealed, Trust.INTACT)
    _recorded(
        context,
        unsealed,
        worker.check(context.savepoint_workers, context.shelf(savepoint), savepoint, Trust.INTACT, context.now_ms(), watch),
    )


def _check(context: Context, savepoint: Savepoint, plan: VerifyPlan, ticket: Ticket) -> Verification:
    if plan.level is Trust.PROVED:
        return prove(context, savepoint, ticket)
    ticket.step("checking", plan.bytes)
    _keep_progress(context, savepoint, plan.level)
    checked = worker.check(context.savepoint_workers, context.shelf(savepoint.id), savepoint.id, plan.level, context.now_ms(), ticket)
    return _recorded(context, savepoint, checked)


def prove(context: Context, savepoint: Savepoint, ticket: Ticket, begins: Callable[[], None] = lambda: None) -> Verification:
    """Proves a savepoint and keeps the outcome; `begins` is called when its turn has come."""
    _keep_progress(context, savepoint, Trust.PROVED)
    with turn(context, ticket):
        begins()
        answer = _recorded(context, savepoint, proofs.prove(context, savepoint.id, ticket.operation, ticket))
    if answer.reached is Trust.PROVED and answer.proof is not None:
        events.say(context, "savepoint.proved", savepoint.job, savepoint.id, _proved(savepoint, answer))
    return answer


@contextmanager
def turn(context: Context, ticket: Ticket) -> Iterator[None]:
    """Waits for the turn to work with Spark, one at a time: several at once would take the machine from the jobs."""
    while not context.proving.acquire(timeout=TURN_S):
        ticket.step(f"waiting for the sandbox{_where(context)}")
    context.in_sandbox[:] = [ticket.operation]
    try:
        yield
    finally:
        context.in_sandbox.clear()
        context.proving.release()


def _where(context: Context) -> str:
    """` (prove of clicks runs)`; empty where that is not known."""
    with context.catalog.reading() as reader:
        running = [operation for operation in operations.running(reader) if operation.id in context.in_sandbox]
    return "".join(f" ({operation.kind} of {operation.job or operation.subject} runs)" for operation in running)


def _keep_progress(context: Context, savepoint: Savepoint, level: Trust) -> None:
    """Keeps the progress events before the savepoint is sealed, so that the seal covers them."""
    if level is not Trust.COMPLETE:
        shelf = context.shelf(savepoint.id)
        progress.keep(context, shelf, library.manifest(shelf, savepoint.id))


def _recorded(context: Context, savepoint: Savepoint, verification: Verification) -> Verification:
    """`verification` with what earlier verifications add, kept in the savepoint and in the catalog."""
    answer = _kept(context, verification)
    savepoints.refresh(context, savepoint.id)
    if answer.damages:
        worst = answer.damages[0]
        message = f"{formats.plural(len(answer.damages), 'damaged file')} in {savepoint.id}, the first: {worst.path}: {worst.message}"
        events.say(context, "savepoint.damaged", savepoint.job, savepoint.id, message)
    return answer


def _kept(context: Context, verification: Verification) -> Verification:
    """Records a verification in its savepoint; what was found is in the error, too, where there is no room for it."""
    try:
        return verifying.record(context.shelf(verification.savepoint), verification)
    except TidemarkError as error:
        if error.code != "storage.full":
            raise
        outcome = (
            f"has {formats.plural(len(verification.damages), 'damage')}" if verification.damages else f"was found {verification.reached}"
        )
        message = f"Savepoint {verification.savepoint} {outcome}, which cannot be recorded: {error.message}"
        raise Unavailable("verify.unrecorded", message, error.hint) from error


def _proved(savepoint: Savepoint, answer: Verification) -> str:
    proof = answer.proof
    assert proof is not None
    compared = [count for count in proof.states if count.expected is not None]
    rows = sum(count.rows for count in proof.states)
    counts = f"{rows} rows in {len(proof.states)} stateful operators, {len(compared)} of them compared with what the job had counted"
    batches = ", ".join(
        f"batch {batch.batch} of {batch.query} ({batch.input_rows} rows in, {batch.output_rows} out)" for batch in proof.batches
    )
    return f"savepoint {savepoint.id} is proved: Spark {proof.spark_version} read {counts}, and ran {batches}"
