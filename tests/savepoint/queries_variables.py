"""A transformWithState whose state variables have the columns that are asked for, each shown in the output, and a timer.

Its class is made inside a function: Python workers then get it by value, and need not find this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.savepoint.queries import timed

OUTPUT = "key STRING, held STRING, last STRING, seen STRING, more STRING, timer LONG"
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Columns:
    """The columns of a value (among `sum`, `rows`, `later`), of a list (`n`, `twice`), and of a map (`rest` -> `times`, `total`)."""

    held: str = "sum LONG, rows LONG"
    last: str = "n INT, twice INT"
    rest: str = "rest INT"
    seen: str = "times INT, total LONG"
    list_name: str = "last"
    more: str = ""
    """The name of one list more, of the numbers seen."""
    only_later: str = ""
    """`more` or `seen`: the variable that holds rows after the savepoint alone."""


def variables(columns: Columns, after: str, *, pandas: bool = False, lives: bool = False) -> Callable[[Any, Path], Any]:
    """The query; `later` counts rows of files from `after` on. `lives`: value, list and map live for a day of processing time."""

    def query(spark: Any, base: Path) -> Any:
        rows = timed(spark, base).selectExpr("key", "ts", "n", f"_metadata.file_name >= '{after}' AS later").groupBy("key")
        begin = rows.transformWithStateInPandas if pandas else rows.transformWithState
        return begin(_processor(columns, pandas, DAY_MS if lives else None), OUTPUT, "append", "processingTime" if lives else "eventTime")

    return query


def _processor(columns: Columns, pandas: bool, ttl_ms: int | None) -> Any:
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    held_names, last_names, seen_names = (
        [column.split()[0] for column in text.split(", ")] for text in (columns.held, columns.last, columns.seen)
    )

    class Everything(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.held = handle.getValueState("held", columns.held, ttl_ms)
            self.last = handle.getListState(columns.list_name, columns.last, ttl_ms)
            self.seen = handle.getMapState("seen", columns.rest, columns.seen, ttl_ms)
            self.more = handle.getListState(columns.more, "n INT") if columns.more else None

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            taken = sorted(self._taken(rows))
            was = dict(zip(held_names, self.held.get() if self.held.exists() else [], strict=False))
            new = {"sum": sum(n for n, *_ in taken), "rows": len(taken), "later": sum(later for *_, later in taken)}
            held = {name: (was.get(name) or 0) + new[name] for name in held_names}
            self.held.update(tuple(held.values()))
            last = [*(tuple(row) for row in (self.last.get() if self.last.exists() else ()))]
            last += [tuple({"n": n, "twice": 2 * n}[name] for name in last_names) for n, *_ in reversed(taken)]
            self.last.put(last[-5:])
            for n, _, later in taken:
                if later or columns.only_later != "seen":
                    before = dict(zip(seen_names, self.seen.getValue((n % 4,)) if self.seen.containsKey((n % 4,)) else (), strict=False))
                    self.seen.updateValue((n % 4,), tuple(before.get(name, 0) + {"times": 1, "total": n}[name] for name in seen_names))
                if self.more is not None and (later or columns.only_later != "more"):
                    self.more.appendValue((n,))
            if ttl_ms is None:
                for old in list(self.handle.listTimers()):
                    self.handle.deleteTimer(old)
                self.handle.registerTimer(max(max(at for _, at, _ in taken), timers.getCurrentWatermarkInMs()) + 60_000)
            yield self._answer(key, 0)

        def handleExpiredTimer(self, key: Any, timers: Any, expired: Any) -> Any:
            yield self._answer(key, expired.getExpiryTimeInMs())
            self.last.clear()

        def close(self) -> None:
            pass

        def _taken(self, rows: Any) -> Iterator[tuple[int, int, bool]]:
            if not pandas:
                yield from ((row.n, int(row.ts.timestamp() * 1000), row.later) for row in rows)
                return
            for chunk in rows:
                given = zip(chunk["n"], chunk["ts"], chunk["later"], strict=True)
                yield from ((int(n), int(at.timestamp() * 1000), bool(later)) for n, at, later in given)

        def _answer(self, key: Any, timer: int) -> Any:
            held = dict(zip(held_names, (value or 0 for value in self.held.get()), strict=True))
            last = [dict(zip(last_names, row, strict=True)) for row in (self.last.get() if self.last.exists() else ())]
            seen = sorted((rest[0], dict(zip(seen_names, values, strict=True))) for rest, values in self.seen.iterator())
            more = [row[0] for row in self.more.get()] if self.more is not None and self.more.exists() else []
            texts = {"held": held, "last": last, "seen": seen, "more": more}
            if not pandas:
                return Row(key=key[0], **{name: str(text) for name, text in texts.items()}, timer=timer)
            import pandas as pd

            return pd.DataFrame({"key": [key[0]], **{name: [str(text)] for name, text in texts.items()}, "timer": [timer]})

    return Everything()
