"""Versions of a Delta table by the batches of a query, and the files of a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from pipelines.checkpoint import delta_log
from pipelines.checkpoint.delta_log import LogNames, Snapshot
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.storage.local import LocalStorage
from tests.delta import QUERY, add, batch, commit, remove


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Another writer makes it, the query writes batches 0, 1 and 3 (2 has no rows), and somebody compacts it before the last."""
    commit(tmp_path, 0, [add("made")])
    commit(tmp_path, 1, batch(0, add("first")))
    commit(tmp_path, 2, batch(1, add("second")))
    commit(tmp_path, 3, [remove("first"), remove("second"), add("both")])
    commit(tmp_path, 4, batch(7, add("others"), query="another"))
    commit(tmp_path, 5, batch(3, add("third")))
    return tmp_path


def opened(table: Path) -> tuple[LocalStorage, LogNames]:
    storage = LocalStorage(table)
    return storage, delta_log.names(storage.list())


def at(table: Path, version: int) -> Snapshot:
    return delta_log.snapshot(*opened(table), version)


@pytest.mark.parametrize(("number", "version"), [(-1, 0), (0, 1), (1, 2), (2, 2), (3, 5), (9, 5)])
def test_a_batch_is_found_by_its_transaction(number: int, version: int, table: Path) -> None:
    assert delta_log.version_of(*opened(table), QUERY, number) == version


def test_a_query_that_wrote_nothing_has_the_newest_version(table: Path) -> None:
    assert delta_log.version_of(*opened(table), "nobody", 4) == 5


def test_a_version_has_the_files_that_were_added_and_not_removed(table: Path) -> None:
    assert [sorted(at(table, version).files) for version in (0, 2, 3, 5)] == [
        ["made"], ["first", "made", "second"], ["both", "made"], ["both", "made", "others", "third"],
    ]  # fmt: skip
    assert at(table, 5).transactions == {QUERY: 3, "another": 7}


def checkpoint(table: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns: dict[str, pa.DataType] = {
        "txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]),
        "add": pa.struct([("path", pa.string()), ("size", pa.int64()), ("stats", pa.string())]),
        "metaData": pa.struct([("id", pa.string()), ("configuration", pa.map_(pa.string(), pa.string()))]),
        "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]),
    }
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=pa.schema(columns)), table / "_delta_log" / name)


def test_a_checkpoint_stands_for_the_commits_before_it(table: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"txn": {"appId": QUERY, "version": 1}},
        {"metaData": {"id": "t", "configuration": [("a", "b")]}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"add": {"path": "both", "size": 4}},
    ]
    checkpoint(table, f"{3:020d}.checkpoint.parquet", rows)
    checkpoint(table, f"{4:020d}.checkpoint.{1:010d}.{2:010d}.parquet", rows)
    for version in range(4):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    assert (at(table, 5).files, at(table, 3).configuration) == ({"both": 4, "others": 4, "third": 4}, {"a": "b"})
    assert delta_log.version_of(*opened(table), QUERY, 2) == 4
    with pytest.raises(Corrupt, match=r"version 2 of the table"):
        at(table, 2)


UNKNOWN = {
    "a shallow clone": (add("file:/lake/part-0.parquet"), "lies outside of it"),
    "an absolute path": (add("/lake/part-0.parquet"), "lies outside of it"),
    "a path that leads out": (add("day=1/../../other/part-0.parquet"), "lies outside of it"),
    "an escaped path that leads out": (add("%2E%2E/other/part-0.parquet"), "lies outside of it"),
    "a deletion vector": (add("part-0", deletionVector={"storageType": "u", "pathOrInlineDv": "x"}), "deletion vector"),
    "a feature": ({"protocol": {"minReaderVersion": 3, "readerFeatures": ["deletionVectors", "somebodysOwn"]}}, "somebodysOwn"),
    "a newer protocol": ({"protocol": {"minReaderVersion": 4}}, "version 4"),
}


@pytest.mark.parametrize(("action", "why"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_links_would_not_keep_is_refused(action: Mapping[str, Any], why: str, table: Path) -> None:
    commit(table, 6, batch(4, action))
    with pytest.raises(Unsupported, match=why):
        at(table, 6)
    assert at(table, 5).files


def test_names_in_the_log_are_escaped(tmp_path: Path) -> None:
    commit(tmp_path, 0, [add("day=a%2520b/part%25.parquet")])
    assert list(at(tmp_path, 0).files) == ["day=a%20b/part%.parquet"]


def test_a_damaged_commit_is_named(table: Path) -> None:
    (table / "_delta_log" / f"{5:020d}.json").write_text('{"add": {"path": 3}}\n{"txn"')
    for read in (lambda: at(table, 5), lambda: delta_log.version_of(*opened(table), QUERY, 3)):
        with pytest.raises(Corrupt, match=r"00005\.json is damaged"):
            read()
