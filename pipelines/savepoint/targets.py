"""Where a savepoint is restored to, and which of its files go there as they are or written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.checkpoint import closure, metadata, relocation, state_files
from pipelines.domain import sql_jobs
from pipelines.domain.ids import JobName, QueryName, folder_of
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.run_specs import ANY_TABLE
from pipelines.domain.savepoints import Manifest, QueryImage, StoredFile
from pipelines.domain.sinks import TABLE
from pipelines.domain.versions import Version
from pipelines.savepoint import adoptions, history, iceberg_tables, layout, own_reads, restored_sinks, sink_places, sinks
from pipelines.savepoint.adoptions import Adopting
from pipelines.savepoint.own_tables import reader as reader_of_table
from pipelines.savepoint.restored_sinks import SINK_LOGS, RestoredSink
from pipelines.savepoint.sink_places import Arguments, plain
from pipelines.storage import paths
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class Fork:
    """A new job from a savepoint. `checkpoints` (absolute path or URL) must not exist; `version` is what the fork will run."""

    job: JobName
    checkpoints: str
    version: Version
    parent_output: str
    """The output directory of the job that the savepoint was taken of."""
    new_query_id: Callable[[], str]
    sinks: Mapping[str, str] = field(default_factory=dict)
    """Query (or `*`) -> `continue` or `fresh`, as `pipelines.verbs.fork.Variant` has it."""
    output: str = ""
    """Its own output directory (absolute path or URL)."""
    warehouse: str = ""
    """The folder of its own tables (absolute path)."""
    replaced: Mapping[QueryName, Mapping[str, bytes]] = field(default_factory=dict)
    """Of queries that read on from elsewhere: path in the query's checkpoint -> content. The folder of a source's log is replaced whole."""


@dataclass(frozen=True)
class Resume:
    """The same job again from one of its savepoints, in new `checkpoints`, which must not exist."""

    job: JobName
    checkpoints: str
    replaced: Mapping[QueryName, Mapping[str, bytes]] = field(default_factory=dict)
    """As `Fork.replaced`."""


@dataclass(frozen=True)
class Adopt:
    """A job that goes on with what its variant has: the variant's state under the job's own query ids, and its Delta tables; in new
    `checkpoints`, which must not exist."""

    job: JobName
    checkpoints: str
    queries: Mapping[QueryName, Adopting]


@dataclass(frozen=True)
class Scratch:
    """A look at what the savepoint holds, by `job`'s own code but with none of its sinks; `checkpoints` must not exist."""

    job: JobName
    checkpoints: str
    new_query_id: Callable[[], str]
    with_state: bool = True
    """Without it there is what the checkpoints say of the state, and not the state."""
    parent_output: str = ""
    """As that of a fork; where the code is to run, which reads what it writes, `output` and `warehouse` are its own."""
    output: str = ""
    warehouse: str = ""
    version: Version | None = None
    """What is to run there, where that is not the savepoint's own."""


Target = Fork | Resume | Adopt | Scratch


@dataclass(frozen=True)
class Files:
    """What is put below the new checkpoints, by path there: files of the savepoint as they are, and content that is written anew."""

    clones: Mapping[str, StoredFile]
    written: Mapping[str, bytes]
    sink_logs: Mapping[QueryName, str]
    """Query -> absolute directory of the log to carry into its file sink, for queries whose sink has one."""


def sinks_of(library: Storage, manifest: Manifest, target: Target) -> tuple[RestoredSink, ...]:
    """How each query's sink begins; raises Invalid for an unknown choice."""
    if isinstance(target, Scratch):
        return restored_sinks.of_scratch(manifest, _arguments(manifest, target)) if target.output else ()
    if isinstance(target, Resume):
        return restored_sinks.of_resume(manifest)
    if isinstance(target, Adopt):
        return adoptions.of(manifest, target.queries)
    return restored_sinks.of_fork(library, manifest, _arguments(manifest, target), target.sinks)


def as_named(library: Storage, manifest: Manifest, target: Target) -> tuple[QueryImage, ...]:
    """The savepoint's queries, each sink at the directory under which the logs of sources in the restored checkpoints name its files."""
    places = {sink.image.query: sink.to for sink in sinks_of(library, manifest, target) if sink.to}
    return tuple(replace(image, sink_path=places.get(image.query, image.sink_path)) for image in manifest.queries)


def own_tables(manifest: Manifest, target: Target) -> Mapping[str, str]:
    """For `RunSpec.own_tables`: what each of a fork's queries must not write to, where its parent's writes to a table."""
    if not isinstance(target, Fork):
        return {}
    arguments = _arguments(manifest, target)
    branched: dict[str, str] = {image.query: plain(image.sink_path) for image in manifest.queries if iceberg_tables.is_table(image)}
    named = {image.query: image.sink_table for image in manifest.queries if image.sink.lower() in sinks.TABLE_SINKS and image.sink_table}
    return (
        named
        | branched
        | {
            image.query: sink_places.table_folder(image) if sink_places.moves_table(image, arguments) else ANY_TABLE
            for image in manifest.queries
            if sinks.is_table(image)
        }
    )


