"""State: what a savepoint remembers, listed from its manifest, read by Spark in the sandbox, asked in DuckDB."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.catalog import state_worker
from pipelines.catalog.states import STATE
from pipelines.domain import masters, proofs, states
from pipelines.domain.bounds import MOST
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import QueryName, SavepointId, folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import Reading, StateRows, StateTable
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.readings import ROWS_FOLDER, Far, ReadRows, ReadTask
from pipelines.savepoint import leases, manifests, progress_file, restore
from pipelines.savepoint import states as tables
from pipelines.verbs.state import ListStates, QueryState, ReadState, ReadStatePlan
from pipelines.workspace import progress, readings, run_confs, runtimes, savepoints, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.states.points import Held
from pipelines.workspace.tickets import Ticket


@answers(ListStates)
def listed(context: Context, question: ListStates) -> Sequence[StateTable]:
    """Every table of the savepoint's state, with how many rows are known of it and what was read of it."""
    return _listed(context, _of_library(context, question.savepoint))


@plans(ReadState)
def plan(context: Context, change: ReadState) -> Planned[str, ReadStatePlan]:
    """Plans to read the state of a table; where enough rows were read before, the answer is there at once."""
    held = _of_library(context, change.savepoint)
    table = states.chosen(_listed(context, held), change)
    if change.limit < 1:
        raise Invalid("state.limit", f"{change.limit} rows cannot be read", "Ask for at least one row.")
    plan = ReadStatePlan(held.manifest.id, held.manifest.job, table, change.limit)

    def work(ticket: Ticket) -> str:
        return reading_of(context, held, table, change.limit, context.layout.sandbox_folder(ticket.operation), ticket).id

    return Planned(plan, work)


def whole(context: Context, held: Held, table: StateTable, folder: Path, ticket: Ticket) -> Reading:
    """Every row of a table, read before or now, in the scratch `folder`."""
    return reading_of(context, held, table, MOST, folder, ticket)


def _of_library(context: Context, savepoint: str) -> Held:
    manifest = savepoints.manifest(context, savepoint)
    return Held(context.shelf(manifest.id), manifest, manifest.id)


def reading_of(context: Context, held: Held, table: StateTable, limit: int, folder: Path, ticket: Ticket) -> Reading:
    """The rows of a table, at most `limit` of them; read by Spark, in the scratch `folder`, unless they were read before."""
    if (reading := _kept(context, held, table, limit)) is not None:
        return reading
    with verifications.turn(context, ticket):
        return _kept(context, held, table, limit) or _read(context, held, table, limit, folder, ticket)


def _kept(context: Context, held: Held, table: StateTable, limit: int) -> Reading | None:
    """The earlier reading, where it has enough rows: it may have been read while this call waited for its turn."""
    reading = readings.find(context, held.key, states.reading_id(held.key, table))
    return reading if reading is not None and (reading.whole or reading.rows >= limit) else None


@answers(QueryState)
def query(context: Context, question: QueryState) -> StateRows:
    """Raises what `catalog.state_worker.query` raises, and NotFound (`state.not_read`) where nobody has read that table."""
    held = _of_library(context, question.savepoint)
    table = states.chosen(_listed(context, held), question)
    if table.reading is None:
        raise NotFound("state.not_read", f"The state {table.title} of {held.key} was not read yet", "Read it first.")
    return state_worker.query(context.state_workers, {STATE: readings.files(context, table.reading)}, question)


def _listed(context: Context, held: Held) -> tuple[StateTable, ...]:
    listed_tables = tables.tables(held.shelf, held.manifest)
    rows = _operator_rows(context, held.manifest) if listed_tables else {}
    return tuple(
        replace(
            table,
            operator_rows=rows.get((table.query, table.operator)),
            reading=readings.find(context, held.key, states.reading_id(held.key, table)),
        )
        for table in listed_tables
    )


