"""The audit of a workspace, `audit.jsonl` and the sealed files of before: written by `pipelines.verbs.limited` and where operations end,
read by its questions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import Any, BinaryIO

from pipelines.domain.audit import AUDIT, AuditLine, AuditPrunePlan, Call, Result, SealedEntries, Verified
from pipelines.domain.audit_check import Chain
from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.secrets import without_credentials
from pipelines.storage import documents, lines
from pipelines.storage.errors import typed_errors
from pipelines.storage.sealed import Sealed
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from pipelines.verbs.listing import sorted_path
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans

log = logging.getLogger("tidemark.audit")
ENDS = {OperationState.DONE: Result.DONE, OperationState.FAILED: Result.FAILED, OperationState.CANCELLED: Result.CANCELLED}


def record(context: Context, call: Call) -> None:
    """Writes a call down. It is done by then: where the disk takes nothing, the line is lost, and the next one says how many were."""
    try:
        lost = context.files.audit.lost
        if lost:
            append(context, Call(AUDIT, f"{lost} lines could not be written", Result.MENDED))
            context.files.audit.lost -= lost
        append(context, call)
    except (Unavailable, NotFound) as error:
        context.files.audit.lost += 1
        log.error("the audit lacks a line: %s of %s by %s, %s (%s)", call.verb, call.subject, call.by, call.result, error.message)


def ended(context: Context, operation: Operation) -> None:
    """Writes the end of an operation down; nothing while it runs."""
    if operation.state in ENDS:
        result = ENDS[operation.state]
        about = " ".join(filter(None, (operation.job, without_credentials(operation.subject))))
        record(context, Call(operation.verb or operation.kind, about, result, operation.error_code, operation.id, context.actor))


def mend(context: Context) -> None:
    """Takes away what a kill left of a last line, and says so in the audit and in the events. A file that cannot be written is an event:
    the workspace opens."""
    try:
        context.files.audit.mend(lambda what: _mended(context, what))
    except (Unavailable, NotFound) as error:
        events.say(context, "audit.failed", None, context.layout.audit_file.name, error.message)


def append(context: Context, call: Call) -> None:
    """Raises Unavailable where it cannot be written."""
    context.files.check()
    context.files.audit.append(_content(context, call), lambda what: _mended(context, what))
    try:
        context.files.audit.seal(lambda name: _content(context, Call(AUDIT, f"all before is in {name}", Result.SEALED)))
    except (Unavailable, NotFound) as error:
        events.say(context, "audit.unsealed", None, context.layout.audit_file.name, f"it is large, and was not sealed: {error.message}")


def _mended(context: Context, what: str) -> Mapping[str, Any]:
    events.say(context, "audit.mended", None, context.layout.audit_file.name, what)
    return _content(context, Call(AUDIT, what, Result.MENDED))


def _content(context: Context, call: Call) -> Mapping[str, Any]:
    return {"at_ms": context.now_ms(), **asdict(call)}


@answers(ListAudit)
def in_order(context: Context, question: ListAudit) -> Sequence[AuditLine]:
    with typed_errors(context.layout.audit_file.name), context.files.audit.reading() as (sealed, file):
        fitting = (line for line in _ordered(sealed, file, question) if _fits(line, question))
        return list(islice(fitting, question.limit))


def _ordered(sealed: Sequence[Sealed], file: BinaryIO | None, question: ListAudit) -> Iterator[AuditLine]:
    """What is no line, or cannot be read, is passed over here: `audit verify` names it."""
    for line in _forwards(sealed, file, question) if _is_oldest_first(question) else _backwards(sealed, file, question):
        try:
            yield documents.decode(AuditLine, line, AUDIT)
        except Corrupt:
            continue


def _forwards(sealed: Sequence[Sealed], file: BinaryIO | None, question: ListAudit) -> Iterator[bytes]:
    for each in sealed:
        if each.last > question.before:
            with suppress(Corrupt):
                yield from each.forwards()
    if file is not None:
        yield from lines.forwards_in(file)


def _backwards(sealed: Sequence[Sealed], file: BinaryIO | None, question: ListAudit) -> Iterator[bytes]:
    if file is not None:
        yield from lines.backwards_in(file)
    for each in reversed(sealed):
        if not question.before or each.first < question.before:
            with suppress(Corrupt):
                yield from each.backwards()


def _is_oldest_first(question: ListAudit) -> bool:
    return bool(question.sort and sorted_path(question)) and not question.is_down


def _comes_after(line: AuditLine, question: ListAudit) -> bool:
    """Whether it is not in the lists before."""
    return not question.before or (line.number > question.before if _is_oldest_first(question) else line.number < question.before)


def _fits(line: AuditLine, question: ListAudit) -> bool:
    text = " ".join((line.verb, line.subject, line.result, line.code, line.operation, line.by, line.origin)).casefold()
    return (
        question.verb in ("", line.verb)
        and question.result in (None, line.result)
        and question.actor in ("", line.by, line.token)
        and (question.from_ms is None or line.at_ms >= question.from_ms)
        and (question.to_ms is None or line.at_ms <= question.to_ms)
        and _comes_after(line, question)
        and all(word in text for word in question.text.casefold().split())
    )


@answers(VerifyAudit)
def verify(context: Context, question: VerifyAudit) -> Verified:
    chain = Chain(question.last.strip().casefold())
    with typed_errors(context.layout.audit_file.name), context.files.audit.reading() as (sealed, file):
        for each in sealed:
            chain.begin(each.name)
            try:
                for line in each.forwards():
                    chain.follow(line)
            except Corrupt as error:
                chain.cannot_read(error.message)
        chain.begin("")
        for line in lines.forwards_in(file) if file is not None else ():
            chain.follow(line)
    return chain.end()


@plans(PruneAudit)
def plan_prune(context: Context, change: PruneAudit) -> Planned[AuditPrunePlan, AuditPrunePlan]:
    """Sealed files go whole, each after the audit says so. Raises NotFound (`audit.not_sealed`)."""
    with typed_errors(context.layout.audit_file.name), context.files.audit.reading() as (sealed, _):
        going = [each for each in sealed if each.last <= change.through]
        shown = [SealedEntries(each.name, each.first, each.last, each.path.stat().st_size) for each in going]
    if not going:
        oldest = f": the oldest has entries {sealed[0].first} to {sealed[0].last}" if sealed else ""
        message = f"No sealed file of the audit ends at entry {change.through} or before{oldest}"
        raise NotFound("audit.not_sealed", message, "Entries of audit.jsonl itself stay until it is sealed.")

    def work(_: object) -> AuditPrunePlan:
        for each in going:
            append(context, Call(AUDIT, f"{each.first}-{each.last}", Result.REMOVED, by=context.actor))
            each.path.unlink(missing_ok=True)
        return planned

    planned = AuditPrunePlan(tuple(shown), sum(each.bytes for each in shown))
    return Planned(planned, work)
