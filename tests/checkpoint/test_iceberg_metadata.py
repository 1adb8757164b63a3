"""Snapshots of an Iceberg table by the batches of a query, and names with a branch."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pipelines.checkpoint import iceberg_metadata
from pipelines.domain import iceberg as domain
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.iceberg import Table
from pipelines.storage.local import LocalStorage
from tests.iceberg import QUERY, TABLE, commit, metadata, snapshot

WRITTEN = metadata(
    snapshot(10, None),
    snapshot(11, 10, 0),
    snapshot(12, 11, 1),
    snapshot(13, 12, operation="replace"),
    snapshot(14, 13, 7, query="another"),
    snapshot(15, 14, 3),
    snapshot(22, 12, 2, query="a-fork"),
    main=15,
    b=22,
)
"""Another writer makes it, the query writes batches 0, 1 and 3 (2 has no rows), and somebody compacts it before the last; a fork's branch
left it after batch 1."""


def table(tmp_path: Path) -> Table:
    commit(tmp_path, 9, metadata(main=1))
    commit(tmp_path, 10, WRITTEN)
    read = iceberg_metadata.read(LocalStorage(tmp_path))
    assert read is not None
    return read


@pytest.mark.parametrize(("number", "snapshot"), [(-1, 10), (0, 11), (1, 12), (2, 12), (3, 15), (9, 15)])
def test_a_batch_is_found_by_what_its_write_noted(number: int, snapshot: int, tmp_path: Path) -> None:
    assert domain.of_batch(table(tmp_path), "main", QUERY, number) == snapshot


def test_each_branch_has_its_own_line(tmp_path: Path) -> None:
    read = table(tmp_path)
    assert [domain.of_batch(read, "b", "a-fork", number) for number in (1, 2, 5)] == [12, 22, 22]
    assert (domain.of_batch(read, "b", QUERY, 3), domain.newest_batch(read, "b", QUERY)) == (12, 1)
    assert (domain.of_batch(read, "b", "nobody", 4), domain.of_batch(read, "new", QUERY, 4)) == (22, None)
    assert (read.uuid, read.location) == (TABLE, str(tmp_path))


@pytest.mark.parametrize(("left", "number"), [((14, 15), 1), ((15,), 2), ((13, 14), 9)])
def test_what_has_expired_is_not_guessed_at(left: tuple[int, ...], number: int) -> None:
    kept = [raw for raw in WRITTEN["snapshots"] if raw["snapshot-id"] in left]
    read = domain.table_of({**WRITTEN, "snapshots": kept, "refs": {"main": {"snapshot-id": left[-1], "type": "branch"}}})
    with pytest.raises(Unsupported, match="cannot be taken back"):
        domain.of_batch(read, "main", QUERY, number)


def test_who_changed_rows_is_said(tmp_path: Path) -> None:
    read = table(tmp_path)
    assert domain.changed_by_others(read, 13, 11, QUERY) == "", "a compaction changes none"
    assert "snapshot 14" in domain.changed_by_others(read, 15, 12, QUERY)
    beyond = domain.table_of({**WRITTEN, "snapshots": WRITTEN["snapshots"][1:]})
    assert "do not say any more who wrote" in domain.changed_by_others(beyond, 13, 9, QUERY)


def test_metadata_may_be_compressed_and_of_before_there_were_branches(tmp_path: Path) -> None:
    folder = tmp_path / "metadata"
    folder.mkdir()
    old = {"table-uuid": TABLE, "location": "/t", "current-snapshot-id": 5, "snapshots": [{"snapshot-id": 5}]}
    (folder / "v2.gz.metadata.json").write_bytes(gzip.compress(json.dumps(old).encode()))
    read = iceberg_metadata.read(LocalStorage(tmp_path))
    assert read is not None and read.branches == {"main": 5}
    (folder / "v3.metadata.json").write_text(json.dumps({**old, "current-snapshot-id": -1}))
    read = iceberg_metadata.read(LocalStorage(tmp_path))
    assert read is not None and read.branches == {}


DAMAGED = {
    "no JSON": b"{",
    "no table": b"{}",
    "a snapshot without an id": json.dumps({**WRITTEN, "snapshots": [{}]}).encode(),
    "an id that is no number": json.dumps({**WRITTEN, "snapshots": [{"snapshot-id": "x"}]}).encode(),
    "a batch that is no number": json.dumps(
        metadata({**snapshot(1, None, 1), "summary": {domain.QUERY_ID: "q", domain.EPOCH_ID: "x"}})
    ).encode(),
    "a list": b"[]",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_metadata_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v4.metadata.json").write_bytes(content)
    with pytest.raises(Corrupt, match=r"v4\.metadata\.json is damaged"):
        iceberg_metadata.read(LocalStorage(tmp_path))


def test_a_table_of_another_catalog_is_not_read(tmp_path: Path) -> None:
    assert iceberg_metadata.read(LocalStorage(tmp_path)) is None
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / f"00003-{TABLE}.metadata.json").write_text("{}")
    with pytest.raises(Unsupported, match="Hadoop catalog"):
        iceberg_metadata.read(LocalStorage(tmp_path))


NAMES = [
    ("lake.db.t", "main", "lake.db.t"),
    ("lake.db.t", "b", "lake.db.t.branch_b"),
    ("lake.db.t", "my-job", "lake.db.t.`branch_my-job`"),
    ("/lake/t", "main", "/lake/t"),
    ("/lake/t", "my-job", "/lake/t#branch_my-job"),
]


@pytest.mark.parametrize(("table_name", "branch", "name"), NAMES)
def test_a_name_says_its_branch(table_name: str, branch: str, name: str) -> None:
    assert domain.on_branch(table_name, branch) == name
    assert domain.split(name) == (table_name, branch)
