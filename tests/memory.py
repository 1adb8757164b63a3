"""The state of a small job as the workspace in memory (`tests.faces`) has it: real Parquet files, asked by the real DuckDB."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pipelines.catalog import states as questions
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.domain.state_sizes import OperatorSizes, SavedSizes, WrittenSizes
from pipelines.domain.states import Reading, StateRows, StateTable, reading_id
from pipelines.verbs.state import QueryState
from tests import samples

MINUTE_MS = 60_000
PARTITIONS = 4
ROWS = """
    SELECT {{'window': {{'start': begun, 'end': begun + INTERVAL 10 MINUTE}}, 'post': 'p' || (i * 7919) % 97}} AS key,
           {{'views': (i * 31) % 997, 'clicks': (i * 17) % 211, 'share': ((i * 17) % 211) / 997.0}} AS value,
           CASE WHEN i % 10 < 4 THEN 0 ELSE 1 + i % 3 END AS partition_id
    FROM (SELECT i, epoch_ms({first})::TIMESTAMPTZ + INTERVAL 10 MINUTE * (i // {window}) AS begun FROM range({rows}) AS numbers(i))
"""


@dataclass
class Memory:
    """Windowed counts of posts. `rows` is how many there are of each table; `several` gives the query a join's sides and a variable too."""

    rows: int = 116
    several: bool = False

    def tables(self, s: Savepoint) -> tuple[StateTable, ...]:
        counts = self._table(s, 0, "stateStoreSave", "default")
        if not self.several:
            return (counts,)
        sides = [self._table(s, 1, "symmetricHashJoin", store) for store in ("left", "right")]
        index = self._table(s, 1, "symmetricHashJoin", "left-keyToNumValues", internal=True)
        return (counts, *sides, index, self._table(s, 2, "transformWithStateExec", "default", "seen"))

    def reading(self, s: Savepoint, table: StateTable, limit: int) -> Reading:
        """All rows of the table, or `limit` of them, by partition as `query` finds them."""
        spread = Counter(0 if i % 10 < 4 else 1 + i % 3 for i in range(self.rows))
        return Reading(
            id=reading_id(s.id, table),
            savepoint=s.id,
            query=table.query,
            operator=table.operator,
            store=table.store,
            variable=table.variable,
            batch=table.batch,
            rows=min(self.rows, limit),
            total=self.rows,
            bytes=48_000,
            partitions={partition: spread[partition] for partition in range(PARTITIONS)},
            spark_version="4.3.0",
            read_ms=samples.NOW_MS - MINUTE_MS,
            took_ms=8_200.0,
        )

    def sizes(self, taken: Sequence[Savepoint], kept: Sequence[RetainedBatch], read: frozenset[SavepointId]) -> tuple[OperatorSizes, ...]:
        """Partition 0 holds and gets far more than the others; those savepoints that were read have rows."""
        named = {table.operator: table.name for table in self.tables(taken[-1])} if taken else {0: "stateStoreSave"}
        return tuple(
            OperatorSizes(
                samples.QUERY,
                operator,
                name,
                PARTITIONS,
                tuple(self._saved(s, s.id in read) for s in taken),
                tuple(_written(batch) for batch in kept),
            )
            for operator, name in named.items()
        )

    def _saved(self, s: Savepoint, read: bool) -> SavedSizes:
        rows = tuple(self.rows * (4 if partition == 0 else 2) // 10 for partition in range(PARTITIONS))
        held = tuple(s.bytes * share // 10 for share in (4, 2, 2, 2))
        return SavedSizes(s.id, s.batch, s.queries[0].batch_timestamp_ms, held, rows if read else ())

    def query(self, table: StateTable, query: QueryState) -> StateRows:
        assert table.reading is not None
        return replace(questions.query({questions.STATE: [self._file(table.reading.rows)]}, query), took_ms=12.5)

    def _file(self, rows: int) -> str:
        path = scratch() / f"{rows}.parquet"
        if not path.exists():
            write_rows(path, rows)
        return str(path)

    def _table(self, s: Savepoint, operator: int, name: str, store: str, variable: str = "", *, internal: bool = False) -> StateTable:
        image = s.queries[0]
        return StateTable(
            query=image.query,
            operator=operator,
            name=name,
            store=store,
            variable=variable,
            kind="map" if variable else "",
            internal=internal,
            provider=image.provider,
            partitions=PARTITIONS,
            batch=image.batch,
            bytes=1_400_000,
            operator_rows=self.rows,
        )


@cache
def _written(kept: RetainedBatch) -> WrittenSizes:
    swing = 1 + (kept.batch % 12) / 12
    return WrittenSizes(kept.batch, kept.timestamp_ms, tuple(round(share * swing) for share in (4_800, 900, 1_100, 1_000)))


def scratch() -> Path:
    """Where the rows of this process are; gone with it."""
    folder = tempfile.mkdtemp(prefix="tidemark-memory-")
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


def write_rows(path: Path, rows: int) -> None:
    """Windowed counts as Spark's reader gives them: `key` and `value` as structs, `partition_id`."""
    import duckdb

    db = duckdb.connect()
    try:
        db.execute("SET TimeZone = 'UTC'")
        first, window = samples.NOW_MS // (10 * MINUTE_MS) * 10 * MINUTE_MS - 60 * MINUTE_MS, max(rows // 6, 1)
        text = str(path).replace("'", "''")
        db.execute(f"COPY ({ROWS.format(first=first, window=window, rows=rows)}) TO '{text}' (FORMAT parquet)")
    finally:
        db.close()
