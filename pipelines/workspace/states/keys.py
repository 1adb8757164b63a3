"""Keys of running jobs: the newest committed batch is linked aside, Spark reads the key's partition there, and nothing is left."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from pipelines.domain import state_keys, states
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.state_keys import KeyRows
from pipelines.domain.states import StateTable
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.lookups import FoundKey, LookUpTask
from pipelines.savepoint import restore
from pipelines.savepoint import states as tables
from pipelines.verbs.state_key import LookUpKey, LookUpKeyPlan
from pipelines.workspace import run_confs, runs, runtimes
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.states import changes
from pipelines.workspace.states import points as state_points
from pipelines.workspace.states.changes import Asked
from pipelines.workspace.states.points import Held, StatePoint
from pipelines.workspace.tickets import Ticket


@plans(LookUpKey)
def plan(context: Context, change: LookUpKey) -> Planned[KeyRows, LookUpKeyPlan]:
    """Raises NotFound (`state.none`, `state.not_found`), Invalid (`state.several`), and what taking a savepoint raises."""
    job = runs.known(context, change.job)
    point = StatePoint(job, job, None)
    look = state_points.planned(context, point).look
    stateful = [query.image for query in look.gathered if query.image.operators]
    if not stateful:
        raise NotFound("state.none", f"No query of {job} keeps state", "Queries with aggregations, joins or deduplications do.")
    image = next((image for image in stateful if change.query in ("", image.query)), stateful[0])
    title = " / ".join(filter(None, (image.query, str(change.operator or 0), change.store, change.variable)))
    return Planned(LookUpKeyPlan(job, title, image.batch), lambda ticket: _look_up(context, point, change, ticket))


def _look_up(context: Context, point: StatePoint, change: LookUpKey, ticket: Ticket) -> KeyRows:
    """1. the newest batch is linked aside, and its files say which columns a key has; 2. it is laid out as a checkpoint; 3. Spark reads
    there. Nothing is left."""
    began, folder = time.monotonic(), context.layout.sandbox_folder(ticket.operation)
    try:
        ticket.step("linking the newest batch")
        held = state_points.held(context, point, folder / "point", ticket)  # 1
        table = states.chosen(tables.tables(held.shelf, held.manifest), change)
        if (columns := tables.key_columns(held.shelf, held.manifest, table)) is not None:
            state_keys.check(change.key, columns)
        image = next(image for image in held.manifest.queries if image.query == table.query)
        target = restore.Scratch(held.manifest.job, str(folder / "checkpoints"), context.new_query_id)
        restore.restore(held.shelf, held.manifest.id, target, context.now_ms(), watch=ticket)  # 2
        task = _task(context, held, image, table, change, folder)
        lookup = _looked_up(context, held, task, folder, ticket)  # 3
        asked = None if change.since is None else Asked(held, table, task, lookup, change.since, folder)
        history = changes.history(context, asked, ticket) if asked is not None else None
    finally:
        if folder.exists():
            shutil.rmtree(folder)
    return KeyRows(
        job=point.job,
        query=table.query,
        operator=table.operator,
        store=table.store,
        variable=table.variable,
        batch=image.batch,
        batch_ms=image.batch_timestamp_ms,
        partition=None if lookup.partition < 0 else lookup.partition,
        rows=lookup.rows,
        took_ms=(time.monotonic() - began) * 1000,
        history=history,
    )


def _task(context: Context, held: Held, image: QueryImage, table: StateTable, change: LookUpKey, folder: Path) -> LookUpTask:
    version = held.manifest.version
    at = str(folder / "checkpoints" / folder_of(table.query))
    store = Store.of(image, at, table.operator, table.name, table.store)
    conf = run_confs.confs(context, version)
    return LookUpTask(TASK_FORMAT, f"{table.query} (state)", version.master, conf, store, table.read_as, table.partitions, change.key)


def _looked_up(context: Context, held: Held, task: LookUpTask, folder: Path, ticket: Ticket) -> FoundKey:
    home = folder / "look-up"
    home.mkdir()
    ticket.step("reading the key's partition")
    return sandbox.look_up(context.sparks, home, task, runtimes.reader(held.manifest.version), ticket.check)