def _operator_rows(context: Context, manifest: Manifest) -> Mapping[tuple[QueryName, int], int | None]:
    """Rows by (query, operator): as a proof read them, else as the job's progress event of that batch has them."""
    verified = manifests.last_verification(context.shelf(manifest.id), manifest.id)
    events = _progress_events(context, manifest)
    rows: dict[tuple[QueryName, int], int | None] = {}
    for image in manifest.queries:
        nothing = dict.fromkeys((operator.id for operator in image.operators), 0)
        counts = proofs.state_counts(image, nothing, events.get(image.query), {**image.conf, **manifest.version.conf})
        rows |= {(count.query, count.operator): count.expected for count in counts}
    proved = verified.proof.states if verified is not None and verified.proof is not None else ()
    return rows | {(count.query, count.operator): count.rows for count in proved}


def _progress_events(context: Context, manifest: Manifest) -> Mapping[QueryName, dict[str, Any]]:
    """Progress events of the batches: from the savepoint, else from the job's runs."""
    events = progress_file.read(context.shelf(manifest.id), manifest.id)
    return events if len(events) == len(manifest.begun) else {**progress.find(context, manifest), **events}


def _read(context: Context, held: Held, table: StateTable, limit: int, folder: Path, ticket: Ticket) -> Reading:
    """1. the savepoint is restored in the scratch folder; 2. Spark reads it there; 3. the rows are kept. Nothing else is left."""
    began, manifest = time.monotonic(), held.manifest
    with leases.lease(held.shelf, manifest.id, str(folder), context.now_ms()):
        folder.mkdir(parents=True)
        try:
            ticket.step("restoring")
            target = restore.Scratch(manifest.job, str(folder / "checkpoints"), context.new_query_id)
            restore.restore(held.shelf, manifest.id, target, context.now_ms(), watch=ticket)  # 1
            home = folder / "read"
            home.mkdir()
            read_rows = _in_sandbox(context, manifest, table, limit, home, folder / "checkpoints", ticket)  # 2
            reading = _reading(context, held.key, table, read_rows, home, began)
            _keep(context, reading, home, folder / "kept")  # 3
            return reading
        finally:
            shutil.rmtree(folder)


def _in_sandbox(
    context: Context, manifest: Manifest, table: StateTable, limit: int, home: Path, checkpoints: Path, ticket: Ticket
) -> ReadRows:
    image = next(candidate for candidate in manifest.queries if candidate.query == table.query)
    at = str(checkpoints / folder_of(table.query))
    store = Store.of(image, at, table.operator, table.name, table.store)
    version = manifest.version
    task = ReadTask(
        TASK_FORMAT,
        f"{manifest.job} (state)",
        masters.beside(version.master),
        run_confs.confs(context, version),
        store,
        table.read_as,
        limit,
    )
    return sandbox.read(context.sparks, home, task, runtimes.reader(version), follow(ticket))


def follow(ticket: Ticket) -> Callable[[Far], None]:
    """Tells `ticket` how far a process of the sandbox is."""
    before = Far("", 0, 0)

    def watch(far: Far) -> None:
        nonlocal before
        if (far.step, far.total) != (before.step, before.total):
            ticket.step(far.step, far.total, "partitions")
            before = Far(far.step, 0, far.total)
        ticket.advance(max(far.done - before.done, 0))
        before = far

    return watch


def _reading(context: Context, key: SavepointId, table: StateTable, read_rows: ReadRows, home: Path, began: float) -> Reading:
    return Reading(
        id=states.reading_id(key, table),
        savepoint=key,
        query=table.query,
        operator=table.operator,
        store=table.store,
        variable=table.variable,
        batch=table.batch,
        rows=read_rows.rows,
        total=read_rows.total,
        bytes=readings.size(home / ROWS_FOLDER),
        partitions={
            partition: read_rows.partitions.get(partition, 0)
            for partition in range(max(table.partitions, *(partition + 1 for partition in read_rows.partitions)))
        },
        spark_version=read_rows.spark_version,
        read_ms=context.now_ms(),
        took_ms=(time.monotonic() - began) * 1000,
    )


def _keep(context: Context, reading: Reading, home: Path, rows_folder: Path) -> None:
    """Publishes the rows that the sandbox wrote; its other files are dropped."""
    rows_folder.mkdir()
    (home / ROWS_FOLDER).rename(rows_folder / ROWS_FOLDER)
    readings.publish(context, reading, rows_folder)
