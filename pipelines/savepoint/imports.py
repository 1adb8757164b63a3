"""Import an exported savepoint, directory or archive, under its own id; every byte is compared with its seal before it is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Protocol

from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, TidemarkError, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint, StoredFile
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.savepoint import (
    annotation,
    archive,
    checksums,
    completeness,
    import_records,
    layout,
    library,
    outside,
    process_marks,
    progress_file,
    verify,
)
from pipelines.savepoint.addresses import Address, Open, address
from pipelines.savepoint.archive import Head
from pipelines.savepoint.discard import discard
from pipelines.storage import copies, documents, folders, named_files, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage
from pipelines.storage.rollback import rollback

SMALL_BYTES = 4 * 1024 * 1024
"""Files up to this size are held in memory on their way; larger ones are streamed."""
NOTHING = {"storage.not_found", "storage.not_a_file"}
"""What asking for a document answers where there is none, or no directory."""
Claim = Callable[[Head], AbstractContextManager[None]]
"""Told the head before anything is written; while the block lasts nobody else imports that savepoint here."""


class Source(Protocol):
    """An exported savepoint, opened: its head is read and checked."""

    @property
    def head(self) -> Head: ...

    def bring(self, shelf: Storage, watch: Watch) -> None:
        """Everything but the manifest and the seal into the folder of the savepoint in `shelf`; Corrupt where it differs from the seal."""
        ...


def bring(
    url: str, shelf: Storage, now_ms: int, watch: Watch = UNWATCHED, *, claim: Claim | None = None, open_at: Open = open_storage
) -> Savepoint:
    """The savepoint at `url` in `shelf` (the storage of all savepoints), published and found intact when this returns.

    Raises NotFound (`import.nothing`), Corrupt (`import.damaged`, `import.not_a_savepoint`), Unsupported for a newer format,
    AlreadyExists (`savepoint.exists`); nothing is left of it then.
    """
    at = address(url, open_at)
    with opened(at) as source, claim(source.head) if claim else _unclaimed():
        savepoint = source.head.manifest.id
        library.discard_unfinished(shelf, savepoint, now_ms)
        if next(iter(shelf.list(savepoint)), None) is not None:
            raise AlreadyExists("savepoint.exists", f"Savepoint {savepoint} is here already", "Dispose of it first to import it again.")
        _make(source, shelf, now_ms, watch, at.url)
    return library.load(shelf, savepoint)


@contextmanager
def opened(at: Address) -> Iterator[Source]:
    """Opens the exported savepoint at an address: a directory with a manifest, or an archive."""
    if (manifest := _document(at, layout.MANIFEST)) is not None:
        yield Folder(at, manifest)
        return
    if not folders.local(at.parent) and next(iter(at.parent.list(at.name)), None) is not None:
        raise _nothing(at)  # some storages open a folder like an empty file
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(copies.opened(at.parent, at.name))
        except TidemarkError as error:
            if error.code not in NOTHING:
                raise
            raise _nothing(at) from error
        yield Archive(archive.Packed(stream))


def _nothing(at: Address) -> NotFound:
    hint = "Name the directory that holds manifest.json, or the .tar.zst file, of an exported savepoint."
    return NotFound("import.nothing", f"There is no savepoint at {at.url}", hint)


def _make(source: Source, shelf: Storage, now_ms: int, watch: Watch, url: str) -> None:
    """The order of the steps is the correctness: all before 5 is invisible to readers, and undone on an error.

    1. say who makes it, so that cleaners leave it alone;
    2. bring the files, and what belongs to them, each compared with its checksum;
    3. write the seal; get all on disk; check that everything is there with its size;
    4. record that it is intact, and where it came from;
    5. write the manifest, byte for byte as it was exported, which publishes;
    6. take the process mark away.
    """
    head = source.head
    savepoint = head.manifest.id
    mark = layout.inside(savepoint, layout.MAKING)
    outside.check(head.manifest, head.seal.files)
    with rollback(lambda: discard(shelf, savepoint), f"What was made of savepoint {savepoint}"):
        folders.put(shelf, {mark: documents.encode(process_marks.this_process(now_ms, "import"))})  # 1
        source.bring(shelf, watch)  # 2
        seal = layout.inside(savepoint, layout.CHECKSUMS)
        folders.put(shelf, {seal: head.documents[layout.CHECKSUMS]})  # 3
        written = [layout.inside(savepoint, file.path) for file in head.manifest.files]
        folders.flush(shelf, {paths.parent(path) for path in written}, [*written, seal])
        _whole(shelf, savepoint, head.manifest.files)
        _record(shelf, head, now_ms)  # 4
        import_records.write(shelf, savepoint, now_ms, url)
        shelf.write(layout.inside(savepoint, layout.MANIFEST), head.documents[layout.MANIFEST])  # 5
    with suppress(TidemarkError):  # 6: published all the same; a mark that stays is taken away by `library.clean`
        shelf.delete([mark])


class Folder:
    """An exported directory: cloned by the cheapest way, then read where it arrived."""

    def __init__(self, at: Address, manifest: bytes) -> None:
        self._at = at
        seal = _document(at, layout.CHECKSUMS)
        if seal is None:
            hint = "Export it (which computes them), or verify it in the workspace that it is in, then import it again."
            raise Corrupt("import.no_checksums", f"{at.url} has no {layout.CHECKSUMS}: nothing can be compared", hint)
        self.head = archive.head(manifest, seal, None)

    def bring(self, shelf: Storage, watch: Watch) -> None:
        head, at, savepoint = self.head, self._at, self.head.manifest.id
        documents_beside = [layout.MANIFEST, layout.CHECKSUMS, *layout.LATER]
        seen = named_files.look(at.parent, at.name, [*(file.path for file in head.manifest.files), *documents_beside])
        for path in seen.irregular:
            raise archive.damaged(path, "is a link or a device, which have no place in an exported savepoint")
        for damage in completeness.compared(head.manifest.files, seen.sizes):
            raise archive.damaged(damage.path, damage.message)
        watch.step("copying", head.bytes)
        clones = [Clone(paths.join(at.name, file.path), layout.inside(savepoint, file.path)) for file in head.manifest.files]
        list(shelf.clone(at.parent, clones, watch.advance))
        for name in layout.LATER:
            if (data := _document(at, name)) is not None:
                _put_document(shelf, head, name, data)
        watch.step("comparing checksums", head.bytes)
        files = [path for path in checksums.sealed_files(head.manifest, head.seal) if path != layout.MANIFEST]
        now = checksums.checksums(shelf, savepoint, files, watch.advance)
        for path in files:
            if now[path] != head.seal.files[path]:
                raise archive.damaged(path, "is not what it was when it was sealed")


class Archive:
    """A `.tar.zst`, read once from beginning to end."""

    def __init__(self, packed: archive.Packed) -> None:
        self._packed = packed
        self.head = packed.head

    def bring(self, shelf: Storage, watch: Watch) -> None:
        watch.step("unpacking", self.head.bytes)
        for path, size, content in self._packed.files(watch.advance):
            if path in layout.LATER:
                _put_document(shelf, self.head, path, content.read())
            elif size <= SMALL_BYTES:
                folders.put(shelf, {layout.inside(self.head.manifest.id, path): _all(content)})
            else:
                with copies.writing(shelf, layout.inside(self.head.manifest.id, path)) as file:
                    while piece := content.read(archive.PIECE_BYTES):
                        file.write(piece)


def _all(content: archive.Checked) -> bytes:
    return b"".join(iter(lambda: content.read(archive.PIECE_BYTES), b""))


def _put_document(shelf: Storage, head: Head, name: str, data: bytes) -> None:
    """Keeps a document that came with the files if it is well-formed and, where proofs rely on it, covered by the seal."""
    savepoint = head.manifest.id
    if name == layout.PROGRESS:
        progress_file.decode(data, savepoint)
        if name not in head.seal.files:
            raise archive.damaged(name, "has no checksum")
    elif name == layout.ANNOTATION:
        annotation.decode(data, savepoint)
    elif documents.decode(Verification, data, f"{name} of savepoint {savepoint}").savepoint != savepoint:
        raise archive.damaged(name, "is that of another savepoint")
    folders.put(shelf, {layout.inside(savepoint, name): data})


def _record(shelf: Storage, head: Head, now_ms: int) -> None:
    """Records that the savepoint is intact: every checksum was compared. A proof made elsewhere is of the same bytes, and stays."""
    verification = Verification(
        savepoint=head.manifest.id,
        asked=Trust.INTACT,
        reached=Trust.INTACT,
        at_ms=now_ms,
        files=len(head.manifest.files),
        bytes=head.bytes,
        sealed_ms=head.seal.sealed_ms,
    )
    _, data = verify.joined(shelf, verification)
    shelf.write(layout.inside(head.manifest.id, layout.VERIFIED), data)


def _whole(shelf: Storage, savepoint: SavepointId, files: tuple[StoredFile, ...]) -> None:
    for damage in completeness.damages(shelf, savepoint, files):
        message = f"{damage.path} did not arrive whole: {damage.message}"
        raise Unavailable("import.incomplete", message, "Check this disk, then import again.")


def _document(at: Address, name: str) -> bytes | None:
    """A document of an exported directory, None where there is none; Corrupt where it is larger than one may be."""
    path = paths.join(at.name, name)
    try:
        data = _beginning(at.parent, path) if folders.local(at.parent) else at.parent.read(path)
    except TidemarkError as error:
        if error.code in NOTHING:
            return None
        raise
    if len(data) > archive.DOCUMENT_BYTES:
        raise archive.damaged(name, f"is larger than {archive.DOCUMENT_BYTES:,} bytes")
    return data


def _beginning(storage: Storage, path: str) -> bytes:
    with copies.opened(storage, path) as stream:
        return stream.read(archive.DOCUMENT_BYTES + 1)


@contextmanager
def _unclaimed() -> Iterator[None]:
    yield
