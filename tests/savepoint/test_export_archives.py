"""Archives that were damaged on their way, or made with intent: none of them is imported, and nothing of them is left."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipelines.domain.errors import Corrupt, TidemarkError, Unsupported
from pipelines.domain.savepoints import MANIFEST_FORMAT
from pipelines.savepoint import layout
from pipelines.savepoint.unpack import Unpacked
from pipelines.storage import folders
from tests.savepoint import golden
from tests.savepoint.exported import SP, bring, export, members, packed, shelf

Contents = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = golden.bench(tmp_path_factory.mktemp("job"), "stateless")
    bench.take()
    export(bench, str(bench.folder / "copy.tar.zst"))
    return bench.folder / "copy.tar.zst"


def refused(path: Path, into: Path) -> TidemarkError:
    with pytest.raises((Corrupt, Unsupported)) as error:
        bring(str(path), shelf(into))
    assert error.value.hint
    assert list(shelf(into).list()) == [] and folders.children(shelf(into)) == []
    return error.value


def info(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = len(data), kind, link
    return made, data


def document(contents: Contents, name: str) -> dict[str, Any]:
    return json.loads(next(data for member, data in contents if member.name == f"{SP}/{name}"))


def replaced(contents: Contents, name: str, data: bytes) -> Contents:
    return [info(member.name, data if member.name == f"{SP}/{name}" else old) for member, old in contents]


def resealed(contents: Contents, change: Callable[[dict[str, Any]], object]) -> Contents:
    """A manifest that was changed by somebody who can compute checksums, too."""
    manifest, seal = document(contents, layout.MANIFEST), document(contents, layout.CHECKSUMS)
    change(manifest)
    data = json.dumps(manifest).encode()
    seal["files"] = {**seal["files"], layout.MANIFEST: hashlib.sha256(data).hexdigest()}
    return replaced(replaced(contents, layout.MANIFEST, data), layout.CHECKSUMS, json.dumps(seal).encode())


def renamed(contents: Contents, savepoint: str) -> Contents:
    """Under another id, in all that says it."""
    seal = {**document(resealed(contents, lambda m: m.update(id=savepoint)), layout.CHECKSUMS), "savepoint": savepoint}
    return replaced(resealed(contents, lambda m: m.update(id=savepoint)), layout.CHECKSUMS, json.dumps(seal).encode())


def last(contents: Contents) -> tuple[tarfile.TarInfo, bytes]:
    return contents[-1]


def sparse(contents: Contents) -> Contents:
    made, data = last(contents)
    made.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(len(data)), "GNU.sparse.major": "0", "GNU.sparse.minor": "1"}
    return contents


HARMS: dict[str, Callable[[Contents], Contents]] = {
    "nothing in it": lambda _: [],
    "a file missing": lambda c: c[:-1],
    "a file of nobody's": lambda c: [*c, info(f"{SP}/queries/other", b"x")],
    "a file twice": lambda c: [*c, last(c)],
    "a longer file": lambda c: [*c[:-1], info(last(c)[0].name, last(c)[1] + b" ")],
    "a shorter file": lambda c: [*c[:-1], info(last(c)[0].name, last(c)[1][:-1])],
    "another content": lambda c: [*c[:-1], info(last(c)[0].name, last(c)[1][:-1] + b"?")],
    "an absolute path": lambda c: [*c, info("/etc/cron.d/x", b"x")],
    "a path above": lambda c: [*c, info(f"{SP}/../../x", b"x")],
    "a path above as a known one": lambda c: [*c[:-1], info(f"{SP}/../{SP}/" + last(c)[0].name.removeprefix(f"{SP}/"), last(c)[1])],
    "a path beside": lambda c: [*c, info("sp-2/manifest.json", b"{}")],
    "a symbolic link": lambda c: [*c[:-1], info(last(c)[0].name, b"", tarfile.SYMTYPE, "/etc/passwd")],
    "a hard link": lambda c: [*c[:-1], info(last(c)[0].name, b"", tarfile.LNKTYPE, c[0][0].name)],
    "a device": lambda c: [*c[:-1], info(last(c)[0].name, b"", tarfile.CHRTYPE)],
    "a pipe": lambda c: [*c, info(f"{SP}/pipe", b"", tarfile.FIFOTYPE)],
    "a folder": lambda c: [*c, info(f"{SP}/code", b"", tarfile.DIRTYPE)],
    "a sparse file": sparse,
    "the manifest not first": lambda c: [*c[1:], c[0]],
    "the checksums not second": lambda c: [c[0], *c[2:], c[1]],
    "the manifest twice": lambda c: [*c, c[0]],
    "the checksums twice": lambda c: [*c, c[1]],
    "a manifest at the top": lambda c: [info(layout.MANIFEST, c[0][1]), *c[1:]],
    "another folder's name": lambda c: [info(member.name.replace(SP, "sp-9"), data) for member, data in c],
    "a folder above": lambda c: [info(member.name.replace(SP, ".."), data) for member, data in resealed(c, lambda m: m.update(id=".."))],
    "a manifest that is none": lambda c: replaced(c, layout.MANIFEST, b"{}"),
    "a changed manifest": lambda c: replaced(c, layout.MANIFEST, c[0][1].replace(b'"label": ""', b'"label": "x"')),
    "checksums that are none": lambda c: replaced(c, layout.CHECKSUMS, b"[]"),
    "checksums of less": lambda c: replaced(c, layout.CHECKSUMS, json.dumps({**document(c, layout.CHECKSUMS), "files": {}}).encode()),
    "a newer manifest": lambda c: resealed(c, lambda m: m.update(format=MANIFEST_FORMAT + 1)),
    "an id that is a call of REST": lambda c: [info(member.name.replace(SP, "import"), data) for member, data in renamed(c, "import")],
    "another id that is one": lambda c: [info(member.name.replace(SP, "dispose"), data) for member, data in renamed(c, "dispose")],
    "a manifest with endless queries": lambda c: resealed(c, lambda m: m["queries"][0].update(sink_path="x" * 2_000_000)),
    "a manifest with an endless script": lambda c: resealed(c, lambda m: m["version"].update(code="x" * 5_000_000)),
    "a manifest that unpacks to 64 MB": lambda c: resealed(c, lambda m: m.update(more="x" * 64_000_000)),
    "a manifest of no format": lambda c: resealed(c, lambda m: m.update(format=0)),
    "a manifest of the year 33658": lambda c: resealed(c, lambda m: m.update(created_ms=10**15)),
    "a manifest with 71 bits": lambda c: resealed(c, lambda m: m.update(new_bytes=2**70)),
    "a manifest with a truth for a number": lambda c: resealed(c, lambda m: m["queries"][0].update(batch=True)),
    "a manifest that took NaN": lambda c: resealed(c, lambda m: m.update(took_ms=float("nan"))),
    "a manifest that took for ever": lambda c: resealed(c, lambda m: m.update(took_ms=float("inf"))),
    "a manifest that is deep": lambda c: resealed(c, lambda m: m.update(more=json.loads("[" * 500 + "]" * 500))),
    "a manifest with more than fits any disk": lambda c: resealed(c, lambda m: [file.update(bytes=2**53 - 1) for file in m["files"]]),
    "a manifest with a path above": lambda c: resealed(c, lambda m: m["files"][0].update(path="queries/counts/checkpoint/../../../x")),
    "a manifest that names a file twice": lambda c: resealed(c, lambda m: m["files"].append(m["files"][0])),
    "a job's name that leads outside": lambda c: resealed(c, lambda m: m.update(job="../../x")),
    "a run's name that leads outside": lambda c: resealed(c, lambda m: m.update(run="../x")),
    "progress without a checksum": lambda c: [*c, info(f"{SP}/{layout.PROGRESS}", b'{"format":1,"savepoint":"sp-1","queries":{}}')],
    "a verification that is none": lambda c: [*c, info(f"{SP}/{layout.VERIFIED}", b"{}")],
}


def test_the_members_as_they_are_can_be_imported(archive: Path, tmp_path: Path) -> None:
    packed(tmp_path / "x", members(archive))
    assert bring(str(tmp_path / "x"), shelf(tmp_path)).id == SP


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_archive_is_refused(harm: str, archive: Path, tmp_path: Path) -> None:
    packed(tmp_path / "x", HARMS[harm](members(archive)))
    error = refused(tmp_path / "x", tmp_path)
    assert isinstance(error, Unsupported) == (harm == "a newer manifest")
    assert {path.name for path in tmp_path.iterdir()} <= {"x", "elsewhere"}


def test_truncated_anywhere(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    lengths = {*range(0, len(whole), max(1, len(whole) // 40)), *range(len(whole) - 12, len(whole))}
    for length in sorted(lengths):
        (tmp_path / "x").write_bytes(whole[:length])
        refused(tmp_path / "x", tmp_path)


def unpacked(data: bytes) -> bytes | None:
    """What zstd itself makes of `data`; None if it refuses it."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            return reader.readall()
    except zstandard.ZstdError:
        return None


