"""A difference of state as the workspace in memory (`tests.faces`) has it: real Parquet files, compared and asked by the real DuckDB."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pipelines.catalog import state_differences
from pipelines.catalog import states as questions
from pipelines.domain.ids import JobName, QueryName, SavepointId
from pipelines.domain.state_differences import NotCompared, StateAt, StateDifference, TableDifference
from pipelines.domain.states import StateRows
from pipelines.verbs.state_difference import QueryStateDifference
from tests import samples
from tests.memory import scratch, write_rows

DIFFERENCE = "sd-000000000001"
A, B = "sp-000000000002", "post_engagement@9"

SIDES = {
    "a": "SELECT * FROM '{whole}' WHERE key.window.start < (SELECT max(key.window.start) FROM '{whole}')",
    "b": """
        SELECT key, {{'views': value.views + (CASE WHEN value.views % 3 = 0 THEN 12 ELSE 0 END), 'clicks': value.clicks,
                     'share': value.share}} AS value, partition_id
        FROM '{whole}' WHERE key.window.start > (SELECT min(key.window.start) FROM '{whole}')
    """,
}
"""A window has ended, another began, and a third of the posts got more views."""


@cache
def difference() -> StateDifference:
    """Windows ended and others began between batch 7 and batch 9 of a job; one operator has no counterpart."""
    files = _files()
    comparison, _ = state_differences.compare([files["a"]], [files["b"]], False, files["difference"], lambda step: None)
    table = TableDifference(QueryName(samples.QUERY), 0, "stateStoreSave", "default", "", reading_a="st-a", reading_b="st-b", **comparison)
    return StateDifference(
        DIFFERENCE,
        _at(A, SavepointId(A), 7),
        _at(B, SavepointId("bt-000000000001"), 9),
        (table,),
        (NotCompared(f"{samples.QUERY} / 1 / left", "B has no such state"),),
        1_000,
        samples.NOW_MS,
        900.0,
    )


def query(asked: QueryStateDifference) -> StateRows:
    return replace(questions.query({view: [_files()[view]] for view in ("difference", "a", "b")}, asked), took_ms=12.5)


@cache
def _files() -> dict[str, str]:
    import duckdb

    folder = scratch()
    places = {name: str(folder / f"{name}.parquet") for name in ("a", "b", "difference")}
    write_rows(folder / "whole.parquet", 116)
    db = duckdb.connect()
    try:
        for name, sql in SIDES.items():
            db.execute(f"COPY ({sql.format(whole=folder / 'whole.parquet')}) TO '{places[name]}' (FORMAT parquet)")
    finally:
        db.close()
    return places


def _at(named: str, savepoint: SavepointId, batch: int) -> StateAt:
    return StateAt(named, JobName("post_engagement"), savepoint, {QueryName(samples.QUERY): batch}, samples.NOW_MS)
