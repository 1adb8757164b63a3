"""A savepoint that is disposed of while its checksums are computed: nothing of it comes back."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.savepoint import checksums, dispose
from pipelines.storage import folders
from pipelines.storage.local import LocalStorage
from tests.savepoint.faulty import Fault, FaultyStorage
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

SP = SavepointId("sp-1")


@dataclass(frozen=True)
class Disposing(FaultyStorage):
    """Somebody else disposes of the savepoint right before the document `name` is written."""

    name: str

    def write(self, path: str, data: bytes) -> None:
        if path == f"{SP}/{self.name}":
            dispose.dispose(self.inner, SP, NOW_MS)
        self.inner.write(path, data)


@pytest.mark.parametrize("name", ["checksums.json", "verified.json"])
def test_what_is_written_too_late_is_taken_away(name: str, bench: Bench) -> None:
    bench.take()
    with pytest.raises(NotFound) as caught:
        verified(Disposing(bench.library, Fault(0), name), SP, Trust.INTACT, NOW_MS)
    assert caught.value.code == "savepoint.not_found"
    assert folders.children(bench.library) == []


def test_a_file_that_comes_while_its_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sealer's last write, in the middle of a disposal: the folder goes all the same."""
    library = LocalStorage(tmp_path)
    library.write("sp-1/a", b"a")
    comes = iter(["late", "later"])
    rmdir = os.rmdir

    def removing(path: Any, **more: Any) -> None:
        if (name := next(comes, None)) is not None:
            (tmp_path / "sp-1" / name).touch()
        rmdir(path, **more)

    monkeypatch.setattr(os, "rmdir", removing)
    folders.remove(library, "sp-1")
    assert folders.children(library) == []


def test_a_file_that_goes_while_its_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written aside, then renamed: the old name is gone when its turn comes."""
    library = LocalStorage(tmp_path)
    for name in ("aside", "b", "c"):
        library.write(f"sp-1/{name}", b"data")
    unlink = os.unlink

    def unlinking(path: Any, **more: Any) -> None:
        if (aside := tmp_path / "sp-1" / "aside").exists():
            aside.rename(aside.with_name("renamed"))
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", unlinking)
    folders.remove(library, "sp-1")
    assert folders.children(library) == []


def test_the_seal_of_a_savepoint_that_stays_is_kept(bench: Bench) -> None:
    bench.take()
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).reached is Trust.INTACT
    assert checksums.read(bench.library, SP) is not None
    shutil.rmtree(Path(bench.library.url) / SP / "queries")
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).reached is None
