"""Savepoints leave as a directory or an archive, and come back: the same, intact, or not at all."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import MANIFEST_FORMAT
from pipelines.domain.trust import Proof, Trust, Verification
from pipelines.savepoint import checksums, dispose, exports, imports, layout, library, manifests, progress_file, restore, verify
from pipelines.savepoint.addresses import address
from pipelines.storage import documents, folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from tests.savepoint import golden
from tests.savepoint.exported import FORMS, LATER_MS, SP, Seen, bring, export, members, shelf, target
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

EVENTS: dict[QueryName, dict[str, Any]] = {QueryName("counts"): {"batchId": 13, "stateOperators": [{"numRowsTotal": 3}]}}


@pytest.fixture(params=FORMS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / FORMS[request.param])


def contents(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["rocksdb_format2", "transform", "stateless", "hdfs"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["local", "memory"])
def test_there_and_back_again(name: str, form: str, place: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, name)
    taken = bench.take()
    progress_file.write(bench.library, SP, EVENTS)
    home = f"memory://{uuid4().hex}" if place == "memory" else str(tmp_path)
    export(bench, f"{home}/{FORMS[form]}", read_back=True)
    before = contents(bench.folder / "savepoints" / SP)
    brought = bring(f"{home}/{FORMS[form]}", shelf(tmp_path))
    after = contents(tmp_path / "elsewhere" / SP)
    assert {path: data for path, data in after.items() if path not in (layout.VERIFIED, layout.IMPORTED)} == before
    assert (brought.id, brought.job, brought.run, brought.created_ms) == (taken.id, taken.job, taken.run, taken.created_ms)
    assert (brought.trust, brought.verified_ms, brought.version) == (Trust.INTACT, LATER_MS, taken.version)
    assert verified(shelf(tmp_path), SP, Trust.INTACT, LATER_MS).reached is Trust.INTACT
    assert progress_file.read(shelf(tmp_path), SP) == EVENTS


def test_the_seal_covers_the_progress(bench: Bench) -> None:
    bench.take()
    progress_file.write(bench.library, SP, EVENTS)
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).reached is Trust.INTACT
    path = bench.folder / "savepoints" / SP / layout.PROGRESS
    path.write_text(path.read_text().replace("3", "4"))
    assert [damage.path for damage in verified(bench.library, SP, Trust.INTACT, NOW_MS).damages] == [layout.PROGRESS]


def test_no_progress_is_no_file(bench: Bench) -> None:
    bench.take()
    progress_file.write(bench.library, SP, {})
    assert progress_file.read(bench.library, SP) == {}
    assert not (bench.folder / "savepoints" / SP / layout.PROGRESS).exists()


def test_a_directory_is_the_savepoints_own_layout_and_nothing_beside(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    export(bench, str(tmp_path / "out" / "copy"))
    manifest = library.manifest(bench.library, SP)
    assert bench.files(tmp_path / "out" / "copy") == {file.path for file in manifest.files} | {layout.MANIFEST, layout.CHECKSUMS}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy"]


def test_an_archive_is_plain_files_manifest_and_checksums_first(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    export(bench, str(tmp_path / "out" / "copy.tar.zst"))
    files = members(tmp_path / "out" / "copy.tar.zst")
    assert [info.name for info, _ in files[:2]] == [f"{SP}/{layout.MANIFEST}", f"{SP}/{layout.CHECKSUMS}"]
    assert all(info.isreg() and info.name.startswith(f"{SP}/") and info.mtime == NOW_MS // 1000 for info, _ in files)
    assert {info.name.removeprefix(f"{SP}/"): data for info, data in files} == contents(bench.folder / "savepoints" / SP)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy.tar.zst"]


def test_any_name_can_be_an_archive(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    to = target(str(tmp_path / "bundle"), as_archive=True)
    exports.export(bench.library, SP, to, NOW_MS)
    assert (tmp_path / "bundle").is_file()
    assert bring(str(tmp_path / "bundle"), shelf(tmp_path)).id == SP


def test_progress_adds_up(bench: Bench, url: str) -> None:
    size = bench.take().bytes
    seen = Seen()
    exports.export(bench.library, SP, target(url), NOW_MS, seen, read_back=True)
    assert len(seen.steps) == 3 and all(total == size for _, total in seen.steps)
    assert seen.done == [size, size, size]
    seen = Seen()
    imports.bring(url, shelf(bench.folder), NOW_MS, seen)
    assert [total for _, total in seen.steps] == seen.done == [size] * len(seen.steps)


def test_the_plan_says_what_will_be_done_and_changes_nothing(bench: Bench, url: str) -> None:
    taken = bench.take()
    before = bench.files(bench.folder)
    planned = exports.plan(bench.library, SP, target(url), True)
    assert (planned.url, planned.files, planned.bytes, planned.disposes) == (url, taken.files, taken.bytes, True)
    assert (planned.archive, planned.how) == ((True, "archive") if url.endswith("zst") else (False, "link"))
    assert bench.files(bench.folder) == before


def test_what_is_there_is_not_written_over(bench: Bench, url: str) -> None:
    bench.take()
    export(bench, url)
    before = contents(bench.folder)
    for call in (lambda: export(bench, url), lambda: exports.plan(bench.library, SP, target(url), False)):
        with pytest.raises(AlreadyExists) as refused:
            call()
        assert refused.value.code == "export.exists" and refused.value.hint
    assert contents(bench.folder) == before


def test_an_empty_directory_may_be_there(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    (tmp_path / "out" / "copy").mkdir(parents=True)
    export(bench, str(tmp_path / "out" / "copy"))
    assert bring(str(tmp_path / "out" / "copy"), shelf(tmp_path)).id == SP


def test_a_damaged_savepoint_is_not_exported(bench: Bench, url: str) -> None:
    bench.take()
    verified(bench.library, SP, Trust.INTACT, NOW_MS)
    victim = bench.folder / "savepoints" / SP / "queries/counts/checkpoint/offsets/13"
    data = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(data[:-1] + b"?")
    if url.endswith("zst"):
        with pytest.raises(Corrupt):
            export(bench, url)
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).damages
    with pytest.raises(Corrupt) as refused:
        export(bench, url)
    assert refused.value.code == "savepoint.damaged"
    assert not (bench.folder / "out").exists() or list((bench.folder / "out").iterdir()) == []


def test_a_target_that_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    (tmp_path / "file").write_text("in the way")
    for name in ("copy", "copy.tar.zst"):
        with pytest.raises(Unavailable) as refused:
            export(bench, str(tmp_path / "file" / name))
        assert refused.value.code == "storage.not_a_file" and "lies below a file" in refused.value.message
    assert bench.files(bench.folder / "savepoints" / SP / "leases") == set()


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("/", "address.name"),
        ("s3://bucket", "address.name"),
        ("ftp://me:secret@host/x", "address.password"),
        ("nope://a/b", "storage.scheme"),
    ],
)
def test_what_is_no_address(url: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        address(url)
    assert refused.value.code == code and "secret" not in refused.value.message


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert address("a/b/").url == str(tmp_path / "a" / "b")
    assert address("s3://bucket/a/b/").url == "s3://bucket/a/b"


def test_it_is_not_disposed_of_meanwhile(bench: Bench, url: str) -> None:
    bench.take()
    met: list[TidemarkError] = []

    def disposing(piece: int) -> None:
        with pytest.raises(Conflict) as refused:
            dispose.dispose(bench.library, SP, NOW_MS)
        met.append(refused.value)

    exports.export(bench.library, SP, target(url), NOW_MS, Seen(disposing))
    assert met and met[0].code == "savepoint.in_use" and url in met[0].message
    dispose.dispose(bench.library, SP, NOW_MS)
    assert bring(url, bench.library).id == SP


class Stop(Exception):
    """What a cancel raises."""


def stop_at(piece: int) -> Callable[[int], None]:
    def at(now: int) -> None:
        if now >= piece:
            raise Stop

    return at


def sampled(pieces: int) -> list[int]:
    """The first, the last, and some in between."""
    return sorted({1, 2, pieces - 1, pieces, *range(1, pieces, max(1, pieces // 5))})


@pytest.mark.parametrize("place", ["local", "memory"])
@pytest.mark.parametrize("form", FORMS)
def test_a_cancel_at_any_piece_leaves_nothing(form: str, place: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path / "job", "stateless")
    bench.take()
    checksums.seal(bench.library, SP, NOW_MS)
    home = f"memory://{uuid4().hex}" if place == "memory" else str(tmp_path / "out")
    export(bench, f"{home}/whole{'.tar.zst' if form == 'archive' else ''}")
    counting = Seen()
    exports.export(bench.library, SP, target(f"{home}/counted", form == "archive"), NOW_MS, counting, read_back=True)
    before = {entry.path for entry in open_storage(home).list()}
    for piece in sampled(counting.pieces):
        with pytest.raises(Stop):
            to = target(f"{home}/copy", form == "archive")
            exports.export(bench.library, SP, to, NOW_MS, Seen(stop_at(piece)), read_back=True)
        assert {entry.path for entry in open_storage(home).list()} == before
    assert place == "memory" or {path.name for path in (tmp_path / "out").iterdir()} == {path.partition("/")[0] for path in before}
    whole = f"{home}/whole{'.tar.zst' if form == 'archive' else ''}"
    counting = Seen()
    imports.bring(whole, shelf(tmp_path), NOW_MS, counting)
    dispose.dispose(shelf(tmp_path), SP, NOW_MS)
    for piece in sampled(counting.pieces):
        with pytest.raises(Stop):
            imports.bring(whole, shelf(tmp_path), NOW_MS, Seen(stop_at(piece)))
        assert list(shelf(tmp_path).list()) == [] and folders.children(shelf(tmp_path)) == []


def test_a_savepoint_that_is_here_is_not_imported_again(bench: Bench, url: str) -> None:
    bench.take()
    export(bench, url)
    before = contents(bench.folder)
    with pytest.raises(AlreadyExists) as refused:
        bring(url, bench.library)
    assert refused.value.code == "savepoint.exists"
    assert contents(bench.folder) == before


@pytest.mark.parametrize("there", ["nothing", "a folder", "a file"])
def test_where_no_savepoint_is(there: str, tmp_path: Path) -> None:
    if there == "a folder":
        (tmp_path / "x").mkdir()
    elif there == "a file":
        (tmp_path / "x").write_text("hello")
    with pytest.raises(TidemarkError) as refused:
        bring(str(tmp_path / "x"), shelf(tmp_path))
    assert isinstance(refused.value, Corrupt if there == "a file" else NotFound) and refused.value.hint
    assert not (tmp_path / "elsewhere").exists()


def test_what_was_proved_elsewhere_stays_proved(bench: Bench, url: str) -> None:
    bench.take()
    proof = Proof("4.3.0", (), (), 5.0)
    levels = {Trust.INTACT: 1, Trust.PROVED: 2}
    verify.record(bench.library, Verification(SP, Trust.PROVED, Trust.PROVED, 2, 1, 1, levels=levels, proof=proof))
    export(bench, url)
    brought = bring(url, shelf(bench.folder))
    assert brought.trust is Trust.PROVED
    assert brought.levels == {Trust.COMPLETE: LATER_MS, Trust.INTACT: LATER_MS, Trust.PROVED: 2}
    seen = manifests.last_verification(shelf(bench.folder), SP)
    assert seen is not None and seen.proof == proof


def test_no_path_of_the_old_place_is_needed(tmp_path: Path, url: str) -> None:
    """transformWithState's metadata names its schema files by absolute paths."""
    bench = golden.bench(tmp_path / "old", "transform")
    bench.take()
    export(bench, url)
    bring(url, shelf(tmp_path))
    (tmp_path / "old").rename(tmp_path / "gone")
    fork = Bench(tmp_path / "new").fork()
    chosen = restore.Fork(fork.job, fork.checkpoints, fork.version, str(bench.output), fork.new_query_id, {"*": "fresh"})
    restore.restore(shelf(tmp_path), SP, chosen, NOW_MS)
    made = contents(Path(fork.checkpoints))
    assert made and not [path for path, data in made.items() if str(tmp_path / "old").encode() in data]
    schema = next(data for path, data in made.items() if "_metadata/v2/" in path and not path.endswith(".crc"))
    assert fork.checkpoints.encode() in schema


