"""A query that reads the table which another one of its job writes: who is ahead, and what a fork and going back make of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain import iceberg_offsets
from pipelines.domain.delta import Removals
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import QueryName, SavepointId
from pipelines.domain.savepoints import NOT_BEGUN, QueryImage, SnapshotImage, SourceOffset, TableImage
from pipelines.savepoint import library, own_reads, own_tables, sinks, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.sink_places import Arguments
from pipelines.savepoint.sinks import Decision
from tests import delta, iceberg
from tests.savepoint.golden import NOW_MS, Bench

PARENT = "/ws/jobs/a/output"


def image(query: str, sink: str, table: str, batch: int = 5) -> QueryImage:
    return QueryImage(QueryName(query), delta.QUERY, batch, 0, 0, (), "none", 0, (), {}, sink, "", 0, 0, sink_table=table)


def reading(table: str, offset: str) -> QueryImage:
    return replace(image("silver", "noop", ""), offsets=(SourceOffset("0", offset),), tables=(table,))


BRONZE = replace(image("bronze", "delta", f"{PARENT}/bronze"), table=TableImage(4))


@pytest.mark.parametrize(
    ("offset", "is_ahead"),
    [
        (delta.offset(4), False),
        (delta.offset(5), False),
        (delta.offset(5, 0), True),
        (delta.offset(6), True),
        (delta.offset(4, 9, in_snapshot=True), False),
        (delta.offset(5, -1, in_snapshot=True), True),
        ('{"logOffset":9}', False),
    ],
)
def test_who_has_read_a_version_that_its_writer_has_not_committed_is_ahead(offset: str, is_ahead: bool) -> None:
    """However it reads them, as rows or as changes."""
    for removals in (Removals.FAIL, Removals.CHANGES, Removals.LOSES):
        silver = replace(reading(f"{PARENT}/bronze", offset), removals=(removals,))
        assert own_tables.ahead([BRONZE, silver]) == ("silver" if is_ahead else None)
    assert own_tables.ahead([BRONZE, reading("/other/bronze", offset)]) is None


@pytest.mark.parametrize(("snapshot", "is_ahead"), [(100, False), (101, False), (102, True), (iceberg_offsets.NO_SNAPSHOT, False)])
def test_who_has_read_a_snapshot_that_its_writer_has_not_committed_is_ahead(snapshot: int, is_ahead: bool, tmp_path: Path) -> None:
    snapshots = [iceberg.snapshot(100 + batch, 99 + batch if batch else None, batch) for batch in range(3)]
    iceberg.commit(tmp_path, 1, iceberg.metadata(*snapshots, main=102))
    writer = replace(image("bronze", "iceberg", "lake.db.t", 1), sink_path=str(tmp_path), snapshot=SnapshotImage("u", "main", 101))
    silver = reading(str(tmp_path), iceberg_offsets.offset_of(iceberg_offsets.Position(snapshot)))
    assert own_tables.ahead([writer, silver]) == ("silver" if is_ahead else None)
    decided = own_tables.forked([writer, silver], writer, Arguments((), (), PARENT), Decision(sinks.plan(writer, "continue", "")))
    assert "its code reads main" in message(decided.refusal)
    assert "as its writer starts" in message(own_tables.refused_going_back([writer, silver]))
    assert own_tables.refused_going_back([replace(writer, batch=2), silver]) is None, "nothing of it is later"
    variant = replace(writer, snapshot=SnapshotImage("u", "b", 101))
    assert own_tables.reader([variant, silver], variant) is None, "its branch is not what is read"


def message(refusal: TidemarkError | None) -> str:
    assert refusal is not None and refusal.code == "restore.own_read"
    return refusal.message


@pytest.mark.parametrize(
    ("before", "now", "action", "batch", "why"),
    [
        ("{output}", "{output}", "continue", 5, ""),
        ("{output}", "{output}", "fresh", 5, "nothing of that would be in the fork's"),
        ("{output}", "{output}", "fresh", NOT_BEGUN, ""),
        (PARENT, PARENT, "continue", 5, "the fork's code would still read its parent's"),
        (PARENT, "{output}", "continue", 5, ""),
    ],
)
def test_a_fork_reads_its_own_table_or_is_refused(before: str, now: str, action: str, batch: int, why: str) -> None:
    silver = replace(reading(f"{PARENT}/bronze", delta.offset(5)), batch=batch)
    begun = Decision(sinks.plan(BRONZE, action, ""))
    decided = own_tables.forked([BRONZE, silver], BRONZE, Arguments((before,), (now,), PARENT), begun)
    assert why in message(decided.refusal) if why else decided is begun


def test_a_table_that_is_read_does_not_go_back(tmp_path: Path) -> None:
    for version in range(6):
        delta.commit(tmp_path, version, [*([delta.described()] if version == 0 else []), *delta.batch(version, delta.add(f"{version}"))])
    writer = replace(image("bronze", "delta", str(tmp_path), 4), table=TableImage(4))
    silver = reading(str(tmp_path), delta.offset(5))
    refused = own_tables.refused_going_back([writer, silver])
    assert "Query silver reads the table" in message(refused)
    assert own_tables.refused_going_back([replace(writer, batch=5), silver]) is None, "nothing of it is later"
    assert own_tables.refused_going_back([writer]) is None


def test_a_table_in_the_jobs_own_output_that_the_savepoint_does_not_hold(bench: Bench) -> None:
    taken = take.take(bench.source(), Newest(), bench.library, take.Naming(SavepointId("sp-1"), NOW_MS))
    manifest = library.manifest(bench.library, taken.id)
    table = f"/elsewhere/jobs/{manifest.job}/warehouse/tables/bronze"
    reads = replace(manifest, queries=(replace(manifest.queries[0], tables=(table,)),))
    assert own_reads.stray(bench.library, reads, reads.queries[0], Arguments((), (), PARENT)) == table
    assert own_reads.stray(bench.library, reads, reads.queries[0], Arguments((), ("/elsewhere/jobs",), PARENT)) == ""
