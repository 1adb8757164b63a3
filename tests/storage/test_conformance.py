"""One suite that every storage passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pipelines.domain.errors import Invalid, NotFound
from pipelines.storage import paths
from pipelines.storage.local import LocalStorage
from pipelines.storage.opening import open_storage
from pipelines.storage.protocol import Clone, Entry, How, Storage
from pipelines.storage.remote import FsspecStorage


@pytest.fixture(params=["local", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    yield from fresh(request.param, tmp_path / "first")


@pytest.fixture(params=["local", "memory"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    yield from fresh(request.param, tmp_path / "second")


def fresh(kind: str, folder: Path) -> Iterator[Storage]:
    url = str(folder) if kind == "local" else f"memory://{uuid4().hex}/root"
    storage = open_storage(url)
    assert storage.url == url
    yield storage
    storage.delete([entry.path for entry in storage.list()])


def listed(storage: Storage, folder: str = "") -> dict[str, int]:
    return {entry.path: entry.bytes for entry in storage.list(folder)}


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00\xff" * 700_000], ids=["empty", "small", "large"])
def test_what_is_written_is_read(storage: Storage, data: bytes) -> None:
    storage.write("a/b/c", data)
    assert storage.read("a/b/c") == data
    assert listed(storage) == {"a/b/c": len(data)}


def test_a_write_replaces(storage: Storage) -> None:
    storage.write("a", b"first, longer")
    storage.write("a", b"second")
    assert storage.read("a") == b"second"
    assert listed(storage) == {"a": 6}


def test_names_with_spaces_dots_and_signs(storage: Storage) -> None:
    for name in ("state/0/.1.delta.crc", "a b/c%20d", "x=1/part-0.parquet", "ü/ñ", "..a"):
        storage.write(name, name.encode())
        assert storage.read(name) == name.encode()
    assert len(listed(storage)) == 5


def test_list_goes_to_any_depth_and_only_below(storage: Storage) -> None:
    for path in ("a", "b/c", "b/d/e", "bb/f"):
        storage.write(path, b"x")
    assert listed(storage) == dict.fromkeys(("a", "b/c", "b/d/e", "bb/f"), 1)
    assert listed(storage, "b") == {"b/c": 1, "b/d/e": 1}
    assert listed(storage, "b/d") == {"b/d/e": 1}
    assert all(entry.modified_ms > 1_600_000_000_000 for entry in storage.list())


def test_a_folder_that_is_not_there_has_no_files(storage: Storage) -> None:
    assert listed(storage) == {}
    assert listed(storage, "none/at/all") == {}


def test_unfinished_writes_are_not_listed_and_can_be_swept(storage: Storage) -> None:
    storage.write("a/b", b"x")
    storage.write(paths.temporary("a/b"), b"half")
    assert listed(storage) == {"a/b": 1}
    assert isinstance(storage, LocalStorage | FsspecStorage)
    assert storage.sweep() == 1
    assert storage.sweep() == 0


def test_a_missing_file_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound) as caught:
        storage.read("a/b")
    assert caught.value.code == "storage.not_found"
    assert "a/b" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("path", ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\0b"])
def test_a_path_cannot_leave_the_root(storage: Storage, path: str) -> None:
    with pytest.raises(Invalid):
        storage.read(path)
    with pytest.raises(Invalid):
        storage.write(path, b"")
    with pytest.raises(Invalid):
        storage.delete([path])
    with pytest.raises(Invalid):
        list(storage.clone(storage, [Clone("a", path)]))


def test_delete_takes_files_and_the_folders_it_empties(storage: Storage) -> None:
    for path in ("a/b/c", "a/b/d", "e/f"):
        storage.write(path, b"x")
    storage.delete(["a/b/c", "e/f", "never/was"])
    assert listed(storage) == {"a/b/d": 1}
    storage.delete(["a/b/d"])
    assert listed(storage) == {}
    if isinstance(storage, LocalStorage):
        assert list(Path(storage.url).iterdir()) == []


def test_clone_from_any_to_any(storage: Storage, other: Storage) -> None:
    contents = {f"folder {number % 3}/{number}": bytes([number]) * number * 1000 for number in range(20)}
    for path, data in contents.items():
        storage.write(path, data)
    how = list(other.clone(storage, [Clone(path, f"copy/{path}") for path in contents]))
    assert {entry.path: other.read(entry.path) for entry in other.list()} == {f"copy/{path}": data for path, data in contents.items()}
    assert len(how) == 20
    assert set(how) == {expected_way(storage, other)}


def expected_way(source: Storage, target: Storage) -> How:
    if isinstance(source, LocalStorage) and isinstance(target, LocalStorage):
        return How.LINK
    both_remote = isinstance(source, FsspecStorage) and isinstance(target, FsspecStorage)
    return How.SERVER_COPY if both_remote else How.COPY


def test_clone_within_itself_and_over_what_is_there(storage: Storage) -> None:
    storage.write("a", b"new")
    storage.write("b", b"old")
    assert len(list(storage.clone(storage, [Clone("a", "b"), Clone("a", "c"), Clone("a", "c")]))) == 3
    assert {path: storage.read(path) for path in listed(storage)} == {"a": b"new", "b": b"new", "c": b"new"}


def test_a_clone_keeps_its_bytes_when_the_source_is_replaced(storage: Storage, other: Storage) -> None:
    storage.write("a", b"first")
    list(other.clone(storage, [Clone("a", "a")]))
    storage.write("a", b"second")
    assert other.read("a") == b"first"


def test_a_vanished_source_is_not_found_and_leaves_nothing(storage: Storage, other: Storage) -> None:
    with pytest.raises(NotFound) as caught:
        list(other.clone(storage, [Clone("gone", "kept/gone")]))
    assert caught.value.code == "storage.not_found"
    assert listed(other) == {}


class Wrapped:
    """A storage that is no more than the protocol: clones of it go by `read`."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    @property
    def url(self) -> str:
        return self._inner.url

    def read(self, path: str) -> bytes:
        return self._inner.read(path)

    def list(self, folder: str = "") -> Iterator[Entry]:
        return self._inner.list(folder)


def test_a_storage_of_another_kind_can_be_cloned(storage: Storage, other: Storage) -> None:
    storage.write("a", b"x")
    assert list(other.clone(Wrapped(storage), [Clone("a", "b")])) == [How.COPY]  # type: ignore[arg-type]
    assert other.read("b") == b"x"
