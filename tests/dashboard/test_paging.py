"""Long tables: ordered and cut by what the address says."""

from __future__ import annotations

import pytest

from dashboard import session
from dashboard.paging import ROWS, Order, chosen, cut, ordered, read_order, turn


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


@pytest.mark.parametrize("name", ["", "runs"])
def test_each_table_of_a_page_has_its_own_place_in_the_address(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    address: dict[str, str] = {}
    monkeypatch.setattr(session, "select", lambda **values: address.update(values))
    monkeypatch.setattr(session, "selected", lambda name, default="": address.get(name, default))
    turn(None, 2, name)
    second = chosen(list(range(250)), {"N": float}, name)
    turn("N.down", None, name)
    first = chosen(list(range(250)), {"N": float}, name)
    assert (second.items[0], second.page, first.items[0], first.page, first.name) == (100, 2, 249, 1, name)
    assert set(address) == ({"runs_sort", "runs_page", "runs_before"} if name else {"sort", "page", "before"})


def test_nothing_is_one_empty_page() -> None:
    assert (cut([], "3").items, cut([], "3").page, cut([], "3").pages) == ([], 1, 1)


@pytest.mark.parametrize(("text", "order"), [("In /s.down", Order("In /s", True)), ("Lag.up", None), ("In /s", None), ("", None)])
def test_an_order_is_one_of_the_columns(text: str, order: Order | None) -> None:
    assert read_order(text, {"In /s": 1}) == order