def read_tables(manifest: Manifest, target: Scratch) -> Mapping[str, str]:
    """The folder of each Delta table that another query of the job reads -> where code that is rehearsed looks for it, if that is known."""
    arguments = _arguments(manifest, target)
    tables = {sink_places.table_folder(image): image for image in manifest.queries if reader_of_table(manifest.queries, image)}
    return {
        folder: history.own_place(replace(image, sink_path=folder), arguments, manifest.job) for folder, image in tables.items() if folder
    }


def _arguments(manifest: Manifest, target: Fork | Scratch) -> Arguments:
    return Arguments(
        _told(manifest.version),
        _told(target.version or manifest.version),
        target.parent_output,
        target.output,
        target.job,
        target.warehouse,
    )


def _told(version: Version) -> tuple[str, ...]:
    """The arguments; a SQL job's sinks are in its own output directory without any that says so."""
    return (*version.args, OUTPUT) if sql_jobs.is_sql(version.script) else version.args


def files(library: Storage, manifest: Manifest, target: Target, begun: Sequence[RestoredSink]) -> Files:
    """All files of a restore: a fork's query ids and files that name the checkpoint's place are written anew, sink logs as decided."""
    anew = {path: (image, inner) for image in manifest.queries for path, inner in _anew(manifest, image, target).items()}
    written = {path: _content(library, manifest, image, target, inner) for path, (image, inner) in anew.items()}
    replaced = _with_checksums(anew)
    moves = {
        path: file for image in manifest.queries for path, file in _below(manifest, layout.checkpoint(image.query), folder_of(image.query))
    }
    logs = {sink.image.query: sink for sink in begun if sink.logged}
    for query, begun_sink in logs.items():
        home = f"{SINK_LOGS}/{folder_of(query)}"
        written |= {paths.join(home, name): data for name, data in begun_sink.written.items()}
        moves |= dict(_below(manifest, layout.sink_log(query), home)) if begun_sink.as_it_is else {}
        moves |= dict(_below(manifest, layout.table(query), f"{home}/{TABLE}")) if begun_sink.table else {}
    for query, instead in target.replaced.items() if isinstance(target, Fork | Resume) else ():
        home = f"{folder_of(query)}/"
        replaced |= {path for path in moves if path.startswith(home) and gives_way(path.removeprefix(home), instead)}
        written |= {home + path: data for path, data in instead.items()}
    read_anew = _read_anew(library, manifest, begun, moves, written)
    written |= read_anew
    replaced |= _with_checksums(read_anew)
    checkpoints = target.checkpoints.rstrip("/")
    left = isinstance(target, Scratch) and not target.with_state
    clones = {path: file for path, file in moves.items() if path not in replaced and not (left and state_files.is_data(path))}
    return Files(clones, written, {query: f"{checkpoints}/{SINK_LOGS}/{folder_of(query)}" for query in logs})


def _with_checksums(names: Iterable[str]) -> set[str]:
    return {name for path in names for name in (path, paths.join(paths.parent(path), f".{paths.name(path)}.crc"))}


def _read_anew(
    library: Storage, manifest: Manifest, begun: Sequence[RestoredSink], moves: Mapping[str, StoredFile], written: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The logs of sources that name files of a sink which has another directory in the fork: path below the new checkpoints -> content."""
    places = [(sink.image, sink.to) for sink in begun if sink.to]
    anew: dict[str, bytes] = {}
    for path in sorted({*moves, *written}) if places else ():
        if own_reads.is_log(path.partition("/")[2]):
            data = written[path] if path in written else library.read(layout.inside(manifest.id, moves[path].path))
            moved = own_reads.moved(data, places, manifest.job)
            anew |= {path: moved} if moved != data else {}
    return anew


def gives_way(path: str, instead: Mapping[str, bytes]) -> bool:
    """Whether a file of a query's checkpoint, or its checksum, is among those that are replaced, or in the log of a source that is."""
    folder, name = paths.parent(path), paths.name(path)
    logs = {paths.parent(other) for other in instead if other.startswith(f"{closure.SOURCES}/")}
    return bool({path, paths.join(folder, name.removeprefix(".").removesuffix(".crc"))} & instead.keys()) or folder in logs


def _content(library: Storage, manifest: Manifest, image: QueryImage, target: Target, inner: str) -> bytes:
    if inner == metadata.FILE and not isinstance(target, Resume):
        query_id = target.queries[image.query].query_id if isinstance(target, Adopt) else target.new_query_id()
        return metadata.serialized(metadata.QueryMetadata(query_id))
    data = library.read(layout.inside(manifest.id, paths.join(layout.checkpoint(image.query), inner)))
    return relocation.relocated(inner, data, f"{target.checkpoints.rstrip('/')}/{folder_of(image.query)}")


def _anew(manifest: Manifest, image: QueryImage, target: Target) -> Mapping[str, str]:
    """Path below the new checkpoints -> path in the query's checkpoint."""
    inner = [path for path, _ in _below(manifest, layout.checkpoint(image.query), "")]
    paths_anew = [path for path in inner if relocation.names_its_place(path) or (path == metadata.FILE and not isinstance(target, Resume))]
    return {paths.join(folder_of(image.query), path): path for path in paths_anew}


def _below(manifest: Manifest, home: str, new_home: str) -> Iterator[tuple[str, StoredFile]]:
    """The savepoint's files in `home`, by their path below `new_home`."""
    for file in manifest.files:
        if file.path.startswith(home + "/"):
            yield paths.join(new_home, file.path.removeprefix(home + "/")), file
