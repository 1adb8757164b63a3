"""What a declaration of a list says of its rows: what names one, what they can be sorted by, which fields choose some."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

REVERSED = "-"


@dataclass(frozen=True)
class Filter:
    """How a field of a list chooses rows: `path` is an attribute of a row (`job.name`), compared with what is given by `by`; of several
    values one has to fit."""

    path: str
    by: Callable[[Any, Any], bool] = operator.eq

    def lets_through(self, value: Any, given: Any) -> bool:
        """Whether a row with this value is asked for."""
        return value is not None and (given in value if isinstance(value, tuple) else self.by(value, given))


@dataclass(frozen=True)
class Rows:
    """The rows of a list: `id` is the path of the attribute that names one (`job.name`), `sorts` has the paths that it can be sorted by."""

    id: str
    sorts: Mapping[str, str]

    @classmethod
    def of(cls, id: str, *same: str, **sorts: str) -> Rows:
        """Those that are sorted by attributes of their own (`same`), or by those further down."""
        return cls(id, {**sorts, **{name: name for name in same}})

    @property
    def orders(self) -> tuple[str, ...]:
        """What `sort` may be: each name, and each the other way round."""
        return tuple(order for name in self.sorts for order in (name, f"{REVERSED}{name}"))
