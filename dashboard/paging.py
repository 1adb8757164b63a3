"""Long tables: ordered and cut here, so that a browser is sent one page; the order and the page stand in the address."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dashboard import session

T = TypeVar("T")
ROWS = 100
Key = Callable[[T], float | str | None]


@dataclass(frozen=True)
class Order:
    """A column by name, and whether the greatest stands first."""

    column: str
    down: bool

    def __str__(self) -> str:
        return f"{self.column}.{'down' if self.down else 'up'}"


@dataclass(frozen=True)
class Cut(Generic[T]):
    """A page of the list `whole`, which is in its order: the items from the place `first` on, counted from 0. `name` tells its table from
    others of the page in the address; empty for the only one."""

    whole: Sequence[T]
    first: int
    order: Order | None = None
    name: str = ""

    @property
    def items(self) -> Sequence[T]:
        return self.whole[self.first : self.first + ROWS]

    @property
    def total(self) -> int:
        return len(self.whole)

    @property
    def page(self) -> int:
        return self.first // ROWS + 1

    @property
    def pages(self) -> int:
        return max(1, math.ceil(self.total / ROWS))


def chosen(items: Sequence[T], keys: Mapping[str, Key[T]], name: str = "") -> Cut[T]:
    """The page of `items` that the address names (`sort`, `page`; `runs_sort`, `runs_page` of the table `runs`), ordered by the key of the
    column that it names."""
    order = read_order(session.selected(_of_table(name, "sort")), keys)
    return replace(cut(arranged(items, keys, order), session.selected(_of_table(name, "page")), order), name=name)


def _of_table(name: str, what: str) -> str:
    return f"{name}_{what}" if name else what


def arranged(items: Sequence[T], keys: Mapping[str, Key[T]], order: Order | None) -> Sequence[T]:
    """All of `items` in that order; as they came where it is None."""
    return ordered(items, keys[order.column], down=order.down) if order else items


def read_order(text: str, columns: Mapping[str, object]) -> Order | None:
    """`Lag.down` as an order; None for what is none of these columns."""
    column, _, way = text.rpartition(".")
    return Order(column, way == "down") if column in columns and way in ("down", "up") else None


def ordered(items: Sequence[T], key: Key[T], *, down: bool) -> list[T]:
    """`items` sorted by `key`; those whose key is None are last in either direction."""
    known = [(value, item) for item in items if (value := key(item)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=down)
    return [item for _, item in known] + [item for item in items if key(item) is None]


def cut(items: Sequence[T], page: str, order: Order | None = None) -> Cut[T]:
    """That page of `items`; the last one where there are fewer, the first where it is no number."""
    last = max(1, math.ceil(len(items) / ROWS))
    number = min(max(int(page), 1), last) if page.isdecimal() else 1
    return Cut(items, (number - 1) * ROWS, order)


def turn(order: str | None, page: int | None, name: str = "") -> None:
    """Puts what was clicked in that table into the address: another order begins at the first page, of the first list."""
    if order is not None:
        session.select(**{_of_table(name, "sort"): order, _of_table(name, "page"): "", _of_table(name, "before"): ""})
    elif page is not None:
        session.select(**{_of_table(name, "page"): str(page) if page > 1 else ""})
