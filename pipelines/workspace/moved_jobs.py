"""A job whose workspace was moved, or restored elsewhere: what names its files by whole paths names them where they are now.

Spark lists a file sink's output by its log, and drops without a word what lies outside of the directory that it reads
(MetadataLogFileIndex); a query that reads what another one of its job writes would read the files again; `transformWithState` looks for the
schemas of its state.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from pipelines.checkpoint import relocation
from pipelines.domain import java_paths
from pipelines.domain.ids import JobName
from pipelines.domain.json_text import read_json
from pipelines.domain.sinks import LOG
from pipelines.savepoint.restored_sinks import SINK_LOGS
from pipelines.savepoint.sink_places import plain
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.workspace import events
from pipelines.workspace.context import Context


def settle(context: Context, job: JobName, output: str) -> None:
    """Before a run begins; `output` is that of the run before it. Done again after a crash it ends the same. Raises Corrupt for damage."""
    folder, before = context.layout.job(job), PurePath(output).parent
    if before == folder or "://" in output or (before.name, PurePath(output).name) != (job, OUTPUT):
        return
    written = [*_logs(folder, before), *_metadata(folder, before)]
    for path, data in written:
        _replace(path, data)
    if written:
        events.say(context, "job.moved", job, job, f"{job}: {len(written)} files that named {before} name {folder} now")


def _logs(folder: Path, before: PurePath) -> Iterator[tuple[Path, bytes]]:
    """The logs of its file sources, and of its file sinks, also those that its driver is to carry into them."""
    sinks = ((folder / name).rglob(f"{LOG}/[0-9]*") for name in (OUTPUT, WAREHOUSE))
    sources, carried = ((folder / "checkpoints").glob(f"*/{log}/[0-9]*") for log in ("*/sources/*", f"{SINK_LOGS}/*"))
    for path in itertools.chain(sources, carried, *sinks):
        lines = path.read_bytes().decode(errors="surrogateescape").split("\n")
        moved = [_moved(line, folder, before) for line in lines]
        if moved != lines:
            yield path, "\n".join(moved).encode(errors="surrogateescape")


def _moved(line: str, folder: Path, before: PurePath) -> str:
    """An entry with the address that its file has now; a line that names none of the job's stays."""
    if not line.startswith('{"path":'):
        return line
    entry = read_json(line)
    place = PurePath(plain(entry["path"]))
    if not place.is_relative_to(before):
        return line
    address = java_paths.address(str(folder / place.relative_to(before)))
    return json.dumps(entry | {"path": address}, ensure_ascii=False, separators=(",", ":"))


def _metadata(folder: Path, before: PurePath) -> Iterator[tuple[Path, bytes]]:
    for path in (folder / "checkpoints").glob("*/*/state/*/_metadata/v2/[0-9]*"):
        data, checkpoint = path.read_bytes(), path.parents[4]
        if f"{before}/".encode() in data:
            yield path, relocation.relocated(str(path.relative_to(checkpoint)), data, str(checkpoint))


def _replace(path: Path, data: bytes) -> None:
    """Another file in its place, of the same owner: a savepoint may have a link to the one that was there."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    aside, was = path.with_name(f".{path.name}.tmp"), path.stat()
    aside.write_bytes(data)
    os.chown(aside, was.st_uid, was.st_gid)
    aside.chmod(was.st_mode & 0o7777)
    aside.replace(path)
