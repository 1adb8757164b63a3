"""How far a savepoint is trusted, as badges: each level with when it was reached, or that damage was found. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard import formats
from dashboard.widgets import Tone, chip
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust, Verification

DAMAGED = "damaged"
LEVELS: Mapping[str, tuple[str, Tone]] = {
    Trust.COMPLETE: ("Every file is there with its size", "gray"),
    Trust.INTACT: ("Every checksum is right", "blue"),
    Trust.PROVED: ("Spark restored it, counted its rows and ran a batch", "green"),
    DAMAGED: ("The last verification found damaged files; it is not restored", "red"),
}
"""Badge -> what it says, its tone."""
ORIGINS: Mapping[Reason, str] = {
    Reason.MANUAL: "by hand",
    Reason.STOP: "stop",
    Reason.BEFORE_RESUME: "before a resume",
    Reason.BEFORE_UPGRADE: "before an upgrade",
    Reason.REWIND: "rewind",
    Reason.SCHEDULED: "scheduled",
    Reason.IMPORTED: "imported",
}
"""Why a savepoint was taken, as lists say it."""
ORIGIN_HINTS: Mapping[Reason, str] = {
    Reason.MANUAL: "Somebody, or a command, asked for it",
    Reason.STOP: "Taken when the job was stopped",
    Reason.BEFORE_RESUME: "The point that a resume left, kept so that nothing is lost",
    Reason.BEFORE_UPGRADE: "The last point of the version that an upgrade left",
    Reason.REWIND: "The batch that a resume went back to",
    Reason.SCHEDULED: "Taken by a schedule",
    Reason.IMPORTED: "Brought in from elsewhere; its manifest says why it was taken there",
}


def level_of(savepoint: Savepoint) -> str:
    """The badge of a savepoint: the highest level it reached, or that it is damaged."""
    return DAMAGED if savepoint.damaged_files else str(savepoint.trust)


def reached(savepoint: Savepoint) -> Mapping[Trust, int]:
    """Each level with when it was reached; one just taken is complete from its beginning on."""
    if savepoint.damaged_files:
        return {}
    return {Trust.COMPLETE: savepoint.created_ms, **savepoint.levels}


def badges(savepoint: Savepoint, now_ms: float) -> str:
    """All three levels as HTML: those reached in their colour with when, the others as outlines; or the damage, in red."""
    if savepoint.damaged_files:
        files = formats.plural(savepoint.damaged_files, "damaged file")
        checked = f", found {formats.ago(savepoint.verified_ms, now_ms)}" if savepoint.verified_ms else ""
        return chip(DAMAGED, "red", dot=True, hint=f"{files}{checked}; it is not restored")
    known = reached(savepoint)
    return f'<span class="tm-levels" role="group" aria-label="Trust">{"".join(_badge(one, known.get(one), now_ms) for one in Trust)}</span>'


def _badge(level: Trust, at_ms: int | None, now_ms: float) -> str:
    says, tone = LEVELS[level]
    if at_ms is None:
        return f'<span class="tm-chip tm-not" title="Not {level}. {says}: not checked yet.">{level}</span>'
    ago = formats.ago(at_ms, now_ms)
    hint = f"{says}. {formats.exact(at_ms)}"
    return f'<span class="tm-chip {tone}" title="{hint}"><span class="tm-check"></span>{level}<span class="tm-ago">{ago}</span></span>'


def said(found: Verification) -> tuple[str, str, Tone]:
    """What a verification came to: a title, a sentence, a tone."""
    read = f"{formats.plural(found.files, 'file')}, {formats.size(found.bytes)}."
    if found.damages:
        return f"{formats.plural(len(found.damages), 'file')} not as they should be", "It is not restored as long as they are.", "red"
    if found.reached is not found.asked:
        why = found.proof.note if found.proof and found.proof.note else "Nothing is damaged, but the level was not reached."
        return f"Not {found.asked}: {found.reached or 'no level'} was reached", why, "orange"
    sealed = " Its checksums were computed just now, for the next time." if found.sealed_ms == found.at_ms else ""
    return f"Verified: {found.reached}", f"{read}{sealed}", "green"
