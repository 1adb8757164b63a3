"""A crash, an error or a silently truncated write at any step of an export or an import: what is listed or importable is whole, and
once the next start has cleaned, nothing else is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import pytest

from pipelines.domain.errors import TidemarkError
from pipelines.domain.trust import Trust
from pipelines.savepoint import checksums, library
from pipelines.savepoint.batch_choice import OfBatch
from pipelines.savepoint.exports import clean as clean_exports
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from tests.savepoint import golden
from tests.savepoint.exported import FORMS, SP, bring, export, shelf, target
from tests.savepoint.faulty import Delays, Fails, Fault, FaultyStorage, Killed, Kills, break_folders
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

Wrap = Callable[[Storage], Storage]
Verb = Callable[[Bench, str, Wrap], None]


def exports(bench: Bench, url: str, wrap: Wrap) -> None:
    export(bench, url, library=wrap(bench.library), read_back=True, open_at=lambda at: wrap(open_storage(at)))


def imports(bench: Bench, url: str, wrap: Wrap) -> None:
    bring(url, wrap(shelf(bench.folder)), open_at=lambda at: wrap(open_storage(at)))


def prepared(folder: Path, verb: Verb, url: str) -> Bench:
    """A sealed savepoint of a small job's first batches, made once beside `folder`; exported already for an import.

    Of the fewest files that there are of each kind: every file is several steps, and each step is a try.
    """
    first = folder.parent / "first"
    if not first.exists():
        made = golden.bench(first, "stateless")
        made.take(choice=OfBatch(1))
        checksums.seal(made.library, SP, NOW_MS)
        for live in (made.checkpoint, made.output):
            shutil.rmtree(live)
    shutil.copytree(first, folder, copy_function=os.link)
    bench = Bench(folder, "stateless")
    if verb is imports:
        export(bench, url)
    return bench


def strike(bench: Bench, verb: Verb, url: str, fault: Fault) -> BaseException | None:
    with pytest.MonkeyPatch.context() as patch:
        break_folders(patch, fault)
        try:
            verb(bench, url, lambda storage: FaultyStorage(storage, fault))
        except (Killed, TidemarkError) as error:
            return error
    return None


def places(kind: str, form: str, folder: Path) -> str:
    home = f"memory://{uuid4().hex}" if kind == "memory" else str(folder)
    return f"{home}/{FORMS[form]}"


def assert_whole(bench: Bench) -> None:
    for listed in (bench.library, shelf(bench.folder)):
        listing = library.shelf(listed)
        assert listing.unreadable == ()
        for savepoint in listing.savepoints:
            assert verified(listed, savepoint.id, Trust.INTACT, NOW_MS).damages == ()


def assert_importable_or_nothing(bench: Bench, url: str) -> None:
    """What is at `url` is imported and intact, or it is refused."""
    other = LocalStorage(bench.folder / "tried")
    try:
        brought = bring(url, other)
    except TidemarkError:
        assert folders.children(other) == []
        return
    assert verified(other, brought.id, Trust.INTACT, NOW_MS).damages == ()


def clean(bench: Bench, url: str) -> None:
    for shelved in (bench.library, shelf(bench.folder)):
        library.clean(shelved, NOW_MS, lives=lambda *_: False)
    clean_exports(target(url))


def everything(url: str) -> set[str]:
    """All that is beside what `url` names, unfinished writes too."""
    home, _, _ = url.rpartition("/")
    if "://" not in home:
        return {str(path.relative_to(home)) for path in Path(home).rglob("*")} if Path(home).exists() else set()
    import fsspec

    fs, root = fsspec.core.url_to_fs(home)
    return {path[len(root) + 1 :] for path in fs.find(root)}


def assert_clean(bench: Bench, url: str, allowed: set[str]) -> None:
    """At the target is an export or nothing; in the library its savepoints, and no more."""
    assert everything(url) in (set(), allowed)
    for shelved in (bench.library, shelf(bench.folder)):
        listed = {savepoint.id for savepoint in library.shelf(shelved).savepoints}
        assert set(folders.children(shelved)) == listed
        for savepoint in listed:
            beside = {"manifest.json", "checksums.json", "verified.json", "imported.json"}
            expected = {file.path for file in library.manifest(shelved, savepoint).files} | beside
            assert {entry.path.removeprefix(f"{savepoint}/") for entry in shelved.list(savepoint)} <= expected


@pytest.mark.parametrize("kind", ["local", "memory"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", [exports, imports])
@pytest.mark.parametrize("fault", [Kills, Fails])
def test_at_every_step(fault: type[Fault], verb: Verb, form: str, kind: str, tmp_path: Path) -> None:
    url = places(kind, form, tmp_path / "counted")
    counting, bench = Fault(0), prepared(tmp_path / "counted", verb, url)
    assert strike(bench, verb, url, counting) is None
    allowed = everything(url)
    assert counting.steps > 10 and allowed
    stride = 1 if kind == "local" else 3
    for step in range(1, counting.steps + 1, stride):
        url = places(kind, form, tmp_path / str(step))
        bench = prepared(tmp_path / str(step), verb, url)
        error = strike(bench, verb, url, fault(step))
        assert error is not None or fault is Fails, step
        assert_whole(bench)
        if verb is exports:
            assert_importable_or_nothing(bench, url)
        left = kind == "memory" and form == "archive" and fault is Kills and verb is exports
        clean(bench, url)
        assert_whole(bench)
        if left:  # a name that nobody lists and nobody reads: see `data/README.md`
            assert {path for path in everything(url) if ".tmp-" not in path} in (set(), allowed)
        else:
            assert_clean(bench, url, allowed)
        shutil.rmtree(bench.folder)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", [exports, imports])
def test_others_start_and_clean_while_a_step_takes_long(verb: Verb, form: str, tmp_path: Path) -> None:
    def others(bench: Bench) -> None:
        for shelved in (bench.library, shelf(bench.folder)):
            library.clean(shelved, NOW_MS)

    counting, bench = Fault(0), prepared(tmp_path / "counted", verb, url := places("local", form, tmp_path / "counted"))
    assert strike(bench, verb, url, counting) is None
    allowed = everything(url)
    for step in range(1, counting.steps + 1, 2):
        url = places("local", form, tmp_path / str(step))
        bench = prepared(tmp_path / str(step), verb, url)
        assert strike(bench, verb, url, Delays(step, meanwhile=partial(others, bench))) is None, step
        assert_whole(bench)
        assert_clean(bench, url, allowed)
        assert everything(url) and (verb is exports or folders.children(shelf(bench.folder)) == [SP])
        shutil.rmtree(bench.folder)


class Short:
    """A file that silently keeps less than it is given."""

    def __init__(self, file: Any, keep: Callable[[bytes], bytes]) -> None:
        self._file, self._keep = file, keep

    def write(self, data: bytes) -> int:
        self._file.write(self._keep(bytes(data)))
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@dataclass
class Truncating:
    """The `at`-th write loses its last bytes (a document ends with a newline, which is none of it), and nobody is told."""

    at: int
    writes: int = 0

    def keep(self, data: bytes) -> bytes:
        self.writes += 1
        return data[:-2] if self.writes == self.at else data


@dataclass(frozen=True)
class TruncatingStorage(FaultyStorage):
    """`Storage` over another that counts writes of content, whichever way they come."""

    writes: Truncating

    def write(self, path: str, data: bytes) -> None:
        self.inner.write(path, self.writes.keep(data))

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        assert isinstance(self.inner, LocalStorage)
        with self.inner.writing(path) as file:
            yield Short(file, self.writes.keep)

    def clone(self, source: Storage, files: Any, advance: Any = None) -> list[Any]:
        """Copied by hand: a link cannot lose bytes."""
        from pipelines.storage import copies
        from pipelines.storage.protocol import How

        for file in files:
            with copies.opened(source, file.source) as stream, self.writing(file.target) as written:
                copies.pour(stream, written)
        return [How.COPY for _ in files]


def truncated(bench: Bench, verb: Verb, url: str, writes: Truncating) -> TidemarkError | None:
    with pytest.MonkeyPatch.context() as patch:
        put = folders.put

        def putting(storage: Storage, files: Mapping[str, bytes]) -> None:
            put(storage, {path: writes.keep(data) for path, data in files.items()})

        patch.setattr(folders, "put", putting)
        try:
            verb(bench, url, lambda storage: TruncatingStorage(storage, Fault(0), writes))
        except TidemarkError as error:
            return error
    return None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", [exports, imports])
def test_a_write_that_loses_bytes_is_noticed(verb: Verb, form: str, tmp_path: Path) -> None:
    """Whichever write it is: of a file, of a document, of a piece of an archive; what is listed afterwards verifies."""
    url = places("local", form, tmp_path / "counted")
    counting, bench = Truncating(0), prepared(tmp_path / "counted", verb, url)
    assert truncated(bench, verb, url, counting) is None
    assert counting.writes >= (2 if form == "archive" and verb is exports else 10)
    for step in range(1, counting.writes + 1):
        url = places("local", form, tmp_path / str(step))
        bench = prepared(tmp_path / str(step), verb, url)
        error = truncated(bench, verb, url, Truncating(step))
        noticed = error is not None or not intact(shelf(bench.folder))
        assert noticed or step in HARMLESS, step
        assert_importable_or_nothing(bench, url)
        if error is not None:
            assert library.shelf(shelf(bench.folder)).savepoints == (), (step, error)
            assert verb is imports or not Path(url).exists()
        shutil.rmtree(bench.folder)


HARMLESS = {1}
"""The lease of an export and the process mark of an import: no savepoint depends on either."""


def intact(shelved: Storage) -> bool:
    """Whether everything that is listed verifies; that something does not is what a user sees."""
    try:
        listing = library.shelf(shelved)
        return listing.unreadable == () and not [
            damage for savepoint in listing.savepoints for damage in verified(shelved, savepoint.id, Trust.INTACT, NOW_MS).damages
        ]
    except TidemarkError:
        return False
