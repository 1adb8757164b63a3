"""Kafka's offsets, as its source writes them (JsonUtils.partitionOffsets): read, shown, and kept with the savepoint as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.checkpoint.closure import closure
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.versions import version
from pipelines.savepoint import take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.storage.local import LocalStorage

FIRST = '{"clicks":{"1":17,"0":42},"views":{"0":9007199254740993}}'
SECOND = '{"clicks":{"1":18,"0":50},"views":{"0":9007199254740999}}'
INITIAL = b"\0v1\n" + b'{"clicks":{"1":10,"0":40},"views":{"0":9007199254740000}}'
"""What the source keeps of where it began; it starts with a zero byte (SPARK-19517)."""
TOPIC_CALLED_LIKE_A_FILE_OFFSET = '{"logOffset":{"0":7}}'
ENTRY = '{"batchWatermarkMs":0,"batchTimestampMs":1767225600000,"conf":{"spark.sql.shuffle.partitions":"2"}}'


def checkpoint(folder: Path, name: str, *offsets: str, version: int = 1) -> LocalStorage:
    """Two committed batches of a stateless query that reads Kafka as source `name`."""
    storage = LocalStorage(folder)
    storage.write("metadata", b'{"id":"5c0f3c1e-8d0f-4f5e-9c4c-0a51f7f2a9d1"}')
    storage.write(f"sources/{name}/0", INITIAL)
    for batch, offset in enumerate(offsets):
        line = f"{name}:{offset}" if version == 2 else offset
        storage.write(f"offsets/{batch}", f"v{version}\n{ENTRY}\n{line}".encode())
        storage.write(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return storage


@pytest.mark.parametrize(("name", "log_version"), [("0", 1), ("orders", 2)])
def test_the_offsets_are_read_as_they_are(tmp_path: Path, name: str, log_version: int) -> None:
    batch_closure = closure(checkpoint(tmp_path, name, FIRST, SECOND, version=log_version), 1)
    assert batch_closure.offsets.offsets == {name: SECOND}
    assert json.loads(batch_closure.offsets.offsets[name] or "")["views"] == {"0": 9007199254740999}
    assert f"sources/{name}/0" in [entry.path for entry in batch_closure.clone]
    assert batch_closure.write == {}


def test_a_savepoint_shows_them_and_keeps_where_the_source_began(tmp_path: Path) -> None:
    checkpoint(tmp_path / "live", "0", FIRST, SECOND)
    place = QueryLocation(QueryName("orders"), str(tmp_path / "live"), "noop", "")
    job = JobSource(JobName("job"), RunId("r-1"), version("job.py", "print()\n"), "4.3.0", (place,))
    library = LocalStorage(tmp_path / "savepoints")
    taken = take.take(job, Newest(), library, take.Naming(SavepointId("sp-1"), 1))
    assert [(offset.source, offset.offset) for offset in taken.queries[0].offsets] == [("0", SECOND)]
    assert library.read("sp-1/queries/orders/checkpoint/sources/0/0") == INITIAL


def test_a_topic_may_be_called_like_a_file_sources_offset(tmp_path: Path) -> None:
    batch_closure = closure(checkpoint(tmp_path, "0", TOPIC_CALLED_LIKE_A_FILE_OFFSET, TOPIC_CALLED_LIKE_A_FILE_OFFSET), 1)
    assert batch_closure.write == {}
    assert "sources/0/0" in [entry.path for entry in batch_closure.clone]
