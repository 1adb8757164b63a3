"""What single batches made of one key: Spark's change feed, read in a copy of the files in which they wrote down what they changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.checkpoint import change_files
from pipelines.checkpoint.listing import Listing, listed
from pipelines.domain.errors import NotFound
from pipelines.domain.savepoints import StoredFile
from pipelines.domain.state_keys import MOST_BATCHES, KeyChange, KeyHistory
from pipelines.domain.states import StateTable
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.lookups import MOST_ROWS, FoundKey, LookUpTask
from pipelines.savepoint import clone, states
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone
from pipelines.workspace import runtimes, sources
from pipelines.workspace.context import Context
from pipelines.workspace.states.points import Held
from pipelines.workspace.tickets import Ticket

NO_FEED = "Spark's change feed does not have timers."
GONE = (
    "Spark keeps no changes of batch {batch:,}: the RocksDB store writes them down with "
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled alone, and they go with their batch."
)
MANY = "Only the first {rows:,} changes are here, and they end within batch {batch:,}: ask for those since batch {before:,}, too."


@dataclass(frozen=True)
class Asked:
    """A key that was looked up in `folder`, and the batch after which its changes are asked for."""

    held: Held
    table: StateTable
    task: LookUpTask
    found: FoundKey
    since: int
    folder: Path


def history(context: Context, asked: Asked, ticket: Ticket) -> KeyHistory:
    """1. The files that hold the changes are linked into the copy; 2. Spark reads those of the key's partition."""
    newest = asked.task.store.batch
    since = max(asked.since, newest - MOST_BATCHES)
    if asked.table.is_timers:
        return KeyHistory(newest, (), NO_FEED)
    store, variable = states.changed_in(asked.held.shelf, asked.held.manifest, asked.table)
    told = _linked(context, asked, store, since, ticket)  # 1
    note = GONE.format(batch=told) if told > since else ""
    if told >= newest:
        return KeyHistory(newest, (), note)
    home = asked.folder / "changes"
    home.mkdir()
    ticket.step("reading the key's changes")
    task = replace(asked.task, store=replace(asked.task.store, store=store), variable=variable, since=told)
    lookup = sandbox.look_up(context.sparks, home, task, runtimes.reader(asked.held.manifest.version), ticket.check)  # 2
    made = tuple(KeyChange.of(row) for row in sorted(lookup.rows, key=lambda row: int(row["batch_id"])))
    return KeyHistory(told, made, " ".join(filter(None, (note, cut(made)))))


def cut(made: tuple[KeyChange, ...]) -> str:
    """What is said of changes that were too many to be shown."""
    if len(made) < MOST_ROWS:
        return ""
    batch = made[-1].batch
    return MANY.format(rows=len(made), batch=batch, before=batch - 1)


def _linked(context: Context, asked: Asked, store: str, since: int, ticket: Ticket) -> int:
    """The batch after which all changes are there, up to the newest."""
    table = asked.table
    places = {place.query: place.checkpoint for place in sources.of_job(context, asked.held.manifest.job).queries}
    if table.query not in places:
        raise NotFound("query.not_found", f"The job has no query {table.query} any more", "Look the key up again.")
    live, copy = open_storage(places[table.query]), open_storage(asked.task.store.checkpoint)
    partitions = range(table.partitions) if asked.found.partition < 0 else (asked.found.partition,)
    stores = change_files.folders(table.operator, partitions, store)
    every = [listed(live, folder) for folder in (*change_files.LOGS, *stores)]
    listing = Listing({name: files for part in every for name, files in part.folders.items()}, {})
    chosen = change_files.change_files(listing, stores, since, asked.task.store.batch)
    there = {entry.path for entry in copy.list("")}
    files = [entry for entry in chosen.files if entry.path not in there]
    if files:
        stored = [StoredFile(entry.path, entry.bytes) for entry in files]
        clone.begin(ticket, clone.copied_bytes(live, copy, stored))
        clone.clone(live, copy, [Clone(entry.path, entry.path, entry.bytes) for entry in files], stored, ticket)
    return chosen.since
