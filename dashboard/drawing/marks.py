"""Marks across a job's charts: savepoints, counted where they stand on each other, versions, restarts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dashboard.drawing.figures import TimeMark
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Savepoint
from pipelines.words import formats
from pipelines.words.savepoints import points

COINCIDE = 0.008
"""Marks that are nearer than this part of the shown span are drawn as one."""
NAMED = 4


def savepoint_words(savepoint: Savepoint) -> str:
    """`sp-1a2b3c4d · batch 641 · before ads`."""
    label = f" · {savepoint.label}" if savepoint.label else ""
    return f"{formats.short_id(savepoint.id)} · {points(savepoint)}{label}"


def counted(marks: Sequence[TimeMark], span: tuple[float, float] | None) -> tuple[TimeMark, ...]:
    """The marks, with those of savepoints that coincide drawn as one, which says how many they are."""
    saved = sorted((mark for mark in marks if mark.kind == "savepoint"), key=lambda mark: mark.at_ms)
    others = tuple(mark for mark in marks if mark.kind != "savepoint")
    ends = span or ((saved[0].at_ms, saved[-1].at_ms) if saved else (0.0, 0.0))
    return (*others, *(_together(group) for group in _near(saved, COINCIDE * (ends[1] - ends[0]))))


def _near(saved: Sequence[TimeMark], within_ms: float) -> Iterator[list[TimeMark]]:
    group: list[TimeMark] = []
    for mark in saved:
        if group and mark.at_ms - group[0].at_ms > within_ms:
            yield group
            group = []
        group.append(mark)
    if group:
        yield group


def _together(group: Sequence[TimeMark]) -> TimeMark:
    """One mark for all; a click on it opens the newest."""
    newest = group[-1]
    if len(group) == 1:
        return newest
    named = "<br>".join(mark.text for mark in reversed(group[-NAMED:]))
    more = f"<br>and {len(group) - NAMED} more" if len(group) > NAMED else ""
    return replace(newest, text=f"<b>{len(group)} savepoints</b><br>{named}{more}", count=len(group))


def marks_of(runs: Sequence[Run], savepoints: Sequence[Savepoint], since: float) -> list[TimeMark]:
    """Marks since then: savepoints, new versions, restarts of the same version."""
    taken = [TimeMark(savepoint.created_ms, "savepoint", savepoint_words(savepoint), savepoint.id) for savepoint in savepoints]
    oldest_first = sorted(runs, key=lambda run: run.created_ms)
    begun = [_begun(run, earlier) for earlier, run in zip([None, *oldest_first], oldest_first, strict=False)]
    return [mark for mark in [*taken, *begun] if mark.at_ms >= since]


def _begun(run: Run, earlier: Run | None) -> TimeMark:
    at = run.started_ms or run.created_ms
    if earlier is not None and earlier.version == run.version:
        return TimeMark(at, "restart", "restart")
    return TimeMark(at, "version", formats.short_id(run.version))