def test_changed_anywhere(archive: Path, tmp_path: Path) -> None:
    """A byte whose change no reader of zstd can see (a few bits of a block only fill it up: one byte of 3,902 here) harms nothing."""
    whole = archive.read_bytes()
    plain, unseen = unpacked(whole), 0
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        changed = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        if unpacked(changed) == plain:
            unseen += 1
            continue
        (tmp_path / "x").write_bytes(changed)
        refused(tmp_path / "x", tmp_path)
    assert unseen <= 1


@pytest.mark.parametrize("more", [b"more", zstandard.ZstdCompressor().compress(b"more")], ids=["plain", "a frame"])
def test_more_behind_the_end(more: bytes, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(archive.read_bytes() + more)
    refused(tmp_path / "x", tmp_path)


@pytest.mark.parametrize("behind", [0, 512, 1024, 8192], ids=["at once", "after a block", "after the end", "after more padding"])
def test_garbage_in_the_last_block_behind_the_end(behind: int, archive: Path, tmp_path: Path) -> None:
    """What a tar is filled up with to a whole record nobody reads, and nobody would miss."""
    plain = zstandard.ZstdDecompressor().stream_reader(archive.read_bytes()).readall()
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        end = max(member.offset_data + -(-member.size // 512) * 512 for member in tar)
    for garbage in (b"x", b"x" * 512):
        spoilt = plain[:end] + bytes(behind) + garbage + bytes(20_000)
        (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(spoilt))
        refused(tmp_path / "x", tmp_path)


def test_many_frames_are_one_stream(archive: Path, tmp_path: Path) -> None:
    """As pzstd writes them."""
    plain = zstandard.ZstdDecompressor().stream_reader(archive.read_bytes()).readall()
    pieces = [plain[at : at + 7000] for at in range(0, len(plain), 7000)]
    (tmp_path / "x").write_bytes(b"".join(zstandard.ZstdCompressor().compress(piece) for piece in pieces))
    assert bring(str(tmp_path / "x"), shelf(tmp_path)).id == SP


def test_a_bomb_is_not_unpacked(archive: Path, tmp_path: Path) -> None:
    """A member that would be 8 GB of nothing: its size is refused before its content is."""
    contents = members(archive)
    huge, _ = info(last(contents)[0].name)
    huge.size = 8 << 30
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for member, data in contents[:-1]:
            tar.addfile(member, io.BytesIO(data))
    head = plain.getvalue().rstrip(b"\0")
    head += bytes(-len(head) % 512) + huge.tobuf()
    (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(head))
    assert "8589934592" in refused(tmp_path / "x", tmp_path).message


def test_no_more_comes_out_than_is_allowed() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    assert len(bomb) < 10_000
    stream = Unpacked(io.BytesIO(bomb), 1 << 20)
    with pytest.raises(Corrupt, match="more than"):
        stream.read(10)
