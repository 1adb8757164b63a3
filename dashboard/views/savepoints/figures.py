"""Key figures of all savepoints: what is not saved of late, not proved, damaged, and what they take."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard import navigation, session
from dashboard.key_figures import KeyFigure
from dashboard.views.savepoints.filters import past
from dashboard.widgets import Tone
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import Space
from pipelines.domain.trust import Trust
from pipelines.words import formats
from pipelines.words.savepoints import ON_DISK, SIZE_HINTS
from pipelines.words.trust import best


def figures(every: Sequence[Savepoint], space: Space | None, now_ms: float) -> list[KeyFigure]:
    """The figures that somebody may have to act on first, then sizes; `every` is newest first and not empty."""
    jobs = len({savepoint.job for savepoint in every})
    return [
        KeyFigure("Savepoints", formats.count(len(every)), note=f"of {formats.plural(jobs, 'job')}"),
        _longest_ago(every, now_ms),
        _verified(every),
        _damaged(every),
        *_past(every, now_ms),
        *(_sizes(space) if space else (_measured(every),)),
    ]


def newest_of_each(every: Sequence[Savepoint]) -> list[Savepoint]:
    """The newest savepoint of each job."""
    newest: dict[str, Savepoint] = {}
    for savepoint in every:
        if savepoint.job not in newest or savepoint.created_ms > newest[savepoint.job].created_ms:
            newest[savepoint.job] = savepoint
    return list(newest.values())


def _longest_ago(every: Sequence[Savepoint], now_ms: float) -> KeyFigure:
    """The job whose newest savepoint is the oldest: it would lose most."""
    oldest = min(newest_of_each(every), key=lambda savepoint: savepoint.created_ms)
    hint = f"Of all jobs that have savepoints, {oldest.job}'s newest one is the oldest: {formats.exact(oldest.created_ms, session.zone())}"
    href = navigation.href("job", job=oldest.job)
    return KeyFigure("Longest unsaved", _since(oldest.created_ms, now_ms), note=oldest.job, hint=hint, href=href)


def _since(at_ms: int, now_ms: float) -> str:
    return formats.ago(at_ms, now_ms).removesuffix(" ago")


def _verified(every: Sequence[Savepoint]) -> KeyFigure:
    """The jobs whose newest savepoint nobody has proved."""
    newest = newest_of_each(every)
    unproved = [savepoint for savepoint in newest if best(savepoint) != Trust.PROVED]
    sound = sum(best(savepoint) in (Trust.INTACT, Trust.PROVED) for savepoint in every)
    hint = (
        "Jobs whose newest savepoint Spark has not restored in the sandbox yet. Verified: every checksum was right (intact), or Spark has "
        "restored it and run a batch (proved). The others are complete: nobody has read them again."
    )
    tone: Tone | None = None if unproved else "green"
    return KeyFigure(
        "Newest not proved", f"{len(unproved):,} / {len(newest):,}", note=f"{sound:,} of {len(every):,} verified", tone=tone, hint=hint
    )


def _damaged(every: Sequence[Savepoint]) -> KeyFigure:
    damaged = [savepoint for savepoint in every if savepoint.damaged_files]
    tone: Tone | None = "red" if damaged else None
    note = formats.short_id(damaged[0].id) if len(damaged) == 1 else "found by the last verification"
    return KeyFigure(
        "Damaged",
        formats.count(len(damaged)),
        note=note,
        tone=tone,
        hint="Savepoints whose last verification found damage; nothing starts from them",
    )


def _past(every: Sequence[Savepoint], now_ms: float) -> list[KeyFigure]:
    over = sum(past(savepoint, now_ms) for savepoint in every)
    return [KeyFigure("Past best before", formats.count(over), note="may be disposed of", tone="orange")] if over else []


def _measured(every: Sequence[Savepoint]) -> KeyFigure:
    """The key figure that is shown while disk space is measured."""
    files = formats.plural(sum(savepoint.files for savepoint in every), "file")
    return KeyFigure(
        ON_DISK,
        "measuring …",
        note=f"counting the links of {files}",
        hint=SIZE_HINTS[ON_DISK],
    )


def _sizes(space: Space) -> list[KeyFigure]:
    hint = f"{SIZE_HINTS[ON_DISK]}. As separate copies they would take {formats.size(space.full_bytes)}, the sum of their full sizes."
    return [
        KeyFigure(ON_DISK, formats.size(space.disk_bytes), note=f"of {formats.size(space.full_bytes)} full size", hint=hint),
        KeyFigure("Deleting all", formats.size(space.frees_bytes), note="would be freed", hint="The rest is in live checkpoints too"),
    ]
