"""Stateful operators and backlog as the catalog keeps them beside a batch: lists of structs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from pipelines.catalog import runs
from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import TEXT, WHOLE, Columns, arrow, dicts, lists, offsets, row
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import QuerySeen
from pipelines.domain.json_text import read_json
from pipelines.domain.moments import DAY_MS
from pipelines.domain.operators import OperatorProgress, OperatorSeries, QueryOperators
from pipelines.domain.progress import Progress
from pipelines.domain.sources import Backlog, BacklogSeries, SourceSeen, read_sources

OPERATORS = "operators"
BACKLOG = "backlog"
Points = defaultdict[tuple[Any, ...], list[tuple[Any, ...]]]
_COUNTS = ("rows", "updated", "removed", "late_rows", "memory_bytes", "update_ms", "removal_ms", "commit_ms", "partitions", "stores")
_OPERATOR: Columns = {"name": TEXT, **dict.fromkeys(_COUNTS, WHOLE)}
_BACKLOG: Columns = {"source": WHOLE, "name": TEXT, "amount": WHOLE, "unit": TEXT}

# Of the newest run that made progress; an event of a batch that was not run (nothing new to read) says nothing of work.
_NEWEST = """
WITH last AS (
    SELECT query, run FROM latest_progress WHERE job = $job QUALIFY run = arg_max(run, at_ms) OVER ()
)
SELECT arg_max(progress.rowid, at_ms) FROM progress SEMI JOIN last USING (query, run)
WHERE job = $job AND at_ms >= $since AND (add_batch_ms IS NOT NULL OR latest_offset_ms IS NULL)
GROUP BY query
"""
_WHOLE = """
SELECT query, run, batch, at_ms, sources, operators, backlog, output_rows FROM progress
WHERE rowid IN (SELECT unnest($rows)) ORDER BY query
"""
_REPORTED = "SELECT at_ms, sources FROM progress WHERE query_id = ? ORDER BY at_ms DESC LIMIT 1"
# Only what a series draws, as bare lists: whole structs would take twice as long.
_DRAWN = """
SELECT rowid, query, list_transform(operators, lambda one: one.name), list_transform(operators, lambda one: [one.rows, one.memory_bytes]),
       if(len(backlog) > 0, backlog, NULL)
FROM progress WHERE rowid IN (SELECT unnest($rows)) AND len(operators) + len(backlog) > 0
"""


def arrow_columns(batches: Sequence[Progress]) -> dict[str, Any]:
    """The two columns of `batches` as flat Arrow arrays: a dict for each operator would be several times as slow."""
    operators = [operator for batch in batches for operator in batch.operators]
    waiting = [entry for batch in batches for entry in batch.backlog]
    return {
        OPERATORS: lists([batch.operators for batch in batches], _columns(operators, _OPERATOR) | {"custom": _custom(operators)}),
        BACKLOG: lists([batch.backlog for batch in batches], _columns(waiting, _BACKLOG)),
    }


def _columns(values: Sequence[Any], types: Columns) -> dict[str, Any]:
    """The fields in `types` of all `values`, each as an array."""
    fields = zip(*map(attrgetter(*types), values), strict=True) if values else (() for _ in types)
    return {name: arrow(kind, field) for (name, kind), field in zip(types.items(), fields, strict=True)}


def _custom(operators: Sequence[OperatorProgress]) -> Any:
    import pyarrow as pa

    customs = [operator.custom for operator in operators]
    keys = arrow(TEXT, [name for custom in customs for name in custom])
    values = arrow(WHOLE, [value for custom in customs for value in custom.values()])
    return pa.MapArray.from_arrays(offsets(customs), keys, values)


def operators_of(cell: Sequence[Mapping[str, Any]] | None) -> tuple[OperatorProgress, ...]:
    """The operators in a cell; none in a row that was written before operators were kept."""
    return tuple(OperatorProgress(**operator) for operator in cell or ())


def backlog_of(cell: Sequence[Mapping[str, Any]] | None) -> tuple[Backlog, ...]:
    return tuple(Backlog(**entry) for entry in cell or ())


def newest(reader: Reader, job: JobName) -> list[QueryOperators]:
    """The newest batch of each query of `job`, by query; searches the day before its newest progress, then all batches."""
    last = row(reader, "SELECT max(at_ms) FROM latest_progress WHERE job = ?", [job])
    if last is None or last[0] is None:
        return []
    places = _newest(reader, job, last[0] - DAY_MS) or _newest(reader, job, 0)
    rows = dicts(reader, _WHOLE, {"rows": places})
    sinks = {(run, query.query): query for run in {row["run"] for row in rows} for query in runs.queries(reader, run)}
    return [_seen(row, sinks.get((row["run"], row["query"]))) for row in rows]


def _newest(reader: Reader, job: JobName, since_ms: int) -> list[int]:
    return [place for (place,) in reader.execute(_NEWEST, {"job": job, "since": since_ms}).fetchall()]


def most(reader: Reader, ran: Sequence[str]) -> dict[str, int]:
    """Query -> how many stateful operators Spark told of in a batch of these runs."""
    rows = reader.execute("SELECT query, max(len(operators)) FROM progress WHERE run IN ? GROUP BY query", [list(ran)]).fetchall()
    return {query: operators or 0 for query, operators in rows}


def reported(reader: Reader, query_id: str) -> tuple[int, tuple[SourceSeen, ...]]:
    """When the query, by Spark's id, told last of its sources, and what; (0, ()) where it never did."""
    last = row(reader, _REPORTED, [query_id])
    return (0, ()) if last is None else (last[0], read_sources(read_json(last[1]), ()))


def over_time(reader: Reader, moments: Mapping[int, float]) -> tuple[tuple[OperatorSeries, ...], tuple[BacklogSeries, ...]]:
    """The operators and the backlog of some rows of `progress`: rowid -> the moment at which it stands in the series."""
    batch_rows = reader.execute(_DRAWN, {"rows": list(moments)}).fetchall() if moments else []
    states: Points = defaultdict(list)
    waiting: Points = defaultdict(list)
    for place, query, names, kept, backlog in sorted(batch_rows, key=lambda row: moments[row[0]]):
        for at, (name, (rows, memory_bytes)) in enumerate(zip(names, kept, strict=True)):
            states[query, at, name].append((moments[place], rows, memory_bytes))
        for entry in backlog or ():
            waiting[query, entry["source"], entry["name"], entry["unit"]].append((moments[place], entry["amount"]))
    operators = (OperatorSeries(*key, *zip(*points, strict=True)) for key, points in sorted(states.items()))
    return tuple(operators), tuple(BacklogSeries(*key, *zip(*points, strict=True)) for key, points in sorted(waiting.items()))


def _seen(row: Mapping[str, Any], query: QuerySeen | None) -> QueryOperators:
    return QueryOperators(
        query=row["query"],
        batch=row["batch"],
        at_ms=row["at_ms"],
        sources=read_sources(read_json(row["sources"]), backlog_of(row["backlog"])),
        operators=operators_of(row["operators"]),
        sink=query.sink if query else "",
        sink_path=query.sink_path if query else "",
        output_rows=row["output_rows"],
        sink_table=query.sink_table if query else "",
    )
