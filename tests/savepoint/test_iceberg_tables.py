"""The Iceberg table of a query in a savepoint: the snapshot that is noted, and what a fork, a resume and a promotion make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import metadata as checkpoint_metadata
from pipelines.domain.errors import Unsupported
from pipelines.domain.iceberg_turns import TURN_FILE, Kind, Turn
from pipelines.domain.ids import SavepointId
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.savepoints import Manifest, SnapshotImage
from pipelines.savepoint import adoptions, iceberg_tables, library, restore, sinks, take, targets
from pipelines.savepoint.adoptions import Adopting
from pipelines.savepoint.batch_choice import BatchChoice, Newest, OfBatch
from pipelines.savepoint.source import JobSource
from pipelines.words import savepoints as words
from tests import iceberg
from tests.savepoint.golden import NEWEST, NOW_MS, Bench

NAME = "lake.db.counts"


@pytest.fixture
def query_id(bench: Bench) -> str:
    return checkpoint_metadata.parse((bench.checkpoint / "metadata").read_bytes()).query_id


def lines(query_id: str, *more: Mapping[str, Any], **branches: int) -> dict[str, Any]:
    """A table whose snapshot 100 + N has batch N of the bench's query, each of a parent with the batch before, and `more`."""
    own = [iceberg.snapshot(100 + number, 99 + number if number else None, number, query=query_id) for number in range(NEWEST + 1)]
    return iceberg.metadata(*own, *more, **{"main": 100 + NEWEST, **branches})


