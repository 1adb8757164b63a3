"""The small files one by one: what golden ones say, and what is refused."""

from __future__ import annotations

import pytest

from pipelines.checkpoint import commits, compression, metadata, offsets, operators, state_files
from pipelines.checkpoint.state_files import Kind, LineageItem
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.storage.protocol import Entry
from tests.checkpoint.golden import checkpoint, in_memory


def test_the_query_id_comes_and_goes() -> None:
    data = checkpoint("hdfs").read("metadata")
    assert metadata.serialized(metadata.parse(data)) == data


def test_an_offset_entry_of_version_1() -> None:
    entry = offsets.read(checkpoint("join"), 3)
    assert entry.version == 1
    assert dict(entry.offsets) == {"0": '{"logOffset":3}', "1": '{"logOffset":3}'}
    assert entry.batch_watermark_ms == 1_767_225_780_000
    assert entry.batch_timestamp_ms > 1_700_000_000_000


def test_a_source_without_an_offset_yet() -> None:
    assert dict(offsets.parse(0, b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":5}\n-\n{"logOffset":0}').offsets) == {
        "0": None,
        "1": '{"logOffset":0}',
    }


def test_an_offset_entry_without_metadata() -> None:
    assert offsets.parse(0, b"v1\n\n3").conf == {}


def test_commits_of_all_versions() -> None:
    assert commits.parse(1, b'v1\n{"nextBatchWatermarkMs":7}') == commits.Commit(1, 1, 7, {})
    assert commits.parse(1, b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{"0":[["a","b"],["c","d"]]}}').state_unique_ids == {
        0: (("a", "b"), ("c", "d"))
    }
    with_sink = b'v3\n{"nextBatchWatermarkMs":7,"sinkMetadataMap":{"sink":{"apiVersion":"x","isActive":true}}}'
    assert commits.parse(1, with_sink).version == 3


@pytest.mark.parametrize(
    ("parse", "newest"),
    [(lambda data: offsets.parse(0, data), 2), (lambda data: commits.parse(0, data), 3), (lambda data: operators.parse("m", data), 2)],
    ids=["offsets", "commits", "operators"],
)
def test_a_newer_version_is_refused(parse: object, newest: int) -> None:
    assert callable(parse)
    with pytest.raises(Unsupported) as caught:
        parse(f"v{newest + 1}\n{{}}".encode())
    assert caught.value.code == "checkpoint.newer_format"
    assert "Update" in caught.value.hint


def test_half_a_surrogate_pair_is_refused() -> None:
    """It could be neither printed nor a file's name."""
    with pytest.raises(Corrupt):
        metadata.parse(b'{"id":"a\\ud800b"}')
    assert metadata.parse(b'{"id":"\\ud83d\\ude00"}').query_id == "\N{GRINNING FACE}"


NAMES = {
    "12.delta": (12, "", Kind.DELTA),
    "12.snapshot": (12, "", Kind.SNAPSHOT),
    "7.changelog": (7, "", Kind.CHANGELOG),
    "7_0c1b-ff.zip": (7, "0c1b-ff", Kind.ZIP),
    "a/b/1_x.changelog": (1, "x", Kind.CHANGELOG),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_state_files(name: str) -> None:
    file = state_files.parse_name(Entry(name, 1, 0))
    assert file is not None
    assert (file.version, file.unique_id, file.kind) == NAMES[name]


@pytest.mark.parametrize("name", [".1.delta.crc", "1.delta.crc", ".1.delta.0b.tmp", "schema", "000008-ab.sst", "-1.delta", "1.0.delta"])
def test_other_names_are_no_state(name: str) -> None:
    assert state_files.parse_name(Entry(name, 1, 0)) is None


def test_a_snapshot_names_its_ssts() -> None:
    storage = checkpoint("rocksdb")
    named = state_files.immutables("9.zip", storage.read("state/0/0/9.zip"))
    assert named
    assert all(len(storage.read(f"state/0/0/{sst.path}")) == sst.bytes for sst in named)


def test_the_lineage_of_a_changelog_goes_back_to_the_last_snapshot() -> None:
    files = {path.rpartition("/")[2]: data for path, data in in_memory(checkpoint("rocksdb_format2")).files.items() if "state/0/0/" in path}
    ids = {int(name.partition("_")[0]): name.partition("_")[2][:36] for name in files if name.endswith(".changelog")}
    snapshots = {int(name.partition("_")[0]) for name in files if name.endswith(".zip") and not name.startswith(".")}
    for name in [name for name in files if name.endswith(".changelog")]:
        version = int(name.partition("_")[0])
        items = state_files.lineage(name, files[name])
        assert all(item == LineageItem(item.version, ids[item.version]) for item in items)
        assert [item.version for item in items] == list(range(version - len(items), version))
        assert version - len(items) in snapshots | {1}


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy"])
def test_the_lineage_in_every_codec(codec: str) -> None:
    text = b'[{"version":4,"checkpointUniqueId":"a"}]'
    plain = b"\x00\x02v3" + len(text).to_bytes(2, "big") + text + b"rows" * 10_000
    assert state_files.lineage("c", packed(codec, plain)[:20_000]) == (LineageItem(4, "a"),)


def packed(codec: str, plain: bytes) -> bytes:
    """What Spark's CompressionCodec writes: the frames of lz4-java and of xerial's snappy are their own."""
    import pyarrow

    if codec == "zstd":
        return bytes(pyarrow.Codec("zstd").compress(plain, asbytes=True))
    blocks = [plain[start : start + 1000] for start in range(0, len(plain), 1000)]
    if codec == "snappy":
        bodies = [bytes(pyarrow.Codec("snappy").compress(block, asbytes=True)) for block in blocks]
        return compression.SNAPPY_MAGIC + bytes(8) + b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    return b"".join(map(lz4_block, blocks))


def lz4_block(block: bytes) -> bytes:
    import pyarrow

    body = bytes(pyarrow.Codec("lz4_raw").compress(block, asbytes=True))
    return compression.LZ4_MAGIC + b"\x20" + len(body).to_bytes(4, "little") + len(block).to_bytes(4, "little") + bytes(4) + body


def test_a_changelog_of_format_1_has_no_lineage() -> None:
    with pytest.raises(Corrupt):
        state_files.lineage("1.changelog", checkpoint("rocksdb_changelog").read("state/0/0/9.changelog"))


def test_a_newer_changelog_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        state_files.lineage("c", packed("zstd", b"\x00\x02v5\x00\x02[]"))
    assert caught.value.code == "checkpoint.newer_format"


def test_a_changelog_in_lzf_is_not_read() -> None:
    with pytest.raises(Unsupported):
        state_files.lineage("c", b"ZV\x01whatever")
