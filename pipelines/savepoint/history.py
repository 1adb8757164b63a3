"""The history of a file sink: where the data files that a savepoint's sink log names are now, and what is gone of them.

The log names its files by absolute paths. A workspace that was moved, or a savepoint that came from another one, has them elsewhere:
at the same place below the parent job's output or warehouse, or nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from pipelines.checkpoint import compact_log, sink_log
from pipelines.domain import java_paths
from pipelines.domain.ids import JobName
from pipelines.domain.json_text import read_json
from pipelines.domain.placeholders import OUTPUT as PLACEHOLDER
from pipelines.domain.savepoints import Manifest, QueryImage, StoredFile
from pipelines.savepoint import layout
from pipelines.savepoint.sink_places import Arguments, inside, plain, values
from pipelines.storage import paths
from pipelines.storage.addresses import STORE_ADDRESSES, open_storage
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.storage.protocol import Storage

SPARKS_INTERVAL = 10
"""`spark.sql.streaming.fileSink.log.compactInterval` unless a job says otherwise."""
GIVEN = (OUTPUT, WAREHOUSE)
"""The folders of a job that its sinks write to."""


@dataclass(frozen=True)
class History:
    """What a sink log names: `files` in all, `gone` of them not at `root` (path or URL), where the others are."""

    root: str
    files: int
    gone: int
    moved: bool
    """Whether entries name another place than `root`: they must be written anew to be found there."""
    there: tuple[StoredFile, ...] = ()
    """Those that are at `root`, by their paths below it."""


@dataclass(frozen=True)
class _Named:
    """One live file of the log: path and size as the log has them."""

    path: str
    bytes: int


def log_names(manifest: Manifest, image: QueryImage) -> list[str]:
    """File names of the sink log that the savepoint holds for this query, without checksums; empty where it holds none."""
    home = layout.sink_log(image.query)
    inner = [paths.name(path) for path in layout.below([file.path for file in manifest.files], home)]
    return [name for name in inner if not name.startswith(".")]


def find(library: Storage, manifest: Manifest, image: QueryImage, parent_output: str) -> History | None:
    """Where the history is: below the job's output or warehouse in this workspace, else where the sink wrote; the place with most of it.

    None where neither is a folder of this machine, S3 or HDFS: files elsewhere cannot be brought.
    """
    log = sink_log.read(library, image.batch, _home(manifest, image))
    log_files = [_Named(file.path, file.bytes) for file in sink_log.live_files(log, image.batch)]
    below = below_job(image.sink_path, manifest.job)
    here = _child(paths.parent(plain(parent_output)), below) if below is not None and parent_output else None
    candidates = [*([here] if here else []), image.sink_path]
    roots = [root for root in dict.fromkeys(map(plain, candidates)) if "://" not in root or root.startswith(STORE_ADDRESSES)]
    histories = [_at(root, log_files, image.sink_path, manifest.job) for root in roots]
    return min(histories, key=lambda history: history.gone, default=None)


def log_at(library: Storage, manifest: Manifest, image: QueryImage, root: str) -> dict[str, bytes]:
    """The savepoint's sink log with every entry naming its file below `root`, an absolute path or a URL: file name -> bytes."""
    files: dict[str, bytes] = {}
    for name in log_names(manifest, image):
        lines = library.read(paths.join(_home(manifest, image), name)).decode().splitlines()
        files[name] = "\n".join(moved(line, root, image.sink_path, manifest.job) for line in lines).encode()
    return files


def empty_log(names: Iterable[str], batch: int) -> Mapping[str, bytes]:
    """The log of a sink that wrote nothing up to `batch`: the same files, none of them with an entry.

    Spark's next compaction reads the compact file before it and every single file since, and takes its interval from the compact
    ones (CompactibleFileStreamLog). Where there is no log (`names` empty), the one that Spark's own interval would have left.
    """
    return compact_log.files(dict.fromkeys(names or _names_up_to(batch), ()))


