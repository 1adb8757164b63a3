"""A savepoint as one `.tar.zst`: plain files only, the manifest first, then the checksums; every name, size and checksum is checked
while it is read, so that nothing an archive says is taken on trust. `data/README.md` specifies it.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.savepoint import checksums, layout, manifests
from pipelines.savepoint.checksums import Seal
from pipelines.savepoint.unpack import HINT, Tail, Unpacked
from pipelines.storage.protocol import Advance, unwatched

ENDINGS = (".tar.zst", ".tzst")
LEVEL = 3
PIECE_BYTES = 1024 * 1024
DOCUMENT_BYTES = 32 * 1024 * 1024
"""No manifest, seal or other document of an exported savepoint is larger than this: room for 300,000 files."""
OVERHEAD_BYTES = 64 * 1024
"""What a file may take in an archive beside its content: its headers, and what fills its last block."""
BROKEN = (tarfile.TarError, EOFError, ValueError, OverflowError, UnicodeError, KeyError, IndexError)
"""What tarfile raises for bytes that are no archive."""


@dataclass(frozen=True)
class Head:
    """The head of an exported savepoint: its manifest and its seal, each also as the bytes that were exported."""

    manifest: Manifest
    seal: Seal
    documents: Mapping[str, bytes]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Path -> bytes of every file of the manifest."""
        return {file.path: file.bytes for file in self.manifest.files}

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def head(manifest_data: bytes, seal_data: bytes, savepoint: SavepointId | None) -> Head:
    """Decodes and compares manifest and seal; Corrupt where the seal is not of this manifest, Unsupported for newer formats."""
    manifest = manifests.decode(manifest_data, savepoint)
    seal = checksums.decode(seal_data, manifest.id)
    if hashlib.sha256(manifest_data).hexdigest() != seal.files.get(layout.MANIFEST):
        raise damaged(layout.MANIFEST, "is not what it was when it was sealed")
    if manifest.objects or checksums.is_of_store(seal.files):
        message = "The savepoint shares files with others of its home, or is sealed with the checksums of its store"
        raise Unsupported("import.shared", message, "Export it where it is: an export is alone.")
    for path in checksums.sealed_files(manifest):
        if path not in seal.files:
            raise damaged(layout.CHECKSUMS, f"has no checksum of {path}")
    if len({file.path for file in manifest.files}) != len(manifest.files):
        raise damaged(layout.MANIFEST, "names a file twice")
    manifests.refuse_endless(manifest)
    return Head(manifest, seal, {layout.MANIFEST: manifest_data, layout.CHECKSUMS: seal_data})


def damaged(path: str, message: str) -> Corrupt:
    """The error for an exported savepoint that is not what was exported."""
    return Corrupt("import.damaged", f"{path} {message}".encode(errors="replace").decode(), HINT)


