"""HDFS of its own: where its NameNode is found, what each piece of work asks of it, and what it refuses."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Invalid, NotFound, Unavailable
from pipelines.storage import copies, folders, paths, users
from pipelines.storage.addresses import open_storage
from pipelines.storage.hdfs import HdfsStorage, client, namenodes
from pipelines.storage.hdfs.files import PART_BYTES
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone, How
from tests.hadoop import Hdfs
from tests.storage.web_hdfs import Gate, serving

ROOT = Path(__file__).parents[2]
SITE = {"fs.defaultFS": "hdfs://nn:8020", "dfs.namenode.http-address": "nn:9870"}
PAIR = {
    "fs.defaultFS": "hdfs://lake",
    "dfs.nameservices": "lake,other",
    "dfs.ha.namenodes.lake": "a, b",
    "dfs.namenode.http-address.lake.a": "one:9870",
    "dfs.namenode.http-address.lake.b": "two:9871",
}


def write_conf(folder: Path, settings: dict[str, str]) -> str:
    entries = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    (folder / "hdfs-site.xml").write_text(f"<configuration>{entries}</configuration>")
    return str(folder)


@pytest.mark.parametrize(
    ("url", "settings", "urls"),
    [
        ("hdfs://nn:8020/a", SITE, ("http://nn:9870",)),
        ("hdfs://nn/a", SITE, ("http://nn:9870",)),
        ("hdfs:///a", SITE, ("http://nn:9870",)),
        ("hdfs://nn:8020/a", {"fs.defaultFS": "hdfs://nn"}, ("http://nn:9870",)),
        ("hdfs://nn:8020/a", {**SITE, "dfs.namenode.http-address": "0.0.0.0:50070"}, ("http://nn:50070",)),
        ("hdfs://nn:8020/a", {"dfs.namenode.rpc-address": "nn:8020"}, ("http://nn:9870",)),
        ("hdfs://nn:8020/a", {**SITE, "dfs.http.policy": "HTTPS_ONLY"}, ("https://nn:9871",)),
        ("hdfs://lake/a", PAIR, ("http://one:9870", "http://two:9871")),
        ("hdfs:///a", PAIR, ("http://one:9870", "http://two:9871")),
        ("webhdfs://nn:9870/a", {}, ("http://nn:9870",)),
        ("webhdfs://nn/a", {}, ("http://nn:9870",)),
        ("swebhdfs://nn/a", {}, ("https://nn:9871",)),
    ],
)
def test_the_namenode_is_found_by_hadoops_configuration(url: str, settings: dict[str, str], urls: tuple[str, ...], tmp_path: Path) -> None:
    assert namenodes.find(url, {"HADOOP_CONF_DIR": write_conf(tmp_path, settings)}).urls == urls


def test_a_setting_says_where_the_namenode_answers(tmp_path: Path) -> None:
    environ = {"TIDEMARK_WEBHDFS": "other:1=http://x:1, nn:8020=http://gate:14000/, nn:8020=http://gate2:14000"}
    assert namenodes.find("hdfs://nn:8020/a", environ).urls == ("http://gate:14000", "http://gate2:14000")
    both = {**environ, "HADOOP_CONF_DIR": write_conf(tmp_path, SITE)}
    assert namenodes.find("hdfs://nn:8020/a", both).urls == ("http://gate:14000", "http://gate2:14000")


@pytest.mark.parametrize("url", ["hdfs://elsewhere:8020/a", "hdfs:///a", "hdfs://other/a"])
def test_a_namenode_that_nothing_names_is_refused_with_what_to_set(url: str, tmp_path: Path) -> None:
    conf = {"HADOOP_CONF_DIR": write_conf(tmp_path, {"dfs.nameservices": "other", "dfs.namenode.http-address": "nn:9870"})}
    for environment in ({}, conf):
        with pytest.raises(Invalid) as refused:
            namenodes.find(url, environment)
        assert refused.value.code == "storage.namenode"
        assert "HADOOP_CONF_DIR" in refused.value.hint and "TIDEMARK_WEBHDFS" in refused.value.hint


def test_a_configuration_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    with pytest.raises(Invalid) as refused:
        namenodes.find("hdfs://nn:8020/a", {"HADOOP_CONF_DIR": str(tmp_path)})
    assert refused.value.code == "storage.hadoop_conf"


def test_a_user_in_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refused:
        open_storage("hdfs://me@nn:8020/a")
    assert refused.value.code == "storage.credentials_in_url"


@pytest.fixture
def storage(hdfs_url: str) -> HdfsStorage:
    storage = open_storage(hdfs_url)
    assert isinstance(storage, HdfsStorage)
    return storage


@pytest.fixture
def requests(storage: HdfsStorage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """What is asked of the NameNode, by operation."""
    counted: Counter[str] = Counter()
    ask = client.Client.ask

    def counting(self: client.Client, operation: str, *given: Any, **options: Any) -> Any:
        counted[operation] += 1
        return ask(self, operation, *given, **options)

    monkeypatch.setattr(client.Client, "ask", counting)
    yield counted


def test_both_names_are_one_storage_and_nothing_is_copied_by_it(storage: HdfsStorage, hdfs: Hdfs) -> None:
    storage.write("a", b"x")
    other = open_storage(storage.url.replace(hdfs.url, hdfs.web))
    assert other.read("a") == b"x"
    assert folders.expected_how(storage, other) is How.COPY is next(iter(other.clone(storage, [Clone("a", "b")])))
    assert storage.read("b") == b"x"


def test_what_each_piece_of_work_asks(storage: HdfsStorage, requests: Counter[str], tmp_path: Path) -> None:
    source = LocalStorage(tmp_path)
    names = [f"a/{number % 3}/{number}" for number in range(12)]
    for name in names:
        source.write(name, name.encode())
    list(storage.clone(source, [Clone(name, name) for name in names]))
    assert requests == {"CREATE": 12, "RENAME": 12}
    requests.clear()
    assert sorted(entry.path for entry in storage.list()) == sorted(names)
    assert requests == {"LISTSTATUS": 5}
    requests.clear()
    folders.rename(storage, "a", "b/c")
    assert requests == {"MKDIRS": 1, "RENAME": 1}
    requests.clear()
    folders.remove(storage, "b")
    assert requests == {"DELETE": 1} and list(storage.list()) == []


def test_a_folder_is_not_renamed_over_another(storage: HdfsStorage) -> None:
    folders.put(storage, {"a/b": b"1", "c/d": b"2"})
    with pytest.raises(Unavailable):
        folders.rename(storage, "a", "c")
    assert {entry.path for entry in storage.list()} == {"a/b", "c/d"}


def test_large_files_are_sent_in_parts_and_read_from_anywhere(storage: HdfsStorage, requests: Counter[str], tmp_path: Path) -> None:
    data = os.urandom(2 * PART_BYTES + 1_000)
    source = LocalStorage(tmp_path)
    source.write("a", data)
    told: list[int] = []
    list(storage.clone(source, [Clone("a", "b")], told.append))
    assert requests == {"CREATE": 1, "APPEND": 2, "RENAME": 1} and sum(told) == len(data)
    assert storage.read("b") == data
    with copies.opened(storage, "b") as file:
        assert file.read(10) == data[:10]
        assert file.seek(-500, io.SEEK_END) == len(data) - 500 and file.read() == data[-500:]
        assert file.seek(PART_BYTES) == PART_BYTES and file.read(100) == data[PART_BYTES : PART_BYTES + 100]
        assert file.seek(len(data) + 5) and file.read() == b""


def test_a_checksum_is_that_of_the_content_and_reads_nothing(storage: HdfsStorage, requests: Counter[str]) -> None:
    folders.put(storage, {"a": b"x" * 1_000, "b/ä 1%2F#?": b"x" * 1_000, "c": b"y" * 1_000, "empty": b""})
    requests.clear()
    first, same, other, empty = (storage.checksum(path) for path in ("a", "b/ä 1%2F#?", "c", "empty"))
    assert first == same and len({first, other, empty}) == 3 and "CRC32C:" in first
    with pytest.raises(NotFound):
        storage.checksum("gone")
    assert requests.keys() == {"GETFILECHECKSUM"}


def test_a_file_in_the_way_is_said(storage: HdfsStorage) -> None:
    storage.write("a", b"x")
    with pytest.raises(Unavailable) as caught:
        storage.write("a/b", b"y")
    assert caught.value.code == "storage.not_a_file"
    assert list(storage.list("a/b")) == [] and folders.children(storage, "a") == []
    with pytest.raises(NotFound):
        storage.stream("b")


def refusals(storage: HdfsStorage, verbs: str = "write list children read delete remove") -> set[tuple[str, bool]]:
    """Code of, and whether there is a hint in, what each verb is refused with."""
    ways = {
        "write": lambda: storage.write("a/b", b"x"),
        "list": lambda: list(storage.list("a")),
        "children": lambda: folders.children(storage, "a"),
        "read": lambda: storage.read("a/b"),
        "delete": lambda: storage.delete(["a/b"]),
        "remove": lambda: folders.remove(storage, "a"),
    }
    errors = set()
    for verb in verbs.split():
        with pytest.raises(Unavailable) as caught:
            ways[verb]()
        errors.add((caught.value.code, bool(caught.value.hint)))
    return errors


def test_who_may_not_is_denied(storage: HdfsStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.write("a/b", b"x")
    storage._client.ask("SETPERMISSION", storage._at("a"), "PUT", permission="700")
    assert storage._client.status(storage._at("a/b"))["owner"] == users.name()
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    other = open_storage(storage.url)
    assert isinstance(other, HdfsStorage)
    assert refusals(other) == {("storage.denied", True)}


def test_safe_mode_is_said(storage: HdfsStorage, hdfs: Hdfs) -> None:
    storage.write("a/b", b"x")
    hdfs.say("safe")
    try:
        assert refusals(storage, "write delete remove") == {("storage.safe_mode", True)}
        assert storage.read("a/b") == b"x"
    finally:
        hdfs.say("back")


def test_a_quota_is_no_space_left(storage: HdfsStorage) -> None:
    storage.write("a/b", b"x")
    storage._client.ask("SETQUOTA", storage._root, "PUT", namespacequota="3")
    assert refusals(storage, "write") == {("storage.full", True)}
    assert [entry.path for entry in storage.list()] == ["a/b"] and storage.sweep() == 0


def test_a_namenode_that_is_gone_or_never_answers(storage: HdfsStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        gone = open_storage(f"webhdfs://127.0.0.1:{port}/a")
        assert isinstance(gone, HdfsStorage)
        assert refusals(gone) == {("storage.unreachable", True)}
    assert refusals(gone) == {("storage.unreachable", True)}


def test_a_gone_namenode_is_told_within_a_minute_or_so() -> None:
    assert client.TRIES * (client.CONNECT_S + client.ANSWER_S) <= 60


@pytest.mark.parametrize(("not_closed", "creations"), [(1, 2), (client.WRITES, client.WRITES)])
def test_a_file_that_a_busy_datanode_did_not_close_is_written_again(
    hdfs_url: str, hdfs: Hdfs, not_closed: int, creations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(hdfs.web.replace("webhdfs", "http"), not_closed)
    with serving(gate) as url:
        monkeypatch.setenv("TIDEMARK_WEBHDFS", f"{hdfs.url.removeprefix('hdfs://')}={url}")
        storage = open_storage(hdfs_url)
        assert isinstance(storage, HdfsStorage)
        if creations > not_closed:
            storage.write("a/b", b"whole")
            assert storage.read("a/b") == b"whole"
        else:
            assert refusals(storage, "write") == {("storage.busy", True)}
        assert gate.sent == creations
        assert [path for path, _ in storage._below("")] == ["a/b"] * (creations > not_closed)


KILLED = """
import os, signal, sys
from pipelines.storage import copies
from pipelines.storage.addresses import open_storage
with copies.writing(open_storage(sys.argv[1]), "a/b") as file:
    for _ in range(5):
        file.write(bytes(4 * 1024 * 1024))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_was_writing_is_swept(storage: HdfsStorage) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, storage.url], cwd=ROOT, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert list(storage.list()) == [] and [paths.is_temporary(path) for path, _ in storage._below("")] == [True]
    assert storage.sweep("elsewhere") == 0 and storage.sweep("a") == 1 == 1 + storage.sweep("a")


