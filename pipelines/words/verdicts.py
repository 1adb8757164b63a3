"""Verdicts in words: what becomes of the state, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.verdicts import Outcome, Part, Verdict

OPERATORS: Mapping[str, str] = {
    "stateStoreSave": "aggregation",
    "sessionWindowStateStoreSaveExec": "session windows",
    "symmetricHashJoin": "join",
    "dedupe": "deduplication",
    "dedupeWithinWatermark": "deduplication within the watermark",
    "globalLimit": "limit",
    "applyInPandasWithState": "applyInPandasWithState",
    "transformWithStateInPySparkExec": "transformWithState",
}
"""Spark's name of a stateful operator -> the field's."""
SENTENCES: Mapping[Outcome, str] = {
    Outcome.SAME: "The state fits and means the same.",
    Outcome.PARTLY_KEPT: "It starts, and a part of the state is dropped.",
    Outcome.CHANGED_MEANING: "It starts, but what the state means changes.",
    Outcome.CANNOT_TELL: "Spark takes it, as far as was planned; nothing proves that the state means the same.",
    Outcome.NEEDS_REWRITING: "Spark refuses this state at the first batch: it would have to be rewritten.",
    Outcome.CANNOT_START: "It does not start on this state.",
}

VARIES = "Depends on the clock or on chance, so that a replay differs by itself"


def subject(part: Part) -> str:
    """`counts, operator 0 (aggregation)`, or the query alone."""
    if part.operator is None:
        return part.query
    return f"{part.query}, operator {part.operator} ({OPERATORS.get(part.name, part.name)})"


def lines(verdict: Verdict) -> list[str]:
    """The whole, then each part with its reasons and what would help, then what varies."""
    parts = [line for part in verdict.parts for line in _part(part)]
    varies = [f"{VARIES}: {', '.join(verdict.varies)}."] if verdict.varies else []
    return [f"{verdict.outcome}: {SENTENCES[verdict.outcome]}", *parts, *varies]


def _part(part: Part) -> list[str]:
    return [f"{subject(part)}: {part.outcome}", *(f"  {reason}" for reason in part.reasons), *([f"  {part.hint}"] if part.hint else [])]
