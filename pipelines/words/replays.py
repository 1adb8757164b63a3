"""Replays in words: what came of one, part by part."""

from __future__ import annotations

from pipelines.domain.replays import Kind, Outcome, Replay, ReplayedPart
from pipelines.words import formats, lockstep

SIDES = ("the job's own", "the replay's")


def sentence(replay: Replay) -> str:
    """The whole: `12 batches of a were replayed: all that was compared is equal.`"""
    batches = f"{formats.plural(replay.batches, 'batch', 'batches')} of {replay.job}"
    if replay.outcome is Outcome.FAILED:
        why = "the server ended meanwhile" if replay.is_interrupted else "the code failed"
        return f"Of {batches} not all were replayed: {why}."
    read = f"{batches} replayed"
    if replay.outcome is Outcome.EQUAL:
        return f"{read}: all that was compared is equal."
    apart = [part.title for part in replay.parts if part.outcome is Outcome.DIFFERENT]
    return f"{read}: different in the {', the '.join(apart)}."


def lines(part: ReplayedPart) -> list[str]:
    """A part: its outcome with its rows, and the first batch that differs."""
    if part.outcome is Outcome.NOT_COMPARED:
        return [f"{part.title}: {part.outcome.value}"]
    by = f" by {', '.join(part.keys)}" if part.keys else ""
    counts = [(part.changed, f"changed{by}"), (part.only_a, "only in the job's own"), (part.only_b, "only in the replay's")]
    counted = "rows" if part.kind is Kind.OUTPUT else "keys"
    odd = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return [
        f"{part.title}: {part.outcome.value}, {part.equal:,} {counted} equal{f', {odd}' if odd else ''}",
        *([where(part)] if where(part) else []),
    ]


def where(part: ReplayedPart) -> str:
    """The first batch whose rows part, as far as batches can be told apart; empty where nothing can be said."""
    if part.outcome is not Outcome.DIFFERENT or part.since is None:
        return ""
    if part.first is not None:
        at = lockstep.key(part.first_keys, part.first_examples, SIDES)
        return f"The first batch whose rows differ is {part.first:,}{f', {at}' if at else ''}."
    return f"The rows differ before batch {part.since:,}, where batches cannot be told apart any more."
