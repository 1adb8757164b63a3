"""Queries whose state or source is Python's: arbitrary state in both of its forms, and data sources.

Classes are made inside functions: Python workers then get them by value, and need not find this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.savepoint.queries import DELAY, timed

TOTALS = "key STRING, sum LONG, rows LONG, ended BOOLEAN"
SOURCE = "key STRING, ts TIMESTAMP, n INT"


def state_in_pandas(spark: Any, base: Path, rows: str = "true") -> Any:
    """Sums per key that end when event time has moved on: applyInPandasWithState with event-time timeouts."""
    import pandas as pd

    def update(key: Any, chunks: Any, state: Any) -> Iterator[Any]:
        total, rows = state.get if state.exists else (0, 0)
        if state.hasTimedOut:
            state.remove()
            yield pd.DataFrame({"key": [key[0]], "sum": [total], "rows": [rows], "ended": [True]})
            return
        newest = 0
        for chunk in chunks:
            total, rows = total + int(chunk["n"].sum()), rows + len(chunk)
            newest = max(newest, int(chunk["ts"].max().timestamp() * 1000))
        state.update((total, rows))
        state.setTimeoutTimestamp(max(newest, state.getCurrentWatermarkMs()) + 60_000)
        yield pd.DataFrame({"key": [key[0]], "sum": [total], "rows": [rows], "ended": [False]})

    by_key = timed(spark, base).where(rows).selectExpr("concat(key, '-', minute(ts) % 4) AS key", "ts", "n").groupBy("key")
    return by_key.applyInPandasWithState(update, TOTALS, "sum LONG, rows LONG", "append", "EventTimeTimeout")


def state_of_columns(spark: Any, base: Path, columns: str, after: str, times: int = 1) -> Any:
    """Sums per key whose state has these columns (`sum INT, rows LONG`) and nothing else; `later` counts rows of files from `after` on, and
    each number is taken so many `times`."""
    import pandas as pd

    names = [column.split()[0] for column in columns.split(", ")]

    def update(key: Any, chunks: Any, state: Any) -> Iterator[Any]:
        held = dict.fromkeys(("sum", "rows", "later"), 0) | dict(zip(names, state.get if state.exists else [0] * len(names), strict=True))
        held = {name: value or 0 for name, value in held.items()}
        if state.hasTimedOut:
            state.remove()
        else:
            newest = 0
            for chunk in chunks:
                seen = {"sum": int(chunk["n"].sum()) * times, "rows": len(chunk), "later": int(chunk["later"].sum())}
                held = {name: value + seen[name] for name, value in held.items()}
                newest = max(newest, int(chunk["ts"].max().timestamp() * 1000))
            state.update(tuple(held[name] for name in names))
            state.setTimeoutTimestamp(max(newest, state.getCurrentWatermarkMs()) + 60_000)
        yield pd.DataFrame({"key": [key[0]], **{name: [held[name] if name in names else -1] for name in ("sum", "rows", "later")}})

    later = f"_metadata.file_name >= '{after}' AS later"
    rows = timed(spark, base).selectExpr("concat(key, '-', minute(ts) % 4) AS key", "ts", "n", later)
    return rows.groupBy("key").applyInPandasWithState(
        update, "key STRING, sum LONG, rows LONG, later LONG", columns, "append", "EventTimeTimeout"
    )


def state_variables(spark: Any, base: Path, rows: str = "true") -> Any:
    """transformWithState, row by row: a value with TTL, a list, a map with TTL, and event-time timers, each shown in the output."""
    return _by_key(spark, base, rows).transformWithState(_processor(pandas=False), VARIABLES, "append", "eventTime")


def state_variables_in_pandas(spark: Any, base: Path) -> Any:
    return _by_key(spark, base).transformWithStateInPandas(_processor(pandas=True), VARIABLES, "append", "eventTime")


def state_variables_for_a_day(spark: Any, base: Path) -> Any:
    """The value and the map live for a day of processing time, longer than any test."""
    return _by_key(spark, base).transformWithState(_processor(pandas=False, ttl_ms=86_400_000), VARIABLES, "append", "processingTime")


VARIABLES = "key STRING, sum LONG, last STRING, seen STRING, timer LONG"


def _by_key(spark: Any, base: Path, rows: str = "true") -> Any:
    return timed(spark, base).where(rows).groupBy("key")


def _processor(pandas: bool, ttl_ms: int | None = None) -> Any:
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Everything(StatefulProcessor):
        """A sum, the last three numbers, how often each remainder was seen, and a timer a minute after the newest row."""

        def init(self, handle: Any) -> None:
            self.handle = handle
            self.sum = handle.getValueState("sum", "sum LONG", ttl_ms)
            self.last = handle.getListState("last", "n INT")
            self.seen = handle.getMapState("seen", "rest INT", "times INT", ttl_ms)

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            taken = [(int(n), at) for n, at in self._taken(rows)]
            total = (self.sum.get()[0] if self.sum.exists() else 0) + sum(n for n, _ in taken)
            self.sum.update((total,))
            last = [*([row[0] for row in self.last.get()] if self.last.exists() else []), *sorted(n for n, _ in taken)][-3:]
            self.last.put([(n,) for n in last])
            for n, _ in taken:
                times = self.seen.getValue((n % 4,))[0] if self.seen.containsKey((n % 4,)) else 0
                self.seen.updateValue((n % 4,), (times + 1,))
            if ttl_ms is None:
                self._set_timer(timers, max(at for _, at in taken))
            yield self._answer(key, total, last, None)

        def handleExpiredTimer(self, key: Any, timers: Any, expired: Any) -> Any:
            yield self._answer(key, self.sum.get()[0], [row[0] for row in self.last.get()], expired.getExpiryTimeInMs())
            self.last.clear()

        def close(self) -> None:
            pass

        def _set_timer(self, timers: Any, newest_ms: int) -> None:
            for old in list(self.handle.listTimers()):
                self.handle.deleteTimer(old)
            self.handle.registerTimer(max(newest_ms, timers.getCurrentWatermarkInMs()) + 60_000)

        def _taken(self, rows: Any) -> Iterator[tuple[Any, int]]:
            if not pandas:
                yield from ((row.n, int(row.ts.timestamp() * 1000)) for row in rows)
                return
            for chunk in rows:
                yield from ((n, int(at.timestamp() * 1000)) for n, at in zip(chunk["n"], chunk["ts"], strict=True))

        def _answer(self, key: Any, total: int, last: list[int], timer: int | None) -> Any:
            seen = sorted((rest[0], times[0]) for rest, times in self.seen.iterator())
            if not pandas:
                return Row(key=key[0], sum=total, last=str(last), seen=str(seen), timer=timer or 0)
            import pandas as pd

            return pd.DataFrame({"key": [key[0]], "sum": [total], "last": [str(last)], "seen": [str(seen)], "timer": [timer or 0]})

    return Everything()


def data_source(spark: Any, base: Path) -> Any:
    """A Python data source that is read in partitions, five rows a batch."""
    spark.dataSource.register(_source())
    return _deduplicated(spark.readStream.format("tidemark-test").load())


def simple_data_source(spark: Any, base: Path) -> Any:
    """One that is read by the driver itself, which keeps what it read until the batch commits."""
    spark.dataSource.register(_simple_source())
    return _deduplicated(spark.readStream.format("tidemark-test-simple").load())


def _deduplicated(rows: Any) -> Any:
    return rows.withWatermark("ts", DELAY).dropDuplicates(["key", "ts"])


def _rows_between() -> Any:
    def rows(first: int, end: int) -> Iterator[tuple[Any, ...]]:
        from datetime import UTC, datetime, timedelta

        begin = datetime(2026, 1, 1, tzinfo=UTC)
        yield from ((f"k{n % 3}", begin + timedelta(seconds=30 * (n - (n % 7) * 4)), n) for n in range(first, end))

    return rows


def _source() -> Any:
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    rows = _rows_between()

    class Part(InputPartition):
        def __init__(self, first: int, end: int) -> None:
            self.first, self.end = first, end

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"row": 0}

        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
            return {"row": start["row"] + 5}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Part]:
            return [Part(start["row"], start["row"] + 2), Part(start["row"] + 2, end["row"])]

        def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
            return rows(partition.first, partition.end)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "tidemark-test"

        def schema(self) -> str:
            return SOURCE

        def streamReader(self, schema: Any) -> Reader:
            return Reader()

    return Source


def _simple_source() -> Any:
    from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

    rows = _rows_between()

    class Reader(SimpleDataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"row": 0}

        def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
            return iter(list(rows(start["row"], start["row"] + 5))), {"row": start["row"] + 5}

        def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Any, ...]]:
            return iter(list(rows(start["row"], end["row"])))

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "tidemark-test-simple"

        def schema(self) -> str:
            return SOURCE

        def simpleStreamReader(self, schema: Any) -> Reader:
            return Reader()

    return Source
