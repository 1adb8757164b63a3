"""Long tables: ordered and cut by what the address says."""

from __future__ import annotations

import pytest

from dashboard.paging import ROWS, Order, cut, ordered, read_order


def test_what_has_no_value_stands_last_whichever_way() -> None:
    values = [("a", 2.0), ("b", None), ("c", 1.0)]
    assert [name for name, _ in ordered(values, lambda row: row[1], down=False)] == ["c", "a", "b"]
    assert [name for name, _ in ordered(values, lambda row: row[1], down=True)] == ["a", "c", "b"]


def test_equals_keep_the_order_they_came_in() -> None:
    assert ordered(["b1", "a1", "b2"], lambda name: name[0], down=True) == ["b1", "b2", "a1"]


@pytest.mark.parametrize(("page", "first"), [("", 0), ("1", 0), ("2", ROWS), ("9", 2 * ROWS), ("0", 0), ("-1", 0), ("x", 0)])
def test_a_page_beyond_the_last_is_the_last(page: str, first: int) -> None:
    shown = cut(list(range(2 * ROWS + 5)), page)
    assert (shown.first, shown.items[0], shown.total, shown.pages) == (first, first, 2 * ROWS + 5, 3)


def test_nothing_is_one_empty_page() -> None:
    assert (cut([], "3").items, cut([], "3").page, cut([], "3").pages) == ([], 1, 1)


@pytest.mark.parametrize(("text", "order"), [("In /s.down", Order("In /s", True)), ("Lag.up", None), ("In /s", None), ("", None)])
def test_an_order_is_one_of_the_columns(text: str, order: Order | None) -> None:
    assert read_order(text, {"In /s": 1}) == order