@pytest.fixture
def table(query_id: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In no folder of a job: a fork would have one of its own there."""
    folder = tmp_path_factory.mktemp("lake") / "db" / "counts"
    iceberg.commit(folder, 1, lines(query_id))
    return folder


def source(bench: Bench, table: Path, name: str = NAME) -> JobSource:
    job = bench.source("iceberg")
    return replace(job, queries=(replace(job.queries[0], sink_path=str(table), sink_table=name),))


def taken(bench: Bench, table: Path, choice: BatchChoice | None = None, name: str = NAME) -> Manifest:
    naming = take.Naming(SavepointId("sp-1"), NOW_MS)
    return library.manifest(bench.library, take.take(source(bench, table, name), choice or Newest(), bench.library, naming).id)


def told(folder: str) -> Turn:
    """What the driver finds beside the checkpoints."""
    return rebuilt(Turn, json.loads((Path(folder) / TURN_FILE).read_text()))


def test_the_snapshot_of_the_batch_is_noted_and_said(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    assert manifest.queries[0].snapshot == SnapshotImage(iceberg.TABLE, "main", 109)
    assert words.snapshots(manifest.queries) == (f"counts: snapshot 109 of branch main of {NAME}",)
    assert words.left_tables(manifest.queries) == ()


def test_a_fork_has_a_branch_that_begins_with_it(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    (sink,) = restore.plan(bench.library, manifest, bench.fork()).sinks
    assert sink.action == "continue" and f"writes to branch fork of {NAME}" in sink.message and "snapshot 109" in sink.message
    restored = restore.restore(bench.library, manifest.id, bench.fork(), NOW_MS)
    assert told(restored.sink_logs[manifest.queries[0].query]) == Turn(1, Kind.FORK, iceberg.TABLE, "fork", 109)
    assert targets.own_tables(manifest, bench.fork()) == {"counts": str(table)}


def test_a_fresh_fork_begins_where_the_table_stands_and_without_rows(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    restored = restore.restore(bench.library, manifest.id, replace(bench.fork(), sinks={"*": "fresh"}), NOW_MS)
    assert told(restored.sink_logs[manifest.queries[0].query]) == Turn(1, Kind.FRESH, iceberg.TABLE, "fork", 100 + NEWEST)


def test_a_fork_whose_arguments_name_another_table_has_no_branch(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table)
    manifest = replace(manifest, version=replace(manifest.version, args=(NAME,)))
    target = bench.fork(running=replace(manifest.version, args=("lake.db.other",)))
    planned = restore.plan(bench.library, manifest, target)
    assert (planned.refusal, planned.sinks[0].action) == (None, "none")


def test_what_stands_against_a_fork_is_said(bench: Bench, table: Path, query_id: str) -> None:
    manifest = taken(bench, table, OfBatch(9))
    iceberg.commit(table, 2, lines(query_id, iceberg.snapshot(300, 109, 10, query="older"), fork=300))
    refused = restore.plan(bench.library, manifest, bench.fork()).refusal
    assert refused is not None and "has a branch fork already" in refused.message and "drop branch fork" in refused.hint
    assert restore.plan(bench.library, manifest, bench.fork("another")).refusal is None
    expired = lines(query_id)
    iceberg.commit(table, 3, {**expired, "snapshots": expired["snapshots"][10:]})
    refused = restore.plan(bench.library, manifest, bench.fork()).refusal
    assert refused is not None and "snapshot 109 has expired" in refused.message and refused.code == "restore.history_gone"
    assert restore.plan(bench.library, manifest, replace(bench.fork(), sinks={"*": "fresh"})).refusal is None


def test_a_snapshot_that_is_not_there_any_more_is_noted_as_such(bench: Bench, table: Path, query_id: str) -> None:
    expired = lines(query_id)
    iceberg.commit(table, 2, {**expired, "snapshots": expired["snapshots"][10:]})
    manifest = taken(bench, table, OfBatch(9))
    (left,) = words.left_tables(manifest.queries)
    assert "has expired" in left and "A fork begins with this sink fresh" in left
    assert restore.plan(bench.library, manifest, bench.fork()).refusal is not None


def test_a_table_of_another_catalog_has_no_branch_of_a_fork(bench: Bench, table: Path) -> None:
    newest = table / "metadata" / "v1.metadata.json"
    newest.rename(newest.with_name(f"00001-{iceberg.TABLE}.metadata.json"))
    manifest = taken(bench, table)
    (left,) = words.left_tables(manifest.queries)
    assert "Tidemark reads those of a Hadoop catalog" in left and "A fork needs another table in its arguments" in left
    for sink in ("continue", "fresh"):
        refused = restore.plan(bench.library, manifest, replace(bench.fork(), sinks={"*": sink})).refusal
        assert refused is not None and "Its catalog alone knows" in refused.message and "another table" in refused.hint


def test_a_table_that_pyiceberg_does_not_read_is_not_compared_and_says_why(tmp_path: Path) -> None:
    """As Iceberg on Spark 4.1 writes the metadata of a table with a VARIANT column; its snapshot is noted as any."""
    fields = [{"id": 1, "name": "v", "required": False, "type": "variant"}]
    content = {
        **iceberg.metadata(iceberg.snapshot(1, None), main=1), "format-version": 3, "last-sequence-number": 1, "last-updated-ms": 1,
        "last-column-id": 1, "next-row-id": 0, "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}], "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0, "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "current-snapshot-id": 1,
    }  # fmt: skip
    iceberg.commit(tmp_path, 1, content)
    with pytest.raises(Unsupported, match=r"cannot be compared from its files: pyiceberg does not read it \(.*'variant'\)"):
        iceberg_tables.files(str(tmp_path), "lake.db.t")


def test_a_resume_takes_the_branch_back(bench: Bench, table: Path, query_id: str) -> None:
    manifest = taken(bench, table, OfBatch(9))
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    assert sink.action == "cut" and "goes back to snapshot 109" in sink.message and sinks.refused_going_back([sink]) is None
    restored = restore.restore(bench.library, manifest.id, bench.resume(), NOW_MS)
    assert told(restored.sink_logs[manifest.queries[0].query]) == Turn(1, Kind.BACK, iceberg.TABLE, "main", 109, query_id, 9, 109)


HINDERED: dict[str, tuple[list[dict[str, Any]], dict[str, int], str]] = {
    "rows of others": ([iceberg.snapshot(200, 100 + NEWEST)], {"main": 200}, "others changed its rows in snapshot 200"),
    "a compaction": ([iceberg.snapshot(200, 100 + NEWEST, operation="replace")], {"main": 200}, ""),
    "others wrote before it did": ([iceberg.snapshot(200, 109)], {"main": 200}, ""),
    "taken back behind it": ([], {"main": 105}, "do not say any more who wrote"),
    "another line": ([iceberg.snapshot(200, None, 50, query="QUERY")], {"main": 200}, "do not say any more who wrote"),
}


@pytest.mark.parametrize(("more", "branches", "why"), HINDERED.values(), ids=HINDERED.keys())
def test_a_branch_goes_back_only_where_its_query_alone_wrote(
    more: list[dict[str, Any]], branches: dict[str, int], why: str, bench: Bench, table: Path, query_id: str
) -> None:
    manifest = taken(bench, table, OfBatch(9))
    named = json.loads(json.dumps(more).replace("QUERY", query_id))
    iceberg.commit(table, 2, lines(query_id, *named, **branches))
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    refused = sinks.refused_going_back([sink])
    assert (refused is None) == (not why) and sink.action == ("none" if why else "cut")
    assert refused is None or (refused.code == "sink.remembers" and why in refused.message)


def test_a_fork_that_was_promoted_does_not_go_back_behind_that(bench: Bench, table: Path, query_id: str) -> None:
    """Iceberg looks in main for the batches that it has, also of a query that writes to another branch."""
    manifest = taken(bench, table, OfBatch(9), f"{NAME}.branch_b")
    iceberg.commit(table, 2, lines(query_id, b=100 + NEWEST))
    manifest = replace(manifest, queries=(replace(manifest.queries[0], snapshot=SnapshotImage(iceberg.TABLE, "b", 109)),))
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    assert sink.action == "none" and "main has later batches" in sink.message


ADOPTED = {
    "the parent wrote on": ([iceberg.snapshot(200, 109, 10, query="parents")], {"main": 200, "b": 100 + NEWEST}, 109, ""),
    "the parent stopped": ([], {"main": 109, "b": 100 + NEWEST}, 109, ""),
    "others wrote": ([iceberg.snapshot(200, 109)], {"main": 200, "b": 100 + NEWEST}, 109, "others changed its rows in snapshot 200"),
    "not noted": ([], {"main": 109, "b": 100 + NEWEST}, None, "did not note its snapshot"),
}


@pytest.mark.parametrize(("more", "branches", "since", "why"), ADOPTED.values(), ids=ADOPTED.keys())
def test_a_promotion_puts_the_parents_branch_to_its_variants(
    more: list[dict[str, Any]], branches: dict[str, int], since: int | None, why: str, bench: Bench, table: Path, query_id: str
) -> None:
    iceberg.commit(table, 2, lines(query_id, *more, **branches))
    (image,) = taken(bench, table, name=f"{NAME}.branch_b").queries
    sink = adoptions.sink_of(image, Adopting("parents", str(table), since, branch="main"))
    assert sink.decision.plan.action == ("refuse" if why else "swap")
    assert sink.decision.refusal is None or (sink.decision.refusal.code == "promote.table" and why in sink.decision.refusal.message)
    if not why:
        turn = rebuilt(Turn, json.loads(sink.written[TURN_FILE]))
        assert turn == Turn(1, Kind.ADOPT, iceberg.TABLE, "main", 100 + NEWEST, "parents", NEWEST, 109)


def test_another_table_is_not_adopted(bench: Bench, table: Path, query_id: str) -> None:
    (image,) = taken(bench, table).queries
    for home, branch, why in (("/elsewhere", "b", "another table"), (str(table), "main", "branch main, too")):
        refused = adoptions.sink_of(image, Adopting("parents", home, 109, branch=branch)).decision.refusal
        assert refused is not None and why in refused.message