@pytest.mark.parametrize(("not_closed", "appends"), [(2, 4), (client.WRITES, client.WRITES)])
def test_a_part_that_was_not_closed_is_written_anew_of_what_hdfs_has(
    hdfs_url: str, hdfs: Hdfs, not_closed: int, appends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(2 * PART_BYTES + 1_000)
    gate = Gate(hdfs.web.replace("webhdfs", "http"), not_closed, "APPEND")
    with serving(gate) as url:
        monkeypatch.setenv("TIDEMARK_WEBHDFS", f"{hdfs.url.removeprefix('hdfs://')}={url}")
        storage = open_storage(hdfs_url)
        assert isinstance(storage, HdfsStorage)
        if appends > not_closed:
            with storage.writing("a/b") as file:
                file.writelines((data[:PART_BYTES], data[PART_BYTES : 2 * PART_BYTES], data[2 * PART_BYTES :]))
            assert storage.read("a/b") == data
        else:
            with pytest.raises(Unavailable) as refused, storage.writing("a/b") as file:
                file.writelines((data[:PART_BYTES], data[PART_BYTES : 2 * PART_BYTES]))
            assert refused.value.code == "storage.busy"
        assert gate.sent == appends
        assert [path for path, _ in storage._below("")] == ["a/b"] * (appends > not_closed)
