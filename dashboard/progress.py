"""How an operation goes on, in words and as HTML: what is done, how much of how much, how fast, how long it will still take. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from dashboard import formats
from dashboard.trust import DAMAGED
from dashboard.widgets import Tone, chip
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.domain.trust import Trust

WINDOW_MS = 10_000
"""A rate is that of the last ten seconds."""
SETTLED_MS = 900
"""Younger than this, a rate would jump about; nothing is said of it yet."""

DIAGNOSE = "diagnose"
VERBS: dict[str, tuple[str, str]] = {
    "take": ("Taking a savepoint of", "Took a savepoint of"),
    "fork": ("Forking", "Forked"),
    "resume": ("Resuming", "Resumed"),
    "stop": ("Stopping", "Stopped"),
    "cancel": ("Cancelling", "Cancelled at once"),
    "verify": ("Verifying", "Verified"),
    "prove": ("Proving", "Proved"),
    DIAGNOSE: ("Examining", "Examined"),
    "export": ("Exporting", "Exported"),
    "import": ("Importing", "Imported"),
    "read": ("Reading the state of", "Read the state of"),
    "promote": ("Promoting", "Promoted"),
    "drop": ("Dropping", "Dropped"),
}
"""Kind of an operation -> what it does, what it has done."""
MAKES = ("take", "fork", "resume", "export", "import")
"""Kinds of which nothing is left where they are cancelled."""
CHECKS = ("verify", "prove")
"""Kinds whose result is a level of trust, or that damage was found."""


@dataclass(frozen=True)
class Sample:
    """How much of a step was done at a moment (epoch ms)."""

    at_ms: float
    step: str
    done: int


def title(operation: Operation) -> str:
    """`Verifying sp-1a2b3c4d of post_engagement`."""
    doing, _ = VERBS.get(operation.kind, (operation.kind.capitalize(), operation.kind.capitalize()))
    return " ".join(filter(None, (doing, subject(operation))))


def subject(operation: Operation) -> str:
    """What an operation works on: `sp-1a2b3c4d of post_engagement`, a URL, or the job; of a fork and a resume, also what it begins."""
    if not operation.subject:
        return operation.job
    if operation.kind == "fork":
        return f"{formats.short_id(operation.subject)} as {operation.job}"
    if operation.kind == "resume":
        return f"{operation.job} from {formats.short_id(operation.subject)}"
    if not operation.subject.startswith("sp-"):
        return operation.subject
    return f"{formats.short_id(operation.subject)}{f' of {operation.job}' if operation.job else ''}"


def sampled(before: Sequence[Sample], amount: Amount | None, now_ms: float) -> tuple[Sample, ...]:
    """The samples of the present step, the newest last, none older than the window but one."""
    if amount is None:
        return ()
    same = [one for one in before if one.step == amount.step and one.done <= amount.done]
    inside = [one for one in same if now_ms - one.at_ms <= WINDOW_MS]
    return (*(inside or same[-1:]), Sample(now_ms, amount.step, amount.done))


def rate(samples: Sequence[Sample]) -> float | None:
    """Units a second over the samples; None while too little was seen."""
    if len(samples) < 2 or samples[-1].at_ms - samples[0].at_ms < SETTLED_MS:
        return None
    return (samples[-1].done - samples[0].done) / (samples[-1].at_ms - samples[0].at_ms) * 1_000


def share(amount: Amount | None) -> float | None:
    """How much of the step is done, from 0 to 1; None while nobody knows how much there is."""
    return None if amount is None or amount.total <= 0 else min(1.0, amount.done / amount.total)


def how_much(amount: Amount) -> str:
    """`1.2 GB of 3.0 GB`, `12 of 40 files`; what is done alone where the whole is not known."""
    if amount.unit == "bytes":
        return f"{formats.size(amount.done)} of {formats.size(amount.total)}" if amount.total else formats.size(amount.done)
    return f"{amount.done:,} of {amount.total:,} {amount.unit}" if amount.total else f"{amount.done:,} {amount.unit}"


def words(operation: Operation, samples: Sequence[Sample], now_ms: float) -> list[str]:
    """The line below the title: step, how much, rate, time left."""
    amount = operation.amount
    if amount is None:
        return [_waiting(operation), f"asked {formats.ago(operation.created_ms, now_ms)}"]
    said = [amount.step]
    if amount.done or amount.total:
        said.append(how_much(amount))
    pace = rate(samples)
    if pace:
        said.append(f"{formats.size(pace)}/s" if amount.unit == "bytes" else f"{formats.compact(pace)} {amount.unit}/s")
        if amount.total > amount.done:
            said.append(f"{formats.left((amount.total - amount.done) / pace * 1_000)} left")
    else:
        said.append(f"begun {formats.ago(operation.created_ms, now_ms)}")
    return said


def _waiting(operation: Operation) -> str:
    return "at the next batch boundary" if operation.kind == "stop" else "in the middle of its batch" if operation.kind == "cancel" else ""


def outcome(operation: Operation) -> str:
    """What has come of it, in a sentence's beginning; a failure is its error's message."""
    _, done = VERBS.get(operation.kind, ("", operation.kind.capitalize()))
    about = subject(operation)
    if operation.state is OperationState.FAILED:
        return operation.error_message
    if operation.state is OperationState.CANCELLED:
        doing, _ = VERBS.get(operation.kind, (operation.kind.capitalize(), ""))
        return f"{doing} {about} was cancelled"
    if damaged(operation):
        return f"{about} is damaged"
    if operation.kind == "prove" and operation.result != Trust.PROVED:
        return f"{about} is not proved, but {operation.result}: its proof says why"
    if operation.kind in CHECKS:
        return f"{done} {about}: {operation.result}"
    if operation.kind == DIAGNOSE:
        return f"{done} {about}: nothing is damaged"
    if operation.kind == "import":
        return f"Imported {operation.result or about}"
    return f"{done} {about} to {operation.result}" if operation.kind == "export" and operation.result else f"{done} {about}"


def damaged(operation: Operation) -> bool:
    """Whether a look that is done found damage, or reached no level."""
    return operation.state is OperationState.DONE and operation.kind in (*CHECKS, DIAGNOSE) and operation.result in ("", DAMAGED)


def bar(operation: Operation, samples: Sequence[Sample], now_ms: float) -> str:
    """Title, line and bar of one that runs, as HTML; without a known whole the bar only shows that it goes on."""
    named, done = escape(title(operation)), share(operation.amount)
    said = "".join(f"<span>{escape(one)}</span>" for one in words(operation, samples, now_ms) if one)
    filled, value, percent, unknown = "<i></i>", "", "", " unknown"
    if done is not None:
        filled, percent, unknown = f'<i style="width:{100 * done:.1f}%"></i>', f"<b>{100 * done:.0f} %</b>", ""
        value = f' aria-valuenow="{100 * done:.0f}" aria-valuemin="0" aria-valuemax="100"'
    head = f'<div class="tm-operation-head"><strong>{named}</strong><div class="tm-line">{said}</div>{percent}</div>'
    drawn = f'<div class="tm-bar{unknown}" role="progressbar" aria-label="{named}"{value}>{filled}</div>'
    return f'<div class="tm-operation" data-testid="operation-{operation.kind}">{head}{drawn}</div>'


def ending(operation: Operation) -> str:
    """What came of one that has ended, as HTML: a failure says what, why and what to do."""
    label, tone = _label(operation)
    failed = operation.state is OperationState.FAILED
    said = f"{title(operation)} failed: {operation.error_message}" if failed else outcome(operation)
    tag = chip(operation.error_code, "red", mono=True) if failed else ""
    undone = operation.state is OperationState.CANCELLED and operation.kind in MAKES
    more = operation.error_hint if failed else "What it had made was removed." if undone else ""
    note = f"<p>{escape(more)}</p>" if more else ""
    head = f'<div class="tm-operation-head">{chip(label, tone, dot=True)}<strong>{escape(said)}</strong>{tag}</div>'
    return f'<div class="tm-operation" role="{"alert" if failed else "status"}" data-testid="ended-{operation.kind}">{head}{note}</div>'


def _label(operation: Operation) -> tuple[str, Tone]:
    if operation.state is OperationState.FAILED:
        return "failed", "red"
    if operation.state is OperationState.CANCELLED:
        return "cancelled", "gray"
    if damaged(operation):
        return DAMAGED, "red"
    return ("not proved", "orange") if operation.kind == "prove" and operation.result != Trust.PROVED else ("done", "green")
