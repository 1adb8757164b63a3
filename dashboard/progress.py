"""The progress of an operation in words and as HTML: what is done, how much of how much, how fast, time left. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dashboard.widgets import Tone, chip
from pipelines.domain.operations import DAMAGED, SOUND, Operation, OperationState
from pipelines.verbs import kinds
from pipelines.verbs.verb import Kind
from pipelines.words import formats, pace, trust
from pipelines.words.pace import Sample

NOTHING_DAMAGED = "nothing is damaged"


def kind_of(operation: Operation) -> Kind:
    """The kind of an operation in words; a kind that only a newer server knows keeps its raw name."""
    named = operation.kind.capitalize()
    return kinds().get(operation.kind, Kind(named, named))


def title(operation: Operation) -> str:
    """`Verifying sp-1a2b3c4d of post_engagement`."""
    return " ".join(filter(None, (kind_of(operation).doing, subject(operation))))


def subject(operation: Operation) -> str:
    """The subject of an operation: `sp-1a2b3c4d of post_engagement`, a URL, or a job; for a fork and a resume, also the job that begins."""
    if not operation.subject:
        return operation.job
    if not operation.subject.startswith("sp-"):
        return operation.subject
    savepoint = formats.short_id(operation.subject)
    return kind_of(operation).about.format(subject=savepoint, job=operation.job) if operation.job else savepoint


def words(operation: Operation, samples: Sequence[Sample], now_ms: float) -> list[str]:
    """The line below the title: step, how much, rate, time left."""
    amount = operation.amount
    if amount is None:
        return [kind_of(operation).waits, f"asked {formats.ago(operation.created_ms, now_ms)}"]
    parts = filter(None, [amount.step, pace.how_much(amount)])
    return [*parts, *(pace.how_fast(amount, samples) or [f"begun {formats.ago(operation.created_ms, now_ms)}"])]


def outcome(operation: Operation) -> str:
    """The outcome of an ended operation in one sentence, without a full stop; for a failure its error message."""
    kind, about = kind_of(operation), subject(operation)
    if operation.state is OperationState.FAILED:
        return operation.error_message
    if operation.state is OperationState.CANCELLED:
        return f"{kind.doing} {about} was cancelled"
    if damaged(operation):
        return f"{about} is damaged"
    if is_short_of(operation):
        return f"{trust.shortfall(about, operation.result, kind.reaches)}: its proof says why"
    result = NOTHING_DAMAGED if operation.result == SOUND else operation.result
    return (kind.outcome if result else Kind.outcome).format(done=kind.done, about=about, result=result)


def damaged(operation: Operation) -> bool:
    """Whether a check that is done found damage, or reached no level."""
    reached_none = kind_of(operation).checks and not operation.result
    return operation.state is OperationState.DONE and (operation.result == DAMAGED or reached_none)


def is_short_of(operation: Operation) -> bool:
    """Whether a check that is done reached less than its level."""
    return kind_of(operation).reaches not in ("", operation.result)


def bar(operation: Operation, samples: Sequence[Sample], now_ms: float) -> str:
    """Title, line and bar of one that runs, as HTML; without a known whole the bar only shows that it goes on."""
    named, done = escape(title(operation)), pace.share(operation.amount)
    line = "".join(f"<span>{escape(part)}</span>" for part in words(operation, samples, now_ms) if part)
    filled, value, percent, unknown = "<i></i>", "", "", " unknown"
    if done is not None:
        filled, percent, unknown = f'<i style="width:{100 * done:.1f}%"></i>', f"<b>{100 * done:.0f} %</b>", ""
        value = f' aria-valuenow="{100 * done:.0f}" aria-valuemin="0" aria-valuemax="100"'
    head = f'<div class="tm-operation-head"><strong>{named}</strong><div class="tm-line">{line}</div>{percent}</div>'
    drawn = f'<div class="tm-bar{unknown}" role="progressbar" aria-label="{named}"{value}>{filled}</div>'
    return f'<div class="tm-operation" data-testid="operation-{operation.kind}">{head}{drawn}</div>'


def ending(operation: Operation) -> str:
    """An ended operation as HTML: its outcome; for a failure the error, its code and what to do."""
    label, tone = _label(operation)
    failed = operation.state is OperationState.FAILED
    sentence = f"{title(operation)} failed: {operation.error_message}" if failed else outcome(operation)
    tag = chip(operation.error_code, "red", mono=True) if failed else ""
    undone = operation.state is OperationState.CANCELLED and kind_of(operation).makes
    more = operation.error_hint if failed else "What it had made was removed." if undone else ""
    note = f"<p>{escape(more)}</p>" if more else ""
    head = f'<div class="tm-operation-head">{chip(label, tone, dot=True)}<strong>{escape(sentence)}</strong>{tag}</div>'
    return f'<div class="tm-operation" role="{"alert" if failed else "status"}" data-testid="ended-{operation.kind}">{head}{note}</div>'


def _label(operation: Operation) -> tuple[str, Tone]:
    if operation.state is OperationState.FAILED:
        return "failed", "red"
    if operation.state is OperationState.CANCELLED:
        return "cancelled", "gray"
    if damaged(operation):
        return trust.DAMAGED, "red"
    return (f"not {kind_of(operation).reaches}", "orange") if is_short_of(operation) else ("done", "green")
