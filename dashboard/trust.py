"""The trust in a savepoint as badges: each level with the time when it was reached, or the damage. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.widgets import Tone, chip
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust, Verification
from pipelines.words import formats

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
    """Each level with the time when it was reached; a savepoint is complete from its creation on."""
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
    return (
        '<span class="tm-levels" role="group" aria-label="Trust">'
        f"{''.join(_badge(level, known.get(level), now_ms) for level in Trust)}</span>"
    )


def _badge(level: Trust, at_ms: int | None, now_ms: float) -> str:
    says, tone = LEVELS[level]
    if at_ms is None:
        return f'<span class="tm-chip tm-not" title="Not {level}. {says}: not checked yet.">{level}</span>'
    ago = formats.ago(at_ms, now_ms)
    hint = f"{says}. {formats.exact(at_ms)}"
    return f'<span class="tm-chip {tone}" title="{hint}"><span class="tm-check"></span>{level}<span class="tm-ago">{ago}</span></span>'


def verdict(verification: Verification) -> tuple[str, str, Tone]:
    """The outcome of a verification: a title, a sentence, a tone."""
    read = f"{formats.plural(verification.files, 'file')}, {formats.size(verification.bytes)}."
    if verification.damages:
        return (
            f"{formats.plural(len(verification.damages), 'file')} not as they should be",
            "It is not restored as long as they are.",
            "red",
        )
    if verification.reached is not verification.asked:
        why = (
            verification.proof.note
            if verification.proof and verification.proof.note
            else "Nothing is damaged, but the level was not reached."
        )
        return f"Not {verification.asked}: {verification.reached or 'no level'} was reached", why, "orange"
    sealed = " Its checksums were computed just now, for the next time." if verification.sealed_ms == verification.at_ms else ""
    return f"Verified: {verification.reached}", f"{read}{sealed}", "green"