def test_a_savepoint_without_checksums_is_not_taken_on_trust(bench: Bench) -> None:
    bench.take()
    with pytest.raises(Corrupt) as refused:
        bring(str(bench.folder / "savepoints" / SP), shelf(bench.folder))
    assert refused.value.code == "import.no_checksums" and refused.value.hint


def harmed(top: Path, harm: str) -> None:
    victim = top / "queries/counts/checkpoint/offsets/13"
    data = victim.read_bytes()
    victim.unlink()
    match harm:
        case "shorter":
            victim.write_bytes(data[:-1])
        case "other":
            victim.write_bytes(data[:-1] + b"?")
        case "link":
            (top.parent / "aside").write_bytes(data)
            victim.symlink_to(top.parent / "aside")
        case "manifest" | "newer" | "checksums" | "both":
            victim.write_bytes(data)
            path = top / (layout.CHECKSUMS if harm == "checksums" else layout.MANIFEST)
            raw = json.loads(path.read_text())
            raw.update({"label": "changed"} if harm != "newer" else {"format": MANIFEST_FORMAT + 1})
            if harm == "checksums":
                raw["files"].pop("queries/counts/checkpoint/offsets/13")
            path.unlink()
            path.write_text(json.dumps(raw))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def door(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


IRREGULAR: dict[str, Callable[[Path], object]] = {
    "a pipe": pipe,
    "a socket": door,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", IRREGULAR)
@pytest.mark.parametrize("place", ["copy", "copy/manifest.json", "copy/checksums.json", "copy/queries/counts/checkpoint/offsets/13"])
def test_only_plain_files_are_opened(kind: str, place: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a pipe waits for who writes to it, and a device never ends."""
    monkeypatch.chdir(bench.folder)  # a socket's address is short
    bench.take()
    export(bench, "copy")
    victim = Path(place)
    if victim.is_dir():
        victim.rename("aside")
    else:
        victim.unlink()
    IRREGULAR[kind](victim)
    with pytest.raises(TidemarkError) as refused:
        bring("copy", shelf(bench.folder))
    assert refused.value.group in ("corrupt", "not_found") and refused.value.hint
    assert library.shelf(shelf(bench.folder)).savepoints == ()


LINKED = ["queries", "queries/counts/checkpoint/offsets", "code", layout.MANIFEST, layout.CHECKSUMS]


@pytest.mark.parametrize("linked", LINKED)
def test_a_link_is_not_followed(linked: str, bench: Bench) -> None:
    bench.take()
    copy = bench.folder / "copy"
    export(bench, str(copy))
    (copy / linked).rename(bench.folder / "aside")
    (copy / linked).symlink_to(bench.folder / "aside")
    with pytest.raises(Corrupt) as refused:
        bring(str(copy), shelf(bench.folder))
    assert refused.value.code == "import.damaged" and linked in refused.value.message
    (bench.folder / "latest").symlink_to(copy)
    (copy / linked).unlink()
    (bench.folder / "aside").rename(copy / linked)
    assert bring(str(bench.folder / "latest"), shelf(bench.folder)).id == SP


def test_what_the_manifest_does_not_name_is_neither_walked_nor_brought(bench: Bench) -> None:
    """Two links to the folder that they are in make as many paths as there are atoms."""
    bench.take()
    copy = bench.folder / "copy"
    export(bench, str(copy))
    for name in ("around", "again"):
        (copy / name).symlink_to(copy)
    assert bring(str(copy), shelf(bench.folder)).id == SP
    assert not (bench.folder / "elsewhere" / SP / "around").is_symlink()
    (copy / layout.MANIFEST).unlink()
    with pytest.raises(NotFound):
        bring(str(copy), shelf(bench.folder))


def test_a_document_of_any_size_is_not_read(bench: Bench) -> None:
    bench.take()
    export(bench, str(bench.folder / "copy"))
    os.truncate(bench.folder / "copy" / layout.MANIFEST, 1 << 40)
    with pytest.raises(Corrupt, match="larger than"):
        bring(str(bench.folder / "copy"), shelf(bench.folder))


@pytest.mark.parametrize("harm", ["missing", "shorter", "other", "link", "manifest", "checksums", "newer"])
def test_a_harmed_directory_is_refused(harm: str, bench: Bench, tmp_path: Path) -> None:
    bench.take()
    export(bench, str(tmp_path / "out" / "copy"))
    harmed(tmp_path / "out" / "copy", harm)
    with pytest.raises(TidemarkError) as refused:
        bring(str(tmp_path / "out" / "copy"), shelf(tmp_path))
    assert refused.value.group == ("unsupported" if harm == "newer" else "corrupt") and refused.value.hint
    assert library.shelf(shelf(tmp_path)).savepoints == ()
    assert not (tmp_path / "elsewhere").exists() or bench.files(tmp_path / "elsewhere") == set()


def test_another_savepoints_verification_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    export(bench, str(tmp_path / "copy"))
    other = Verification(SP, Trust.INTACT, Trust.INTACT, 2, 1, 1)
    LocalStorage(tmp_path / "copy").write(layout.VERIFIED, documents.encode(other).replace(b"sp-1", b"sp-2"))
    with pytest.raises(Corrupt):
        bring(str(tmp_path / "copy"), shelf(tmp_path))