@contextmanager
def packing(target: BinaryIO) -> Iterator[tarfile.TarFile]:
    """A tar that is compressed by all processors on its way into `target`."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=LEVEL, threads=-1, write_checksum=True)
    with (
        compressor.stream_writer(target, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", bufsize=PIECE_BYTES, format=tarfile.PAX_FORMAT) as tar,
    ):
        yield tar


def put(tar: tarfile.TarFile, path: str, size: int, modified_ms: int, content: Checked) -> None:
    """Adds one file; Corrupt where `content` has another size or checksum than it should."""
    info = tarfile.TarInfo(path)
    info.size, info.mtime, info.mode = size, modified_ms // 1000, 0o644
    try:
        tar.addfile(info, content)
    except OSError as error:
        raise damaged(path, f"ended before its {size} bytes") from error
    content.check(path)


def put_bytes(tar: tarfile.TarFile, path: str, data: bytes, modified_ms: int) -> None:
    """Adds a document."""
    put(tar, path, len(data), modified_ms, Checked(io.BytesIO(data), "", unwatched))


class Content(Protocol):
    """Bytes that are read once, from the beginning."""

    def read(self, size: int = -1, /) -> bytes: ...


class Checked:
    """A stream whose bytes are counted and compared with the checksum that they should have; empty where none is known."""

    def __init__(self, stream: Content, checksum: str, advance: Advance) -> None:
        self._stream, self._checksum, self._advance = stream, checksum, advance
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._digest.update(data)
        self._advance(len(data))
        return data

    def check(self, path: str) -> None:
        """Raises Corrupt where the checksum of the bytes read is not the sealed one. Called at the end of the stream."""
        if self._stream.read(1):
            raise damaged(path, "is longer than it should be")
        if self._checksum and self._digest.hexdigest() != self._checksum:
            raise damaged(path, "is not what it was when it was sealed")


class Packed:
    """An archive being read: its head at once, its files one after the other, once."""

    def __init__(self, source: BinaryIO) -> None:
        self._stream = Unpacked(source, 2 * (DOCUMENT_BYTES + OVERHEAD_BYTES))
        with _typed():
            self._tail = Tail(self._stream, 2 * PIECE_BYTES)
            self._tar = tarfile.open(fileobj=cast(BinaryIO, self._tail), mode="r|", bufsize=PIECE_BYTES)  # noqa: SIM115
            self._members = iter(self._tar)
        self._top, manifest_data = self._first()
        seal_data = self._document(layout.CHECKSUMS)
        self.head = head(manifest_data, seal_data, SavepointId(self._top))
        self._stream.allow(self.head.bytes + len(self.head.manifest.files) * OVERHEAD_BYTES + 2 * (DOCUMENT_BYTES + OVERHEAD_BYTES))

    def files(self, advance: Advance) -> Iterator[tuple[str, int, Checked]]:
        """Yields path in the savepoint, size and content of each file after the head. A content is checked when the next one is requested.

        Raises Corrupt at the first thing that is not as the manifest and the seal say, at the latest at the end.
        """
        sizes = self.head.sizes
        missing = dict(sizes)
        optional = {layout.VERIFIED, layout.PROGRESS, layout.ANNOTATION}
        for info in self._each():
            path = self._inner(info)
            if path in optional:
                optional.remove(path)
                expected = min(info.size, DOCUMENT_BYTES)
            else:
                expected = missing.pop(path, -1)
            self._refuse(info, path, expected)
            progress = advance if path in sizes else unwatched
            content = Checked(self._content(info), self.head.seal.files.get(path, ""), progress)
            yield path, info.size, content
            with _typed():
                content.check(path)
        for path in missing:
            raise damaged(path, "is missing in the archive")
        self._ended()

    def _first(self) -> tuple[str, bytes]:
        info = next(self._each(), None)
        top, _, rest = (info.name if info else "").partition("/")
        if info is None or rest != layout.MANIFEST or not top:
            raise Corrupt("import.not_a_savepoint", "The archive does not begin with a savepoint's manifest", "Name an exported savepoint.")
        self._refuse(info, rest, min(info.size, DOCUMENT_BYTES))
        return top, self._whole(info)

    def _document(self, name: str) -> bytes:
        info = next(self._each(), None)
        if info is None or self._inner(info) != name:
            raise damaged(name, "is not the archive's second file")
        self._refuse(info, name, min(info.size, DOCUMENT_BYTES))
        return self._whole(info)

    def _each(self) -> Iterator[tarfile.TarInfo]:
        while True:
            with _typed():
                info = next(self._members, None)
            if info is None:
                return
            yield info

    def _inner(self, info: tarfile.TarInfo) -> str:
        """The path of a member in the savepoint; one outside of its folder keeps its name, which no manifest has."""
        return info.name.removeprefix(f"{self._top}/") if info.name.startswith(f"{self._top}/") else f"/{info.name}"

    def _refuse(self, info: tarfile.TarInfo, path: str, expected: int) -> None:
        if not info.isreg() or info.issparse():
            raise damaged(info.name, "is no plain file: links, devices and folders have no place in an exported savepoint")
        if expected < 0:
            raise damaged(info.name, "is in the archive twice, or its manifest does not name it")
        if info.size != expected:
            raise damaged(path, f"has {info.size} bytes in the archive, should have {expected}")

    def _content(self, info: tarfile.TarInfo) -> Content:
        with _typed():
            stream = self._tar.extractfile(info)
        assert stream is not None, "a plain file has content"
        return _Typed(stream)

    def _whole(self, info: tarfile.TarInfo) -> bytes:
        return self._content(info).read()

    def _ended(self) -> None:
        """Raises Corrupt where anything but padding follows the last file, or the compressed stream is cut off.

        What tarfile has read ahead, and never looked at, is part of that.
        """
        rest = self._tail.since(self._tar.offset)
        while rest:
            if rest.strip(b"\0"):
                raise damaged("The archive", "goes on after its end")
            rest = self._stream.read(PIECE_BYTES)


class _Typed:
    """A member's content; errors of tarfile become Corrupt."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        with _typed():
            return cast(bytes, self._stream.read(size))


@contextmanager
def _typed() -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise damaged("The archive", f"cannot be read: {error}") from error
