"""State as a heat map: a row for each partition, a column for each moment, the darker the more. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from dashboard.drawing.states import SKEWED
from pipelines.domain.state_sizes import OperatorSizes
from pipelines.words import formats, operators

MOST_COLUMNS = 120


class Measure(enum.StrEnum):
    """The quantity of a cell."""

    BYTES = "bytes"
    """Of a savepoint's state files."""
    ROWS = "rows"
    """Of a savepoint, as its state was read."""
    WRITTEN = "written"
    """Bytes that a batch wrote."""


@dataclass(frozen=True)
class HeatColumn:
    """One moment: `id` is what a click gives (a savepoint, or a batch as `query:batch`), `cells` a value for each partition."""

    id: str
    batch: int
    at_ms: int
    cells: tuple[int, ...]


@dataclass(frozen=True)
class HeatMap:
    """One operator's map; `columns` oldest first, `empty` says why there are none."""

    title: str
    measure: Measure
    columns: tuple[HeatColumn, ...]
    partitions: int
    empty: str = ""
    hint: str = ""
    """Spark's name of the operator."""

    @property
    def top(self) -> int:
        """The greatest value of all cells."""
        return max((value for column in self.columns for value in column.cells), default=0)

    @property
    def fullest(self) -> tuple[int, float] | None:
        """The partition with most in the newest column, and how many times the average it has; None where there is nothing."""
        cells = self.columns[-1].cells if self.columns else ()
        if not any(cells):
            return None
        most = max(range(len(cells)), key=cells.__getitem__)
        return most, cells[most] / fmean(cells)

    @property
    def shown(self) -> Callable[[float], str]:
        """A cell's value in words."""
        return rows_words if self.measure is Measure.ROWS else formats.size

    @property
    def words(self) -> str:
        """Skew and growth in one line."""
        if self.fullest is None:
            return self.empty or "Nothing is kept"
        partition, times = self.fullest
        total, before = sum(self.columns[-1].cells), sum(self.columns[0].cells)
        who = f"partition {partition}" if times >= SKEWED else "even: the fullest"
        grown = f", {self.shown(before)} → {self.shown(total)}" if len(self.columns) > 1 else f", {self.shown(total)} in all"
        return f"{who} has {times:.1f} times the average{grown}"

    @property
    def skewed(self) -> bool:
        """Whether one partition holds far more than the others."""
        return self.fullest is not None and self.partitions > 1 and self.fullest[1] >= SKEWED


EMPTY = {
    Measure.BYTES: "Nothing to show before the first savepoint.",
    Measure.ROWS: "Rows are known of savepoints whose state was read. Open a state below to have it read.",
    Measure.WRITTEN: "No batch that Spark still keeps has written state.",
}


def heat_map(sizes: OperatorSizes, measure: Measure) -> HeatMap:
    """The newest moments of one operator."""
    columns = tuple(_columns(sizes, measure))[-MOST_COLUMNS:]
    title = f"{operators.kind(sizes.name)} · {sizes.operator}"
    return HeatMap(title, measure, columns, sizes.partitions, "" if columns else EMPTY[measure], sizes.name)


def _columns(sizes: OperatorSizes, measure: Measure) -> Sequence[HeatColumn]:
    if measure is Measure.WRITTEN:
        return [HeatColumn(f"{sizes.query}:{wrote.batch}", wrote.batch, wrote.at_ms, wrote.bytes) for wrote in sizes.written]
    if measure is Measure.ROWS:
        return [HeatColumn(saved.savepoint, saved.batch, saved.at_ms, saved.rows) for saved in sizes.saved if saved.rows]
    return [HeatColumn(saved.savepoint, saved.batch, saved.at_ms, saved.bytes) for saved in sizes.saved]


def rows_words(value: float) -> str:
    """`1 row`, `1,204 rows`."""
    return formats.plural(round(value), "row")
