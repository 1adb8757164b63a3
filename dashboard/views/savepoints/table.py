"""The table of savepoints, the same on every page: of all jobs, with boxes to select several, or of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard import navigation, session
from dashboard.components.table import Boxes, Cell, Column, Paged, Row, clock, moment, number, shortened
from dashboard.components.table import table as draw_table
from dashboard.paging import Key, chosen
from dashboard.trust import TONES
from dashboard.views.savepoints import holdings
from dashboard.views.savepoints.filters import past
from dashboard.widgets import Tone
from pipelines.domain.holdings import ends_ms
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import SavepointSpace
from pipelines.words import formats
from pipelines.words import holdings as held
from pipelines.words.savepoints import FREES, FULL, ORIGIN_HINTS, ORIGINS, SIZE_HINTS, column, numbers, points
from pipelines.words.trust import LEVELS, best

Spaces = Mapping[SavepointId, SavepointSpace]
JOB = "Job"
COLUMNS = (
    Column("Savepoint"),
    Column(JOB),
    Column("Label"),
    Column("Batch", "right"),
    Column("Taken"),
    Column("Trust", hint="Complete: its files are there. Intact: their checksums are right. Proved: Spark restored it."),
    Column(FULL, "right", SIZE_HINTS[FULL]),
    Column(FREES, "right", SIZE_HINTS[FREES]),
    Column("Origin"),
    Column("Watermark"),
    Column("Version"),
    Column(held.TITLE, hint=held.HINT),
    Column("Best before", hint="After this date it may be disposed of; Tidemark does not do that by itself"),
)
NOTED = " ≡"
MAX_HEIGHT = 560


def savepoint_table(
    taken: Sequence[Savepoint], spaces: Spaces, now_ms: float, *, key: str, label: str, picked: Sequence[str] | None = None
) -> str | None:
    """Draws a page of the table, newest first unless somebody sorts it, and returns the id that was clicked, once.

    With `picked` it is that of all jobs: it names the job, and boxes select several, which goes into the address.
    """
    of_all = picked is not None
    columns = columns_of(of_all)
    keys = sort_keys(spaces)
    cut = chosen(taken, {column.name: keys[column.name] for column in columns})
    rows = Paged(cut, lambda shown: [row(savepoint, spaces.get(savepoint.id), now_ms, of_all=of_all) for savepoint in shown])
    boxes = None if picked is None else Boxes(picked, select)
    return draw_table(columns, rows, key=key, label=label, max_height=MAX_HEIGHT, boxes=boxes)


def select(picked: Sequence[str]) -> None:
    """Puts the selected savepoints into the address."""
    session.select(savepoint=",".join(picked))


def columns_of(of_all: bool) -> list[Column]:
    """The columns of the table of all jobs, or of that of one."""
    return [column for column in COLUMNS if of_all or column.name != JOB]


def sort_keys(spaces: Spaces) -> dict[str, Key[Savepoint]]:
    """What each column is sorted by."""
    return {
        "Savepoint": lambda savepoint: savepoint.id,
        JOB: lambda savepoint: savepoint.job,
        "Label": lambda savepoint: savepoint.label or None,
        "Batch": lambda savepoint: savepoint.batch,
        "Taken": lambda savepoint: savepoint.created_ms,
        "Trust": lambda savepoint: list(TONES).index(best(savepoint)),
        FULL: lambda savepoint: spaces[savepoint.id].bytes if savepoint.id in spaces else savepoint.bytes,
        FREES: lambda savepoint: spaces[savepoint.id].frees_bytes if savepoint.id in spaces else None,
        "Origin": lambda savepoint: ORIGINS[savepoint.reason],
        "Watermark": lambda savepoint: savepoint.queries[0].watermark_ms or None,
        "Version": lambda savepoint: savepoint.version,
        held.TITLE: lambda savepoint: ends_ms(savepoint.holdings, None),
        "Best before": lambda savepoint: savepoint.best_before_ms,
    }


def row(savepoint: Savepoint, own: SavepointSpace | None, now_ms: float, *, of_all: bool) -> Row:
    """One savepoint in the table."""
    trust = best(savepoint)
    label = f"{savepoint.label or ('' if savepoint.note else formats.MISSING)}{NOTED if savepoint.note else ''}"
    cells = (
        shortened(savepoint.id, strong=True),
        *((Cell(savepoint.job),) if of_all else ()),
        Cell(label, muted=not savepoint.label, hint=savepoint.note, raw=savepoint.label or None),
        _batches(savepoint),
        moment(savepoint.created_ms, now_ms),
        Cell(trust, tone=TONES[trust], hint=LEVELS[trust]),
        number(own.bytes if own else savepoint.bytes, formats.size),
        number(own.frees_bytes if own else None, formats.size),
        Cell(ORIGINS[savepoint.reason], muted=True, hint=ORIGIN_HINTS[savepoint.reason]),
        clock(savepoint.queries[0].watermark_ms or None, session.zone()),
        shortened(savepoint.version, muted=True),
        holdings.cell(savepoint, now_ms),
        _best_before(savepoint, now_ms),
    )
    return Row(savepoint.id, cells, navigation.href("savepoints", savepoint=savepoint.id))


def _batches(savepoint: Savepoint) -> Cell:
    """Of several queries the batch of each, with their names on hover; it is ordered by the first."""
    if len(savepoint.queries) == 1:
        return Cell(f"{savepoint.batch:,}", sort=savepoint.batch)
    return Cell(numbers(savepoint), sort=savepoint.batch, hint=points(savepoint), raw=column(savepoint))


def _best_before(savepoint: Savepoint, now_ms: float) -> Cell:
    if savepoint.best_before_ms is None:
        return Cell()
    day = formats.last_day(savepoint.best_before_ms, now_ms, session.zone())
    tone: Tone | None = "orange" if past(savepoint, now_ms) else None
    return Cell(day, sort=savepoint.best_before_ms, tone=tone, hint=formats.exact(savepoint.best_before_ms, session.zone()), unit="time")
