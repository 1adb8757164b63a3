"""What only a local folder does: links and their fallback, refusals of the operating system, nothing half-written."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Invalid, NotFound, TidemarkError, Unavailable, Unsupported
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone, How
from pipelines.storage.remote import FsspecStorage


def failing(number: int) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EACCES])
def test_what_cannot_be_linked_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    source, target = LocalStorage(tmp_path / "a"), LocalStorage(tmp_path / "b")
    source.write("x", b"data")
    monkeypatch.setattr(os, "link", failing(number))
    assert set(target.clone(source, [Clone("x", "y")])) <= {How.COPY, How.REFLINK}
    assert target.read("y") == b"data"
    assert (tmp_path / "b/y").stat().st_ino != (tmp_path / "a/x").stat().st_ino


def test_another_file_system_is_copied_to(tmp_path: Path, other_disk: Path) -> None:
    source, target = LocalStorage(other_disk), LocalStorage(tmp_path)
    source.write("x", b"data" * 1000)
    assert list(target.clone(source, [Clone("x", "x")])) == [How.COPY]
    assert target.read("x") == b"data" * 1000


def test_a_new_file_takes_nobodys_name(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a/1", b"first")
    (tmp_path / "a/1").chmod(0o640)
    assert storage.write_new("a/2", b"second", like="a/1") and not storage.write_new("a/2", b"third", like="a/1")
    assert storage.read("a/2") == b"second" and (tmp_path / "a/2").stat().st_mode & 0o777 == 0o640
    with pytest.raises(Unavailable):
        storage.write_new("a/2/3", b"", like="a/1")
    assert sorted(os.listdir(tmp_path / "a")) == ["1", "2"]


def test_a_link_costs_no_bytes(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a", b"data")
    assert list(storage.clone(storage, [Clone("a", "b")])) == [How.LINK]
    assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino


def test_links_of_many_folders_leave_none_of_them_open(tmp_path: Path) -> None:
    source, target = LocalStorage(tmp_path / "a"), LocalStorage(tmp_path / "b")
    names = [f"{folder}/{name}" for folder in ("x", "x/y", "z") for name in "12"]
    for name in names:
        source.write(name, name.encode())
    target.write("to/x/2", b"was there")
    (tmp_path / "a/z/3").symlink_to("1")
    opened = len(os.listdir("/proc/self/fd"))
    ways = target.clone(source, [Clone(name, f"to/{name}") for name in (*names, "z/3")])
    assert set(ways) == {How.LINK} and len(os.listdir("/proc/self/fd")) == opened
    assert [target.read(f"to/{name}") for name in names] == [name.encode() for name in names]
    assert (tmp_path / "b/to/z/3").is_symlink(), "what is linked is the name itself"
    assert sorted(entry.path for entry in target.list("to")) == sorted(f"to/{name}" for name in (*names, "z/3"))
    with pytest.raises(NotFound):
        target.clone(source, [Clone("gone/1", "to/4")])
    assert len(os.listdir("/proc/self/fd")) == opened


CODES = {
    errno.ENOSPC: "storage.full",
    errno.EDQUOT: "storage.full",
    errno.EACCES: "storage.denied",
    errno.EROFS: "storage.read_only",
    errno.EIO: "storage.failed",
}


@pytest.mark.parametrize(("number", "code"), CODES.items())
def test_a_refused_write_has_a_code_a_hint_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a", b"old")
    monkeypatch.setattr(os, "fsync", failing(number))
    with pytest.raises(Unavailable) as caught:
        storage.write("a", b"new")
    assert caught.value.code == code
    assert caught.value.message.startswith(f"{tmp_path}/a: ") and caught.value.hint, "it says which disk"
    monkeypatch.undo()
    assert storage.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(("number", "code"), CODES.items())
def test_a_refused_copy_has_a_code_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a", b"old")
    monkeypatch.setattr(os, "link", failing(errno.EXDEV))
    monkeypatch.setattr(os, "fsync", failing(number))
    with pytest.raises(Unavailable) as caught:
        list(storage.clone(storage, [Clone("a", "b")]))
    assert caught.value.code == code and caught.value.message.startswith(f"{tmp_path}/b: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_in_the_way_of_a_folder(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a", b"x")
    with pytest.raises(TidemarkError):
        storage.write("a/b", b"x")
    with pytest.raises(TidemarkError):
        storage.read("a/b")


def test_readers_see_a_whole_file_while_it_is_replaced(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    versions = [bytes([number]) * 50_000 for number in range(30)]
    storage.write("a", versions[0])
    writer = threading.Thread(target=lambda: [storage.write("a", version) for version in versions])
    writer.start()
    seen = {storage.read("a")}
    while writer.is_alive():
        seen.add(storage.read("a"))
    writer.join()
    assert seen <= set(versions)
    assert storage.read("a") == versions[-1]


def test_temporary_names_are_fresh_and_beside() -> None:
    names = {paths.temporary("a/b/c") for _ in range(100)}
    assert len(names) == 100
    assert all(paths.parent(name) == "a/b" and paths.is_temporary(name) for name in names)
    assert not paths.is_temporary("a/.tmp/b")


@pytest.mark.parametrize(
    ("url", "place"), [("/a/b", "/a/b"), ("file:/a/b", "/a/b"), ("file:///a%20b", "/a b"), ("file://localhost/a", "/a"), ("/a/b/", "/a/b")]
)
def test_addresses_of_this_machine(url: str, place: str) -> None:
    storage = open_storage(url)
    assert isinstance(storage, LocalStorage)
    assert storage.url == place


def test_addresses_elsewhere() -> None:
    assert isinstance(open_storage("memory://a"), FsspecStorage)
    with pytest.raises(Invalid) as unknown:
        open_storage("nonsense://bucket/a")
    assert unknown.value.code == "storage.scheme"


def test_a_scheme_without_its_client_says_what_to_install() -> None:
    with pytest.raises(Unsupported) as caught:
        open_storage("gs://bucket/a")
    assert caught.value.code == "storage.no_client"
    assert "gs" in caught.value.hint


def test_paths_join() -> None:
    assert paths.join("a", "", "b/c") == "a/b/c"
    assert list(paths.ancestors("a/b/c")) == ["a/b", "a"]
    with pytest.raises(Invalid):
        paths.join("a", "..", "b")
