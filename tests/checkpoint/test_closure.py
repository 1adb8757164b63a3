"""Closures of checkpoints that real Spark wrote: whole, minimal, and found from one listing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pipelines.checkpoint import relocation
from pipelines.checkpoint.closure import closure, newest_committed
from pipelines.checkpoint.provider import Provider
from pipelines.checkpoint.retained import retained
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unsupported
from pipelines.storage.protocol import Entry
from tests.checkpoint.golden import NAMES, ROCKSDB, STATEFUL, MemoryStorage, checkpoint, in_memory
from tests.checkpoint.materialise import materialise

KINDS = {
    "hdfs": (Provider.HDFS, 1, 1),
    "hdfs_purged": (Provider.HDFS, 1, 1),
    "limit": (Provider.HDFS, 1, 1),
    "limit_format2": (Provider.ROCKSDB, 2, 1),
    "join": (Provider.ROCKSDB, 2, 4),
    "named": (Provider.ROCKSDB, 2, 1),
    "rate": (Provider.NONE, 1, 0),
    "rocksdb": (Provider.ROCKSDB, 1, 1),
    "rocksdb_changelog": (Provider.ROCKSDB, 1, 1),
    "rocksdb_format2": (Provider.ROCKSDB, 2, 1),
    "stateless": (Provider.NONE, 1, 0),
    "transform": (Provider.ROCKSDB, 2, 1),
}


def is_state(path: str) -> bool:
    return path.startswith("state/") and "_metadata" not in path and "_stateSchema" not in path and not path.endswith(".crc")


def test_every_golden_is_described() -> None:
    assert sorted(KINDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_retained_batch_has_a_closure(name: str) -> None:
    storage = checkpoint(name)
    batches = retained(storage)
    assert batches[-1].batch == newest_committed(storage)
    for batch in batches:
        batch_closure = closure(storage, batch.batch)
        stores = sum(len(operator.stores) for operator in batch_closure.operators)
        assert (batch_closure.provider, batch_closure.format_version, stores) == KINDS[name]
        assert (batch_closure.offsets.batch_timestamp_ms, batch_closure.offsets.batch_watermark_ms) == (
            batch.timestamp_ms,
            batch.watermark_ms,
        )
        assert batch_closure.total_bytes == sum(entry.bytes for entry in batch_closure.clone) + sum(map(len, batch_closure.write.values()))
        assert all(operator.partitions == (1 if operator.name == "globalLimit" else 2) for operator in batch_closure.operators)


@pytest.mark.parametrize("name", NAMES)
def test_a_closure_is_self_contained(name: str) -> None:
    """What was made from a closure has the same closure again, and nothing beside it."""
    source = checkpoint(name)
    for batch in retained(source):
        target = MemoryStorage({})
        materialise(closure(source, batch.batch), source, target)
        again = closure(target, batch.batch)
        assert {entry.path for entry in again.clone} | again.write.keys() == target.files.keys()
        assert dict(again.write) == {path: target.files[path] for path in again.write}
        assert newest_committed(target) == batch.batch
        assert [restored.batch for restored in retained(target)][-1] == batch.batch


@pytest.mark.parametrize("name", STATEFUL)
def test_every_state_file_of_a_closure_is_needed(name: str) -> None:
    source = checkpoint(name)
    for batch in retained(source):
        target = MemoryStorage({})
        materialise(closure(source, batch.batch), source, target)
        needed = [path for path in target.files if is_state(path)]
        assert needed
        for path in needed:
            without = MemoryStorage({file: data for file, data in target.files.items() if file != path})
            with pytest.raises(Corrupt) as caught:
                closure(without, batch.batch)
            assert caught.value.code == "checkpoint.missing_file"


@pytest.mark.parametrize("name", NAMES)
def test_one_listing_and_few_reads(name: str) -> None:
    storage = in_memory(checkpoint(name))
    batch = newest_committed(storage)
    assert batch is not None
    storage.lists = storage.reads = 0
    batch_closure = closure(storage, batch)
    assert storage.lists == 1
    assert storage.reads < 6 + len(batch_closure.clone)


def test_hdfs_takes_the_newest_snapshot_and_later_deltas() -> None:
    files = [entry.path for entry in closure(checkpoint("hdfs"), 9).clone if is_state(entry.path) and entry.path.startswith("state/0/0/")]
    assert files == ["state/0/0/10.delta", "state/0/0/8.snapshot", "state/0/0/9.delta"]


def test_format_2_takes_only_the_ids_of_the_commit() -> None:
    source = in_memory(checkpoint("rocksdb_format2"))
    batch_closure = closure(source, 9)
    stray = "state/0/0/10_00000000-0000-0000-0000-000000000000.changelog"
    source.files[stray] = b"left by an attempt that failed"
    assert closure(source, 9).clone == batch_closure.clone


@pytest.mark.parametrize("name", ROCKSDB)
def test_a_snapshot_comes_with_its_ssts(name: str) -> None:
    source = checkpoint(name)
    files = [entry.path for entry in closure(source, retained(source)[-1].batch).clone]
    assert any(path.endswith(".zip") for path in files)
    assert any("/SSTs/" in path and path.endswith(".sst") for path in files)


def test_an_sst_of_another_size_is_corrupt() -> None:
    source = in_memory(checkpoint("rocksdb"))
    sst = next(entry.path for entry in closure(source, 12).clone if entry.path.endswith(".sst"))
    source.files[sst] += b"x"
    with pytest.raises(Corrupt) as caught:
        closure(source, 12)
    assert caught.value.code == "checkpoint.malformed"
    assert sst in caught.value.message


@pytest.mark.parametrize("name", ["limit", "limit_format2"])
def test_a_global_operator_has_one_partition_whatever_its_metadata_says(name: str) -> None:
    (operator,) = closure(checkpoint(name), 5).operators
    assert '"numPartitions":2' in checkpoint(name).read("state/0/_metadata/metadata").decode()
    assert (operator.name, operator.partitions) == ("globalLimit", 1)


@pytest.mark.parametrize("name", ["hdfs", "rocksdb_changelog", "rocksdb_format2"])
def test_before_it_was_rescaled_a_batch_has_fewer_partitions(name: str) -> None:
    source = in_memory(checkpoint(name))
    before = closure(source, 9).clone
    source.files["state/0/_metadata/metadata"] = source.files["state/0/_metadata/metadata"].replace(b'tions":2', b'tions":4')
    for path in [path for path in source.files if path.startswith("state/0/1/")]:
        for partition in (2, 3):
            source.files[path.replace("state/0/1/", f"state/0/{partition}/")] = source.files[path]
    batch_closure = closure(source, 9)
    assert batch_closure.operators[0].partitions == 2
    states = [entry.path for entry in batch_closure.clone if is_state(entry.path)]
    assert states == [entry.path for entry in before if is_state(entry.path)]
    assert 9 in {batch.batch for batch in retained(source)}


def test_a_lost_partition_is_missing() -> None:
    for name in ("join", "rocksdb_format2"):
        source = in_memory(checkpoint(name))
        source.delete([path for path in source.files if path.startswith("state/0/1/")])
        assert retained(source) == ()
        with pytest.raises(Corrupt):
            closure(source, 5)


def test_batch_0() -> None:
    batch_closure = closure(checkpoint("hdfs"), 0)
    logs = [entry.path for entry in batch_closure.clone if entry.path.startswith(("offsets/", "commits/"))]
    assert [path for path in logs if not path.endswith(".crc")] == ["commits/0", "offsets/0"]
    assert list(batch_closure.write) == ["sources/0/0"]


def test_checksums_come_along() -> None:
    for name in ("hdfs", "rocksdb_format2"):
        paths = {entry.path for entry in closure(checkpoint(name), 9).clone}
        assert ".metadata.crc" in paths
        assert "offsets/.9.crc" in paths
        assert {f"{folder}/.{file}.crc" for folder, _, file in (path.rpartition("/") for path in filter(is_state, paths))} <= paths
    assert any(path.endswith(".changelog.crc") and "/." not in path for path in paths)


def test_gaps_of_async_progress() -> None:
    """Async progress tracking writes every few batches: the entry before is the one before in the folder."""
    source = in_memory(checkpoint("stateless"))
    for batch in (6, 7, 8):
        for folder in ("offsets", "commits"):
            source.delete([f"{folder}/{batch}", f"{folder}/.{batch}.crc"])
    paths = {entry.path for entry in closure(source, 9).clone}
    assert {"offsets/5", "offsets/9", "commits/5", "commits/9"} <= paths
    assert [retained_batch.batch for retained_batch in retained(source)] == [0, 1, 2, 3, 4, 5, 9, 10, 11, 12]


def test_other_sources_are_cloned_whole() -> None:
    batch_closure = closure(checkpoint("rate"), 1)
    assert {"sources/0/0", "sources/0/.0.crc"} <= {entry.path for entry in batch_closure.clone}
    assert batch_closure.write == {}


def test_named_sources_are_cut_by_name() -> None:
    batch_closure = closure(checkpoint("named"), 11)
    assert batch_closure.offsets.version == 2
    assert dict(batch_closure.offsets.offsets) == {"clicks": '{"logOffset":11}', "views": '{"logOffset":11}'}
    assert {"sources/clicks/9.compact", "sources/views/9.compact", "sources/views/11"} <= batch_closure.write.keys()
    assert not any(entry.path.startswith("sources/") for entry in batch_closure.clone)


def test_a_planned_batch_is_no_committed_one() -> None:
    with pytest.raises(Conflict) as caught:
        closure(checkpoint("hdfs"), 14)
    assert caught.value.code == "checkpoint.not_committed"
    assert "13" in caught.value.message


def test_a_purged_batch_is_not_retained() -> None:
    assert [batch.batch for batch in retained(checkpoint("hdfs_purged"))] == [10, 11, 12, 13]
    with pytest.raises(Corrupt) as caught:
        closure(checkpoint("hdfs_purged"), 9)
    assert caught.value.code == "checkpoint.missing_file"
    assert "offsets/8" in caught.value.message


def test_a_folder_that_is_no_checkpoint() -> None:
    for ask in (retained, lambda storage: closure(storage, 0)):
        with pytest.raises(NotFound) as caught:
            ask(MemoryStorage({"a": b""}))
        assert caught.value.code == "checkpoint.not_found"
    assert newest_committed(MemoryStorage({})) is None


def test_a_checkpoint_before_its_first_commit() -> None:
    source = MemoryStorage({"metadata": b'{"id":"x"}', "offsets/0": checkpoint("hdfs").read("offsets/0")})
    assert newest_committed(source) is None
    assert retained(source) == ()


class Lagging(MemoryStorage):
    """Its first listing misses what a batch wrote meanwhile, as that of a live checkpoint may."""

    def list(self, folder: str = "") -> Iterator[Entry]:
        entries = [*super().list(folder)]
        yield from entries if self.lists > 1 else [entry for entry in entries if not entry.path.startswith("state/0/1/14")]


def test_a_listing_that_was_too_old_is_made_again() -> None:
    source = Lagging(in_memory(checkpoint("rocksdb_format2")).files)
    assert closure(source, 13).clone == closure(checkpoint_in_memory("rocksdb_format2"), 13).clone
    assert source.lists == 2


def checkpoint_in_memory(name: str) -> MemoryStorage:
    return in_memory(checkpoint(name))


def test_another_state_store_is_refused() -> None:
    source = in_memory(checkpoint("hdfs"))
    source.files["offsets/5"] = source.files["offsets/5"].replace(b"HDFSBackedStateStoreProvider", b"MyProvider")
    with pytest.raises(Unsupported) as caught:
        closure(source, 5)
    assert "MyProvider" in caught.value.message


def test_the_schema_files_of_transform_with_state_move_along() -> None:
    source = checkpoint("transform")
    batch_closure = closure(source, 5)
    assert batch_closure.relocate == ("state/0/_metadata/v2/0",)
    moved = relocation.relocated(batch_closure.relocate[0], source.read(batch_closure.relocate[0]), "file:/elsewhere/c")
    body = json.loads(moved.partition(b"\n")[2])
    (path,) = body["stateStoreInfo"][0]["stateSchemaFilePaths"]
    assert path.startswith("file:/elsewhere/c/state/0/_stateSchema/default/0_")
    assert path.removeprefix("file:/elsewhere/c/") in {entry.path for entry in batch_closure.clone}
    before = json.loads(source.read(batch_closure.relocate[0]).partition(b"\n")[2])
    before["stateStoreInfo"][0]["stateSchemaFilePaths"] = body["stateStoreInfo"][0]["stateSchemaFilePaths"]
    assert before == body


def test_the_pinned_confs() -> None:
    conf = closure(checkpoint("rocksdb"), 3).conf
    assert conf["spark.sql.shuffle.partitions"] == "2"
    assert conf["spark.sql.streaming.stateStore.providerClass"].endswith("RocksDBStateStoreProvider")
