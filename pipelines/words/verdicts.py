"""Verdicts in words: what becomes of the state, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from pipelines.domain.changed_meanings import ChangedMeaning
from pipelines.domain.plan_differences import PlanDifference
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part, Verdict
from pipelines.words import operators

SENTENCES: Mapping[Outcome, str] = {
    Outcome.SAME: "The state fits and means the same.",
    Outcome.PARTLY_KEPT: "A part of the state is dropped: it starts once that is accepted, by its name.",
    Outcome.CHANGED_MEANING: "It starts, but what the state means changes.",
    Outcome.CANNOT_TELL: "Spark takes it, as far as was planned; nothing proves that the state means the same.",
    Outcome.NEEDS_REWRITING: "Spark refuses this state at the first batch, or takes it for what it is not: it would have to be rewritten.",
    Outcome.CANNOT_START: "It does not start on this state.",
}

SAME_STATE = "its state is computed as before, and what differs is what it puts out, or how that is written"
NEW_QUERIES = "Begins without state, because the code before does not start it"
CHECKED = "code.checked"
"""The kind of event."""
VARIES = "Depends on the clock or on chance, so that a replay differs by itself"


def subject(part: Part | ChangedMeaning) -> str:
    """`counts, operator 0 (aggregation)`, or the query alone."""
    if part.operator is None:
        return part.query
    return f"{part.query}, operator {part.operator} ({operators.kind(part.name)})"


def operator(plan: OperatorPlan | None, none: str) -> str:
    """`operator 0 (aggregation)`, or `none`."""
    return f"operator {plan.operator} ({operators.kind(plan.name)})" if plan is not None else none


def alone(pair: OperatorPair) -> str:
    """What becomes of an operator that has none beside it."""
    if pair.is_unclear:
        return "may be another's"
    return "begins empty" if pair.before is None else "is dropped"


def side_by_side(pair: OperatorPair) -> list[tuple[str, str, str]]:
    """(what, before, now): what both operators do; a line that both have stands beside itself."""
    before, after = ([(fact.what, fact.text) for fact in plan.facts] if plan is not None else [] for plan in (pair.before, pair.after))
    rows: list[tuple[str, str, str]] = []
    for what in dict.fromkeys(name for name, _ in (*before, *after)):
        old, new = ([text for name, text in facts if name == what] for facts in (before, after))
        rows += [(what, text, text) for text in old if text in new]
        apart = [text for text in old if text not in new], [text for text in new if text not in old]
        rows += [(what, was, now) for was, now in zip_longest(*apart, fillvalue="")]
    return rows


def keeps_same_state(verdict: Verdict | PlanDifference, pair: OperatorPair) -> bool:
    """Whether the state of a pair is the same, whatever of its lines differs: Spark may put out more of the same state."""
    at = pair.after.operator if pair.after is not None else None
    outcomes = {(part.query, part.operator): part.outcome for part in verdict.parts}
    return pair.before is not None and at is not None and outcomes.get((pair.query, at)) is Outcome.SAME


def plans(verdict: Verdict | PlanDifference) -> list[str]:
    """The operators that differ, and what they do otherwise: `counts: operator 0 (aggregation) goes on as operator 1 (aggregation)`."""
    made = []
    for pair in verdict.operators:
        was, now = operator(pair.before, ""), operator(pair.after, "")
        apart = [(what, old or "nothing more", new or "nothing of it") for what, old, new in side_by_side(pair) if old != new]
        if was != now or apart:
            goes = f"{was} goes on as {now}" if was and now else f"{was or now} {alone(pair)}"
            same = f": {SAME_STATE}" if apart and keeps_same_state(verdict, pair) else ""
            made += [f"{pair.query}: {goes}{same}", *(f"  {what}: {old} before, {new} now" for what, old, new in apart)]
    return made


def lines(verdict: Verdict | PlanDifference) -> list[str]:
    """The whole, each part with its reasons and what would help, the plans of both codes, and what varies."""
    parts = [line for part in verdict.parts for line in _part(part)]
    new = verdict.new_queries if isinstance(verdict, PlanDifference) else ()
    begins = [f"{NEW_QUERIES}: {', '.join(new)}."] if new else []
    varies = [f"{VARIES}: {', '.join(verdict.varies)}."] if verdict.varies else []
    return [f"{verdict.outcome}: {SENTENCES[verdict.outcome]}", *parts, *plans(verdict), *begins, *varies]


def told(verdict: Verdict) -> str:
    """The whole in one sentence, with the reasons of the first part of that outcome."""
    reason = next((f"{subject(part)}: {'; '.join(part.reasons)}" for part in verdict.parts if part.outcome is verdict.outcome), "")
    return f"the verdict on its code is {verdict.outcome.value!r}. {reason}".rstrip()


def _part(part: Part) -> list[str]:
    return [f"{subject(part)}: {part.outcome}", *(f"  {reason}" for reason in part.reasons), *([f"  {part.hint}"] if part.hint else [])]
