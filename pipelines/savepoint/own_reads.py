"""Queries that read the files which another query of their job writes: a reader must not know files that its writer does not.

Each query is saved at a batch of its own. A reader that is ahead of its writer reads the same rows again, in the files of the batches that
the writer does again. A fork's output holds its parent's files under other names: a reader that knows the parent's would read them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from pipelines.checkpoint import closure, compact_log, sink_log
from pipelines.checkpoint.sink_log import SinkLog
from pipelines.domain import java_paths
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.json_text import read_json
from pipelines.domain.savepoints import NOT_BEGUN, Manifest, QueryImage
from pipelines.domain.sinks import FILE_SINKS
from pipelines.savepoint import history, layout
from pipelines.savepoint.sink_places import Arguments, inside, plain, table_folder, values
from pipelines.savepoint.source import QueryLocation
from pipelines.storage import parallel, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

KEPT = "surrogateescape"
"""How bytes that are no text, in the logs of sources of other kinds, come out as they went in."""
Logs = Mapping[str, bytes]
"""Files of the logs of a query's file sources: path in its checkpoint -> content."""


def ahead(places: Sequence[QueryLocation], batches: Mapping[QueryName, int], logs: Mapping[QueryName, Logs]) -> QueryName | None:
    """A query that has read files which its writer wrote after its own batch; None where there is none.

    Raises Corrupt, and NotFound where Spark deletes a log that is read."""
    for writer in places:
        if len(places) == 1 or writer.sink.lower() not in FILE_SINKS or not writer.sink_path:
            continue
        for reader in places:
            read = {path for path in _below(logs[reader.query], plain(writer.sink_path)) if reader.query != writer.query}
            if read and not read.isdisjoint(_written_after(writer, batches[writer.query])):
                return reader.query
    return None


def _written_after(writer: QueryLocation, batch: int) -> set[str]:
    output = open_storage(writer.sink_path)
    whole = sink_log.whole(output, sink_log.FOLDER)
    if not whole.batches or whole.batches[-1].id <= batch:
        return set()
    before = sink_log.read(output, batch, sink_log.FOLDER) if batch != NOT_BEGUN else SinkLog(())
    written, kept = sink_log.live_files(whole, whole.batches[-1].id), sink_log.live_files(before, batch)
    return {plain(file.path) for file in written} - {plain(file.path) for file in kept}


def readers(library: Storage, manifest: Manifest, writer: QueryImage) -> list[QueryName]:
    """The other queries of a savepoint that have read files of the query's output."""
    if writer.sink.lower() not in FILE_SINKS:
        return []
    others = [image for image in manifest.queries if image.query != writer.query]
    return [image.query for image in others if any(_inner(line, writer, manifest.job) for line in _lines(_saved(library, manifest, image)))]


def unread(library: Storage, manifest: Manifest, writer: QueryImage) -> list[str]:
    """The files of the query's output as it is now, by their paths in it, that a query which reads it had not read by the savepoint; none
    where no other query has read of it. Raises Corrupt, and NotFound where Spark deletes a log that is read."""
    others = [_saved(library, manifest, image) for image in manifest.queries if image.query != writer.query]
    inner = [{place for line in _lines(logs) if (place := _inner(line, writer, manifest.job)) is not None} for logs in others]
    read = [places for places in inner if places]
    log = sink_log.whole(open_storage(writer.sink_path), sink_log.FOLDER) if read else SinkLog(())
    written = sink_log.live_files(log, log.batches[-1].id) if log.batches else ()
    places = (history.inner(file.path, writer.sink_path, manifest.job) for file in written)
    return [place for place in places if place is not None and any(place not in known for known in read)]


def stray(library: Storage, manifest: Manifest, reader: QueryImage, arguments: Arguments) -> str:
    """A file that a query has read in what its job calls its own output, and that none of the job's file sinks wrote, or a table there that
    no savepoint holds: a fork, whose output is another one, will not have what comes after it. Empty where there is none."""
    held = {table_folder(image) or plain(image.sink_path) for image in manifest.queries}
    for table in reader.tables if reader.begun else ():
        if table and plain(table) not in held and _is_own(table, manifest.job, arguments):
            return plain(table)
    writers = [image for image in manifest.queries if image.sink.lower() in FILE_SINKS]
    marks = (f"/jobs/{manifest.job}/", java_paths.quoted(plain(arguments.output)) or "\n")
    for line in _lines(_saved(library, manifest, reader)):
        if (
            not line.startswith("{")
            or not any(mark in line for mark in marks)
            or any(_inner(line, image, manifest.job) for image in writers)
        ):
            continue
        path = read_json(line).get("path")
        if isinstance(path, str) and _is_own(path, manifest.job, arguments):
            return plain(path)
    return ""


def _is_own(path: str, job: JobName, arguments: Arguments) -> bool:
    """Whether a fork looks for the file elsewhere: no argument of its own names a directory above it."""
    is_named = any("/" in value and inside(path, value) for value in values(arguments.fork))
    return not is_named and (history.below_job(path, job) is not None or inside(path, arguments.output))


def is_log(path: str) -> bool:
    """Whether the file of a checkpoint belongs to the log of a source; the checksums beside it do not."""
    return path.startswith(f"{closure.SOURCES}/") and not paths.name(path).startswith(".")


def moved(data: bytes, places: Iterable[tuple[QueryImage, str]], job: JobName) -> bytes:
    """A file of a source's log with every file of these writers' outputs under the name that Spark gives it in the writer's new directory
    (an absolute path or a URL)."""
    lines = data.decode(errors=KEPT).split("\n")
    for writer, directory in places:
        lines = [_moved(line, writer, directory, job) for line in lines]
    return "\n".join(lines).encode(errors=KEPT)


def _moved(line: str, writer: QueryImage, directory: str, job: JobName) -> str:
    return line if _inner(line, writer, job) is None else history.moved(line, directory, writer.sink_path, job)


def _inner(line: str, writer: QueryImage, job: JobName) -> str | None:
    """The file that an entry names, below the writer's directory; None for another one's, and for a line without an entry."""
    if not line.startswith("{") or _mark(writer.sink_path) not in line:
        return None
    path = read_json(line).get("path")
    return history.inner(path, writer.sink_path, job) if isinstance(path, str) else None


def _below(logs: Logs, directory: str) -> Iterator[str]:
    """The files that a query has read below a directory."""
    mark = _mark(directory)
    for line in _lines(logs.values()):
        if line.startswith("{") and mark in line:
            path = plain(read_json(line)["path"])
            if path.startswith(f"{directory}/"):
                yield path


def _mark(directory: str) -> str:
    """What a line that names a file of the directory has in it, told without a parser; empty where each line may."""
    name = paths.name(plain(directory))
    return f"/{name}/" if quote(name) == name else ""


def _lines(logs: Iterable[bytes]) -> Iterator[str]:
    for data in logs:
        yield from data.decode(errors=KEPT).split("\n")


def _saved(library: Storage, manifest: Manifest, image: QueryImage) -> list[bytes]:
    home = layout.checkpoint(image.query)
    files = layout.below([file.path for file in manifest.files], home)
    logs = [layout.inside(manifest.id, path) for path in files if is_log(path.removeprefix(f"{home}/"))]
    return parallel.each(library.read, logs, compact_log.READERS, brief=True)
