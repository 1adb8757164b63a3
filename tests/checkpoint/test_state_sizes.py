"""What each batch wrote into each partition, from the golden checkpoints' file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.checkpoint import logs
from pipelines.checkpoint.closure import newest_committed
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.state_sizes import written
from pipelines.storage.local import LocalStorage
from tests.checkpoint.golden import checkpoint


@pytest.mark.parametrize("name", ["hdfs", "rocksdb", "rocksdb_changelog", "rocksdb_format2", "join"])
def test_every_kept_batch_has_what_it_wrote(name: str) -> None:
    storage = checkpoint(name)
    sizes, newest = written(listed(storage, "state"), 0), newest_committed(storage)
    assert newest == max(sizes)
    partitions = logs.batch_ids(listed(storage, "state").subfolders("state/0"))
    assert sorted(sizes[newest].bytes) == partitions
    assert all(size > 0 for size in sizes[newest].bytes.values())
    assert sizes[newest].at_ms > 0


def test_of_a_version_that_was_written_twice_the_change_counts(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "0" / "0"
    folder.mkdir(parents=True)
    (folder / "2.delta").write_bytes(b"12345")
    (folder / "2.snapshot").write_bytes(b"1234567890")
    (folder / "1.snapshot").write_bytes(b"123")
    assert {batch: dict(some.bytes) for batch, some in written(listed(LocalStorage(tmp_path), "state"), 0).items()} == {
        0: {0: 3},
        1: {0: 5},
    }
