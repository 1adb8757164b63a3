"""The parts of a workspace that a backup is made of, each with what is to be read of it."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain import event_logs
from pipelines.domain import runs as run_files
from pipelines.domain.backups import DOCUMENTS, FOLDERS
from pipelines.domain.errors import NotFound
from pipelines.domain.home_leases import LOCK_FILE
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.jobs import Wanted
from pipelines.domain.processes import PROCESS_FILE, TERMINATED_FILE
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import RUN_LOCK, Exit
from pipelines.domain.savepoints import Manifest
from pipelines.domain.sinks import LOG
from pipelines.domain.trust import Damage
from pipelines.savepoint import completeness, library
from pipelines.savepoint import layout as inner
from pipelines.savepoint.checksums import Seal
from pipelines.savepoint.sink_places import inside, plain
from pipelines.savepoint.source import JobSource
from pipelines.storage import documents, fronts, lines, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.errors import typed_errors
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.storage.protocol import Entry, Storage
from pipelines.workspace.context import Context

PASSING = {PROCESS_FILE, TERMINATED_FILE, "modules.zip", "tidemark.zip", RUN_LOCK, LOCK_FILE}
"""Files of a run that say something of one machine, or are made anew."""
GROWING = (".jsonl", ".log")
ENDED = "it ran when the workspace was backed up; resume it, and it goes on where its backup was taken"


class Reads(enum.Enum):
    """How a file is read while others may write to it."""

    WHOLE = enum.auto()
    """At once: it is replaced whole."""
    LINES = enum.auto()
    """Up to its last whole line: it grows."""
    CONTENT = enum.auto()
    """As it is listed: it does not change."""
    OUTPUT = enum.auto()
    """As it is listed, or what is left of it: who writes it may have replaced it; what is gone by then was no part of an output."""


@dataclass(frozen=True)
class Part:
    """A file that a backup has at `path`. `source` is where it is read, in the workspace; `data` is its content where that is known.
    `bytes` are those that are kept: of a file that grows its whole lines from `begin` on, without a front that was freed."""

    path: str
    bytes: int
    source: str
    reads: Reads
    modified_ms: int = 0
    sha256: str = ""
    data: builtins.bytes | None = None
    begin: int = 0


def root(context: Context) -> Storage:
    """The workspace's folder."""
    return open_storage(str(context.layout.root))


def of_workspace(context: Context) -> Iterator[Part]:
    """Its own documents and what hangs together with no job. Before the jobs: an experiment that is read has all of its forks then."""
    storage = root(context)
    for name in DOCUMENTS:
        path = context.layout.root / name
        if path == context.layout.audit_file and path.is_file():
            yield _audit(context)
        elif path.is_file():
            yield _part(context, _entry(context, path))
    for folder in FOLDERS[: FOLDERS.index("versions")]:
        yield from (_part(context, entry) for entry in storage.list(folder))


def _audit(context: Context) -> Part:
    """Its whole lines of now, before the sealed files: what is sealed meanwhile is in both, and counts once."""
    seen, data = _entry(context, context.layout.audit_file), context.layout.audit_file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    return Part(seen.path, len(whole), seen.path, Reads.WHOLE, seen.modified_ms, data=whole)


def of_versions(context: Context) -> Iterator[Part]:
    """Versions and their large files, after the runs that name them."""
    storage = root(context)
    for entry in storage.list("versions"):
        yield Part(entry.path, entry.bytes, entry.path, Reads.WHOLE, entry.modified_ms)
    for entry in storage.list("large"):
        yield Part(entry.path, entry.bytes, entry.path, Reads.CONTENT, entry.modified_ms, entry.path.split("/")[1])


def of_job(context: Context, job: JobName) -> Iterator[Part]:
    """Its documents and runs. In the backup nothing of it is wanted: what runs or is to be restarted has ended there."""
    files = context.files
    if context.layout.job_file(job).is_file():
        yield _part(context, _entry(context, context.layout.job_file(job)))
    yield _made(context, context.layout.wanted_file(job), Wanted(files.wanted(job).run))
    listed = files.job(job)
    for run in files.run_ids(job):
        yield from _of_run(context, job, run)
        if files.exit(job, run) is None and not (listed and listed.attached):
            yield _made(context, context.layout.run(job, run) / run_files.EXIT_FILE, Exit("stopped", None, "", ENDED, context.now_ms()))


def _of_run(context: Context, job: JobName, run: RunId) -> Iterator[Part]:
    folder = context.layout.run(job, run)
    for entry in root(context).list(_name(context, folder)):
        name = paths.name(entry.path)
        if name == run_files.RESTART_FILE:
            decision = context.files.find(RestartDecision, folder / name)
            if decision is not None:
                yield _made(context, folder / name, replace(decision, at_ms=None, why=decision.why or ENDED))
        elif name not in PASSING and not entry.path.startswith(f"{_name(context, folder)}/{event_logs.FOLDER}/"):
            yield _part(context, entry)


