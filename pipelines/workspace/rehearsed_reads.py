"""What a rehearsed query finds where its job's own code writes, and nothing is written then: what the job has there now.

Of a file sink that are the files which it had not read by the savepoint, of a Delta table all of it. Nothing there is written through
these links: files have no new content in Spark, and the log of a table is copied.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from pipelines.checkpoint import closure
from pipelines.domain.delta import LOG
from pipelines.domain.ids import JobName, folder_of
from pipelines.domain.json_text import read_json
from pipelines.domain.run_specs import NOTED_TABLES
from pipelines.domain.savepoints import Manifest
from pipelines.savepoint import own_reads, targets
from pipelines.savepoint.sink_places import plain
from pipelines.savepoint.targets import Scratch, Target
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.layout import WAREHOUSE
from pipelines.workspace.context import Context


def lay_out(context: Context, manifest: Manifest, scratch: Scratch, folder: Path) -> None:
    """Puts it into the scratch output and the scratch warehouse, which are below `folder`."""
    shelf, below = context.shelf(manifest.id), f"{folder}/"
    for sink in targets.sinks_of(shelf, manifest, scratch):
        written = plain(sink.image.sink_path)
        if sink.to.startswith(below):
            Path(sink.to).mkdir(parents=True, exist_ok=True)
            unread = own_reads.unread(shelf, manifest, sink.image) if written.startswith("/") else []
            _link(unread, Path(written), Path(sink.to))
            if unread and sink.to.startswith(f"{folder / WAREHOUSE}/"):
                _note_tables(context, manifest.job, folder / WAREHOUSE)
    for table, to in targets.read_tables(manifest, scratch).items():
        if to.startswith(below) and Path(table, LOG).is_dir():
            _link(_files(Path(table)), Path(table), Path(to))


def rename(context: Context, manifest: Manifest, restored: Target, scratch: Scratch) -> None:
    """Has the scratch checkpoints, a copy of those of the target `restored`, name the files that their sources have read as they are called
    in the scratch output. Its files may be links to the restored ones: none is written in place."""
    shelf = context.shelf(manifest.id)
    to = {sink.image.query: sink.to for sink in targets.sinks_of(shelf, manifest, scratch) if sink.to}
    places = [(image, to[image.query]) for image in targets.as_named(shelf, manifest, restored) if image.query in to]
    for image in manifest.begun if places else ():
        storage = open_storage(f"{scratch.checkpoints}/{folder_of(image.query)}")
        for path in [entry.path for entry in storage.list(closure.SOURCES) if own_reads.is_log(entry.path)]:
            data = storage.read(path)
            moved = own_reads.moved(data, places, manifest.job)
            if moved != data:
                storage.write(path, moved)
                storage.delete([paths.join(paths.parent(path), f".{paths.name(path)}.crc")])


def _link(names: Iterable[str], source: Path, target: Path) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if name.startswith(f"{LOG}/"):
            shutil.copyfile(source / name, target / name)
        else:
            (target / name).symlink_to(source / name)


def _files(table: Path) -> Iterable[str]:
    return (str(path.relative_to(table)) for path in table.rglob("*") if path.is_file())


def _note_tables(context: Context, job: JobName, warehouse: Path) -> None:
    """The job's own tables, which Spark would not make where files are."""
    notes = context.layout.warehouse(job) / NOTED_TABLES
    if notes.is_file():
        raw = read_json(notes.read_text())
        own = [table for table in raw["tables"] if not table["place"].startswith("/") and ":" not in table["place"].partition("/")[0]]
        (warehouse / NOTED_TABLES).write_text(json.dumps({**raw, "tables": own}))