def _names_up_to(batch: int) -> Iterator[str]:
    newest = (batch + 1) // SPARKS_INTERVAL * SPARKS_INTERVAL - 1
    yield from (compact_log.name(compact, True) for compact in (newest - SPARKS_INTERVAL, newest) if compact >= 0)
    yield from (compact_log.name(single, False) for single in range(newest + 1, batch + 1))


def _home(manifest: Manifest, image: QueryImage) -> str:
    return layout.inside(manifest.id, layout.sink_log(image.query))


def _at(root: str, log_files: Iterable[_Named], sink_path: str, job: JobName) -> History:
    sizes = {entry.path: entry.bytes for entry in open_storage(root).list()}
    places = [(file, inner(file.path, sink_path, job)) for file in log_files]
    gone = sum(place is None or sizes.get(place) != file.bytes for file, place in places)
    moved = any(place is not None and plain(file.path) != _child(plain(root), place) for file, place in places)
    there = tuple(StoredFile(place, file.bytes) for file, place in places if place is not None and sizes.get(place) == file.bytes)
    return History(root, len(places), gone, moved, there)


def inner(path: str, sink_path: str, job: JobName) -> str | None:
    """`path`, an entry's, relative to the sink's directory wherever the workspace was when Spark wrote it; None for one outside of it."""
    own, root = plain(path), plain(sink_path)
    if own.startswith(root + "/"):
        return unquote(own[len(root) + 1 :]) if "://" in root else own[len(root) + 1 :]
    below, root_below = below_job(own, job), below_job(root, job)
    if below is None or root_below is None or not below.startswith(f"{root_below}/"):
        return None
    return below.removeprefix(f"{root_below}/")


def below_job(path: str, job: JobName) -> str | None:
    """`path` relative to the folder that a workspace gives `job`; None where it is in neither the output nor the warehouse there."""
    for folder in GIVEN:
        _, marker, after = f"{plain(path)}/".rpartition(f"/jobs/{job}/{folder}/")
        if marker:
            return f"{folder}/{after}".rstrip("/")
    return None


def own_place(image: QueryImage, arguments: Arguments, job: JobName) -> str:
    """The directory (absolute path or URL) where a fork of `job` has what its parent had at the sink's path; empty where its code alone
    knows it."""
    path, below = plain(image.sink_path), below_job(image.sink_path, job)
    if below is not None and below.split("/")[0] == WAREHOUSE:
        return _child(paths.parent(arguments.warehouse), below) if arguments.warehouse else ""
    if below is not None or inside(path, arguments.output):
        inner_path = path.removeprefix(plain(arguments.output)) if below is None else below.removeprefix(OUTPUT)
        return _child(arguments.own, inner_path.strip("/")) if arguments.own else ""
    for before, now in zip(values(arguments.parent), values(arguments.fork), strict=False):
        if "/" in before and inside(path, before) and arguments.own:
            return _child(_told(now, arguments.own), path.removeprefix(plain(before)).strip("/"))
    return ""


def _told(value: str, own: str) -> str:
    """The directory that a fork's argument names; a relative one is in the output `own`."""
    place = value.replace(PLACEHOLDER, own)
    return place if place.startswith("/") or "://" in place else _child(own, place)


def moved(line: str, root: str, sink_path: str, job: JobName) -> str:
    """A line of the log of a sink, or of a source that reads what the sink wrote, with its file below `root`; one of another file stays."""
    if not line.startswith("{"):
        return line
    entry = read_json(line)
    place = inner(entry["path"], sink_path, job)
    if place is None:
        return line
    return json.dumps(entry | {"path": _url(plain(root), place)}, separators=(",", ":"))


def _url(root: str, place: str) -> str:
    """As Spark writes it."""
    return f"{root}/{java_paths.quoted(place)}" if "://" in root else java_paths.address(_child(root, place))


def _child(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if name else folder
