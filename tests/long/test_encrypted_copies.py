"""Copies that are a Spark's own, in a folder of HDFS whose files are encrypted: HDFS has checksums of other bytes than are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.sandbox import states
from pipelines.sandbox.cluster_copies import CopyTask
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.storage.addresses import open_storage
from pipelines.storage.carrying import Move
from pipelines.storage.hdfs import HdfsStorage
from tests import hadoop

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]


def test_a_copy_of_an_encrypted_file_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has a key of its own, so HDFS answers with other checksums for equal files: none of them is that of the content."""
    with hadoop.hdfs(tmp_path, {hadoop.KEYS: f"jceks://file{tmp_path}/keys.jceks"}) as server:
        server.enter(monkeypatch)
        server.say("zone /zone")
        storage = open_storage(f"{server.url}/zone")
        assert isinstance(storage, HdfsStorage)
        data = {"a/large": os.urandom(3_000_000), "a/small": b"x", "a/empty": b""}
        for path, content in data.items():
            storage.write(path, content)
        storage.write("b/there", b"")
        moves = tuple(Move(f"{storage.url}/{path}", f"{storage.url}/b/{path[2:]}", len(content)) for path, content in data.items())
        (tmp_path / "task").mkdir()
        told: list[Far] = []
        copied = states.copy(Pool(), tmp_path / "task", CopyTask(TASK_FORMAT, "copying", "local[2]", {}, moves), OWN, told.append)
        assert copied.gone == () and told
        assert {path: storage.read(f"b/{path[2:]}") for path in data} == data
        assert storage.checksum("a/large") != storage.checksum("b/large")
        assert {entry.path for entry in storage.list("b")} == {"b/large", "b/small", "b/empty", "b/there"}
