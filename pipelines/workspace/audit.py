"""The audit of a workspace, `audit.jsonl`: written by `pipelines.verbs.limited` and where operations end, read by its questions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from pipelines.domain.audit import AuditLine, Call, Result, Verified, verified, without_secrets
from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.domain.operations import Operation, OperationState
from pipelines.storage import documents, lines
from pipelines.storage.errors import typed_errors
from pipelines.verbs.audit import ListAudit, VerifyAudit
from pipelines.verbs.listing import sorted_path
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

log = logging.getLogger("tidemark.audit")
AUDIT = "audit"
ENDS = {OperationState.DONE: Result.DONE, OperationState.FAILED: Result.FAILED, OperationState.CANCELLED: Result.CANCELLED}


def record(context: Context, call: Call) -> None:
    """Writes a call down. It is done by then: where the disk takes nothing, the line is lost, and the next one says how many were."""
    try:
        lost = context.files.audit.lost
        if lost:
            _append(context, Call(AUDIT, f"{lost} lines could not be written", Result.MENDED))
            context.files.audit.lost -= lost
        _append(context, call)
    except (Unavailable, NotFound) as error:
        context.files.audit.lost += 1
        log.error("the audit lacks a line: %s of %s by %s, %s (%s)", call.verb, call.subject, call.by, call.result, error.message)


def ended(context: Context, operation: Operation) -> None:
    """Writes the end of an operation down; nothing while it runs."""
    if operation.state in ENDS:
        result = ENDS[operation.state]
        about = " ".join(filter(None, (operation.job, without_secrets(operation.subject))))
        record(context, Call(operation.kind, about, result, operation.error_code, operation.id, context.actor))


def mend(context: Context) -> None:
    """Takes away what a kill left of a last line, and says so in the audit and in the events. A file that cannot be written is an event:
    the workspace opens."""
    try:
        context.files.audit.mend(lambda size: _torn(context, size))
    except (Unavailable, NotFound) as error:
        events.say(context, "audit.failed", None, context.layout.audit_file.name, error.message)


def _append(context: Context, call: Call) -> None:
    context.files.check()
    context.files.audit.append(_content(context, call), lambda size: _torn(context, size))


def _torn(context: Context, size: int) -> Mapping[str, Any]:
    what = f"{size} bytes of a line that was never whole were taken away"
    events.say(context, "audit.mended", None, context.layout.audit_file.name, what)
    return _content(context, Call(AUDIT, what, Result.MENDED))


def _content(context: Context, call: Call) -> Mapping[str, Any]:
    return {"at_ms": context.now_ms(), **asdict(call)}


@answers(ListAudit)
def in_order(context: Context, question: ListAudit) -> Sequence[AuditLine]:
    fitting = (line for line in _ordered(context, question) if _fits(line, question))
    with typed_errors(context.layout.audit_file.name):
        return list(islice(fitting, question.limit))


def _ordered(context: Context, question: ListAudit) -> Iterator[AuditLine]:
    """What is no line is passed over here: `audit verify` names it."""
    read = lines.forwards if _is_oldest_first(question) else lines.backwards
    for line in read(context.layout.audit_file):
        try:
            yield documents.decode(AuditLine, line, AUDIT)
        except Corrupt:
            continue


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
    with typed_errors(context.layout.audit_file.name):
        return verified(lines.forwards(context.layout.audit_file), question.last.strip().casefold())
