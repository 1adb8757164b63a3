"""HDFS by WebHDFS: a folder is renamed and removed by one request; a copy is read and written here, for HDFS copies nothing by itself."""

from __future__ import annotations

import builtins
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO
from urllib.parse import urlsplit

from pipelines.domain.errors import Unavailable
from pipelines.storage import copies, file_objects, parallel, paths
from pipelines.storage.carrying import Carrier, Move
from pipelines.storage.errors import translated
from pipelines.storage.hdfs.client import NotEmpty, Status, open_client
from pipelines.storage.hdfs.files import PART_BYTES, Reading, Written
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched
from pipelines.storage.rollback import rollback

STREAMS = 8
SPARKS = "hdfs://"
"""How Spark names it."""
WRITE = "-wx"
"""What making something in a folder takes."""
DENIED_HINT = "Make the folder, and give it to that user (hdfs dfs -chown), or set HADOOP_USER_NAME for the server and its jobs."


class HdfsStorage:
    """`Storage` over `hdfs://host:port/folder`, and `webhdfs://` and `swebhdfs://`, which name the NameNode's HTTP."""

    def __init__(self, url: str, carrier: Carrier | None = None) -> None:
        self._url = url.rstrip("/")
        self._carrier = carrier
        self._root = urlsplit(url, allow_fragments=False)._replace(query="").path.rstrip("/")
        with told(url):
            self._client = open_client(url)

    @property
    def url(self) -> str:
        return self._url

    def _at(self, path: str) -> str:
        return f"{self._root}/{paths.relative(path)}"

    def _named(self, path: str) -> str:
        """How errors name it: the whole URL."""
        return f"{self._url}/{path}" if path else self._url

    def _folder(self, folder: str) -> str:
        return self._at(folder) if folder else self._root or "/"

    def read(self, path: str) -> bytes:
        full = self._at(path)
        with told(self._named(path)), self._client.get(full) as answer:
            return bytes(answer.content)

    def stream(self, path: str) -> BinaryIO:
        full = self._at(path)
        with told(self._named(path)):
            return file_objects.guarded(io.BufferedReader(Reading(self._client, full), PART_BYTES), self._named(path))

    def checksum(self, path: str) -> str:
        full = self._at(path)
        with told(self._named(path)):
            return self._client.checksum(full)

    def write(self, path: str, data: bytes) -> None:
        with self._published(path) as aside, told(self._named(path)):
            self._client.create(aside, data)

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """A file that becomes `path`, whole, when the block ends well; nothing is left of it when the block raises."""
        with self._published(path) as aside:
            file = Written(self._client, aside)
            yield file_objects.unfinished(file, self._named(path))
            with told(self._named(path)):
                file.finish()

    @contextmanager
    def _published(self, path: str) -> Iterator[str]:
        """A place beside `path` that becomes it when the block ends well, and nothing otherwise."""
        target, aside = self._at(path), paths.temporary(path)
        with rollback(lambda: self._discard(aside), f"What was written of {path}"):
            yield self._at(aside)
            with told(self._named(path)):
                self._client.move(self._at(aside), target, replace=True)

    def refuse_unwritable(self) -> None:
        """Raises Unavailable (`storage.denied`) where its folder, or the nearest above it that is there, is not this user's to write in."""
        folder = self._folder("")
        with told(self._url):
            while True:
                try:
                    return self._client.check_access(folder, WRITE)
                except FileNotFoundError:
                    folder = folder.rpartition("/")[0] or "/"
                except PermissionError as error:
                    raise Unavailable("storage.denied", f"Nothing can be written in {self._url}: {error}", DENIED_HINT) from error

    def list(self, folder: str = "") -> Iterator[Entry]:
        for path, status in self._below(folder):
            if not paths.is_temporary(path):
                yield Entry(path, int(status["length"]), int(status["modificationTime"]))

    def _below(self, folder: str) -> Iterator[tuple[str, Status]]:
        """Every file below `folder` by its path, a level at a time: each of its folders is one request."""
        level = [folder]
        while level:
            inner = parallel.each(self._inside, level, STREAMS)
            yield from (item for items in inner for item in items if item[1]["type"] != "DIRECTORY")
            level = [path for items in inner for path, status in items if status["type"] == "DIRECTORY"]

    def _inside(self, folder: str) -> builtins.list[tuple[str, Status]]:
        """What is directly in the folder; nothing where it is not there, or a file."""
        with told(self._named(folder)):
            try:
                statuses = self._client.statuses(self._folder(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
        prefix = f"{folder}/" if folder else ""
        return [(f"{prefix}{status['pathSuffix']}", status) for status in statuses if status["pathSuffix"]]

    def children(self, folder: str = "") -> builtins.list[str]:
        """Names of the folders directly in `folder`, sorted; none where it does not exist."""
        return sorted(paths.name(path) for path, status in self._inside(folder) if status["type"] == "DIRECTORY")

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Sequence[How]:
        halt = parallel.Halt()
        watched = halt.watched(advance)
        return parallel.each(lambda file: self._clone(source, file, watched), files, STREAMS, halt)

    def _clone(self, source: Storage, file: Clone, advance: Advance) -> How:
        paths.relative(file.target)
        with copies.opened(source, file.source) as stream, self.writing(file.target) as target:
            copies.pour(stream, target, advance)
        return How.COPY

    def carried_bytes(self, source: Storage) -> int | None:
        same = isinstance(source, HdfsStorage) and self._url.startswith(SPARKS) and _place(source.url) == _place(self._url)
        return self._carrier.least_bytes if self._carrier is not None and same else None

    def carry(self, files: Sequence[tuple[Storage, Clone]], advance: Advance) -> None:
        """Folders are made here, first: the carrier makes none, so that it leaves nothing where they were removed."""
        assert self._carrier is not None, "who asks it to carry has asked whether it can"
        folders = {paths.parent(self._at(file.target)) for _, file in files}
        with told(self._url):
            parallel.each(self._client.make_folder, sorted(folders), STREAMS)
        moves = [Move(f"{source.url}/{file.source}", f"{self._url}/{file.target}", file.bytes) for source, file in files]
        self._carrier.carry(moves, advance)

    def delete(self, paths_: Iterable[str]) -> None:
        files = builtins.list(paths_)
        parallel.each(self._discard, files, STREAMS)
        folders = {folder for path in files for folder in paths.ancestors(path)}
        for folder in sorted(folders, key=lambda name: name.count("/"), reverse=True):
            with suppress(NotEmpty):
                self._discard(folder)

    def _discard(self, path: str) -> None:
        full = self._at(path)
        with told(self._named(path)):
            self._client.discard(full)

    def remove(self, folder: str) -> None:
        """Deletes `folder` with everything below, unfinished writes too, at once; one that is not there is no error."""
        full = self._at(folder)
        with told(self._named(folder)):
            self._client.discard(full, recursive=True)

    def rename(self, old: str, new: str) -> None:
        """Folder `old` becomes `new`, which must not exist, at once."""
        source, target = self._at(old), self._at(new)
        with told(self._named(new)):
            self._client.make_folder(paths.parent(target))
            self._client.move(source, target, replace=False)

    def sweep(self, folder: str = "") -> int:
        """Deletes what interrupted writes left below `folder`; returns how many files. Only for a folder nobody writes to now."""
        left = [path for path, _ in self._below(folder) if paths.is_temporary(path)]
        parallel.each(self._discard, left, STREAMS)
        return len(left)


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url, allow_fragments=False)
    return parts.scheme, parts.netloc


@contextmanager
def told(path: str) -> Iterator[None]:
    """Raises what HDFS says about `path` as NotFound or Unavailable; what a watcher of the work raises goes on as it is."""
    try:
        yield
    except OSError as error:  # those of requests too
        raise translated(error, path) from error