def of_outputs(context: Context, job: JobName, but: list[str]) -> Iterator[Part]:
    """What it put out into its own folder, after its state: what was put out later is to be put out again, as after a crash. Logs of a
    table are listed before its files, and `but` names sink logs that come with the state."""
    storage, folder = root(context), _name(context, context.layout.job(job))
    for is_log in (True, False):
        for top in (OUTPUT, WAREHOUSE):
            for entry in storage.list(f"{folder}/{top}"):
                inner_parts = entry.path.split("/")[3:]
                if "_temporary" in inner_parts or any(entry.path.startswith(f"{log}/") for log in but):
                    continue
                if is_log == any(part.startswith("_") for part in inner_parts[:-1]):
                    yield Part(entry.path, entry.bytes, entry.path, Reads.OUTPUT, entry.modified_ms)


def of_state(context: Context, source: JobSource, manifest: Manifest, folder: Path) -> tuple[list[Part], list[str]]:
    """The checkpoints and sink logs of a job as an image of them in `folder` has them, and where those logs are. What lies outside of the
    workspace stays there."""
    places = {query.query: query for query in source.queries}
    targets: dict[str, str] = {}
    for image in manifest.queries:
        place = places[image.query]
        sink = f"{plain(image.sink_path)}/{LOG}" if image.sink_path else ""
        for inner_folder, target in ((inner.checkpoint(image.query), place.checkpoint), (inner.sink_log(image.query), sink)):
            if inside(target, str(context.layout.job(source.job))):
                targets[inner_folder] = _name(context, Path(plain(target)))
    at = _name(context, folder / manifest.id)
    parts = [
        Part(f"{target}{file.path[len(inner_folder) :]}", file.bytes, f"{at}/{file.path}", Reads.CONTENT)
        for inner_folder, target in targets.items()
        for file in manifest.files
        if file.path.startswith(f"{inner_folder}/")
    ]
    return parts, [target for target in targets.values() if paths.name(target) == LOG]


def of_savepoint(context: Context, savepoint: SavepointId, seal: Seal | None) -> Iterator[Part]:
    """A savepoint with what belongs to it; what is sealed need not be read to be known. Raises Corrupt (`savepoint.damaged`) for one that
    is not complete, or that its seal does not cover."""
    manifest, there = library.manifest(context.library, savepoint), list(context.library.list(savepoint))
    present = {entry.path[len(savepoint) + 1 :]: entry.bytes for entry in there}
    completeness.refuse(savepoint, completeness.compared(manifest.files, present))
    sizes = {file.path: file.bytes for file in manifest.files}
    if seal is not None:
        completeness.refuse(savepoint, [Damage(path, "checksum", "was not sealed") for path in sizes if path not in seal.files])
    for entry in there:
        name, path = entry.path[len(savepoint) + 1 :], f"savepoints/{entry.path}"
        if name in sizes:
            yield Part(path, sizes[name], path, Reads.CONTENT, entry.modified_ms, seal.files[name] if seal else "")
        elif name not in (inner.MAKING, inner.DISPOSING) and not name.startswith(f"{inner.LEASES}/"):
            yield _part(context, entry, path)


def whole_lines(context: Context, source: str, end: int) -> tuple[int, int]:
    """Where the lines begin that are there still, and their bytes up to the last end of line before `end`; all of them where a line is
    longer than any that we write. NotFound where the file is gone."""
    with typed_errors(source), (context.layout.root / source).open("rb") as file:
        first = min(end, fronts.first_line(file, lines.LONGEST_BYTES))
        file.seek(max(0, end - lines.LONGEST_BYTES))
        begin, tail = file.tell(), file.read(min(end, lines.LONGEST_BYTES))
    last = tail.rfind(b"\n") + 1
    return first, max(0, (begin + last if last or not begin else end) - first)


def _part(context: Context, entry: Entry, path: str = "") -> Part:
    source = path or entry.path
    if not entry.path.endswith(GROWING):
        return Part(source, entry.bytes, source, Reads.WHOLE, entry.modified_ms)
    try:
        begin, size = whole_lines(context, source, entry.bytes)
    except NotFound:  # since it was listed
        begin, size = 0, 0
    return Part(source, size, source, Reads.LINES, entry.modified_ms, begin=begin)


def _entry(context: Context, path: Path) -> Entry:
    seen = path.stat()
    return Entry(_name(context, path), seen.st_size, seen.st_mtime_ns // 1_000_000)


def _made(context: Context, path: Path, value: object) -> Part:
    data = documents.encode(value)
    return Part(_name(context, path), len(data), "", Reads.WHOLE, data=data)


def _name(context: Context, path: Path) -> str:
    return path.relative_to(context.layout.root).as_posix()
