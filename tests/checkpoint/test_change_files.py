"""Which files tell what single batches changed, as names of real checkpoints have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.checkpoint.change_files import ChangeFiles, change_files, folders
from pipelines.checkpoint.listing import listed
from pipelines.storage.addresses import open_storage

GOLDEN = Path(__file__).parents[1] / "golden"
NEWEST = 13


def chosen(golden: str, since: int, newest: int = NEWEST) -> ChangeFiles:
    listing = listed(open_storage(str(GOLDEN / golden / "checkpoint")))
    return change_files(listing, folders(0, [1], "default"), since, newest)


@pytest.mark.parametrize(("golden", "kind"), [("hdfs", "delta"), ("rocksdb_format2", "changelog"), ("rocksdb_changelog", "changelog")])
def test_changes_are_those_of_one_partition_with_the_logs_of_their_batches(golden: str, kind: str) -> None:
    changes = chosen(golden, 10)
    assert changes.since == 10
    names = [entry.path for entry in changes.files if not entry.path.endswith(".crc")]
    state = sorted(name for name in names if name.startswith("state/"))
    assert {name.rpartition("/")[0] for name in state} == {"state/0/1"} and all(name.endswith(kind) for name in state)
    assert [int(name.rpartition("/")[2].partition(".")[0].partition("_")[0]) for name in state] == [12, 13, 14]
    assert sorted(set(names) - set(state)) == sorted(f"{log}/{batch}" for log in ("offsets", "commits") for batch in (10, 11, 12, 13))


def test_a_store_of_snapshots_alone_has_none_and_purged_batches_are_left_out() -> None:
    assert chosen("rocksdb", 10) == ChangeFiles(NEWEST, ())
    purged = chosen("hdfs_purged", 0)
    assert 0 < purged.since < NEWEST and purged.files
