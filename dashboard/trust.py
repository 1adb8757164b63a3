"""The trust in a savepoint as badges: each level with the time when it was reached, or the damage."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard import session
from dashboard.widgets import Tone, chip
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.words import formats
from pipelines.words.trust import DAMAGED, LEVELS, reached

TONES: Mapping[str, Tone] = {Trust.COMPLETE: "gray", Trust.INTACT: "blue", Trust.PROVED: "green", DAMAGED: "red"}
"""Badge -> its tone."""


def badges(savepoint: Savepoint, now_ms: float) -> str:
    """All three levels as HTML: those reached in their colour with when, the others as outlines; or the damage, in red."""
    if savepoint.damaged_files:
        files = formats.plural(savepoint.damaged_files, "damaged file")
        checked = f", found {formats.ago(savepoint.verified_ms, now_ms)}" if savepoint.verified_ms else ""
        return chip(DAMAGED, "red", dot=True, hint=f"{files}{checked}; nothing is restored from it")
    known = reached(savepoint)
    return (
        '<span class="tm-levels" role="group" aria-label="Trust">'
        f"{''.join(_badge(level, known.get(level), now_ms) for level in Trust)}</span>"
    )


def _badge(level: Trust, at_ms: int | None, now_ms: float) -> str:
    says, tone = LEVELS[level], TONES[level]
    if at_ms is None:
        return f'<span class="tm-chip tm-not" title="Not {level}. {says}: not checked yet.">{level}</span>'
    ago = formats.ago(at_ms, now_ms)
    hint = f"{says}. {formats.exact(at_ms, session.zone())}"
    return f'<span class="tm-chip {tone}" title="{hint}"><span class="tm-check"></span>{level}<span class="tm-ago">{ago}</span></span>'
