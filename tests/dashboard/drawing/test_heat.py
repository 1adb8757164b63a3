"""State as a heat map: which moments, skew and growth in words."""

from __future__ import annotations

import pytest

from dashboard.drawing.heat import MOST_COLUMNS, Measure, heat_map
from pipelines.domain.ids import QueryName, SavepointId
from pipelines.domain.state_sizes import OperatorSizes, SavedSizes, WrittenSizes

SAVED = (
    SavedSizes(SavepointId("sp-1"), 3, 3_000, (1_000, 1_000), (10, 10)),
    SavedSizes(SavepointId("sp-2"), 9, 9_000, (6_000, 0)),
)


def sizes(*, saved: tuple[SavedSizes, ...] = SAVED, batches: int = 3) -> OperatorSizes:
    wrote = tuple(WrittenSizes(batch, 1_000 * batch, (50, 60)) for batch in range(batches))
    return OperatorSizes(QueryName("counts"), 0, "stateStoreSave", 2, saved, wrote)


def test_a_savepoint_is_a_column_of_bytes_and_of_rows_where_they_were_read() -> None:
    assert [column.id for column in heat_map(sizes(), Measure.BYTES).columns] == ["sp-1", "sp-2"]
    assert [(column.id, column.cells) for column in heat_map(sizes(), Measure.ROWS).columns] == [("sp-1", (10, 10))]


def test_a_batch_is_a_column_of_what_it_wrote_the_newest_ones() -> None:
    drawn = heat_map(sizes(batches=MOST_COLUMNS + 5), Measure.WRITTEN)
    assert [drawn.columns[0].id, len(drawn.columns)] == ["counts:5", MOST_COLUMNS]


def test_skew_and_growth_are_said() -> None:
    drawn = heat_map(sizes(), Measure.BYTES)
    assert drawn.words == "partition 0 has 2.0 times the average, 2.0 kB → 6.0 kB"
    assert drawn.skewed
    even = heat_map(sizes(), Measure.WRITTEN)
    assert even.words == "even: the fullest has 1.1 times the average, 110 B → 110 B"
    assert not even.skewed


@pytest.mark.parametrize("measure", list(Measure))
def test_without_a_moment_it_says_why(measure: Measure) -> None:
    drawn = heat_map(sizes(saved=(), batches=0), measure)
    assert drawn.empty and drawn.words == drawn.empty and not drawn.skewed
