"""State: what a savepoint remembers, listed from its manifest, read by Spark in the sandbox, asked in DuckDB."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.catalog import state_worker
from pipelines.domain import masters, proofs, states
from pipelines.domain.bounds import MOST
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import QueryName, folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import Reading, StateRows, StateTable
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.readings import ROWS_FOLDER, Far, ReadRows, ReadTask
from pipelines.savepoint import leases, manifests, progress_file, restore
from pipelines.savepoint import states as tables
from pipelines.verbs.state import ListStates, QueryState, ReadState, ReadStatePlan
from pipelines.workspace import progress, readings, runs, savepoints, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket


@answers(ListStates)
def listed(context: Context, question: ListStates) -> Sequence[StateTable]:
    """Every table of the savepoint's state, with how many rows are known of it and what was read of it."""
    return _listed(context, savepoints.manifest(context, question.savepoint))


@plans(ReadState)
def plan(context: Context, change: ReadState) -> Planned[str, ReadStatePlan]:
    """Plans to read the state of a table; where enough rows were read before, the answer is there at once."""
    manifest = savepoints.manifest(context, change.savepoint)
    table = states.chosen(_listed(context, manifest), change)
    if change.limit < 1:
        raise Invalid("state.limit", f"{change.limit} rows cannot be read", "Ask for at least one row.")
    plan = ReadStatePlan(manifest.id, manifest.job, table, change.limit)
    return Planned(plan, lambda ticket: _reading_of(context, manifest, plan, ticket).id)


def whole(context: Context, manifest: Manifest, table: StateTable, ticket: Ticket) -> Reading:
    """Every row of a table, read before or now."""
    return _reading_of(context, manifest, ReadStatePlan(manifest.id, manifest.job, table, MOST), ticket)


def _reading_of(context: Context, manifest: Manifest, plan: ReadStatePlan, ticket: Ticket) -> Reading:
    if (reading := _kept(context, manifest, plan.table, plan.limit)) is not None:
        return reading
    with verifications.turn(context, ticket):
        reading = _kept(context, manifest, plan.table, plan.limit)
        return reading or _read(context, manifest, plan.table, plan.limit, ticket)


def _kept(context: Context, manifest: Manifest, table: StateTable, limit: int) -> Reading | None:
    """The earlier reading, where it has enough rows: it may have been read while this call waited for its turn."""
    reading = readings.find(context, manifest.id, states.reading_id(manifest.id, table))
    return reading if reading is not None and (reading.whole or reading.rows >= limit) else None


@answers(QueryState)
def query(context: Context, question: QueryState) -> StateRows:
    """Raises what `catalog.state_worker.query` raises, and NotFound (`state.not_read`) where nobody has read that table."""
    manifest = savepoints.manifest(context, question.savepoint)
    table = states.chosen(_listed(context, manifest), question)
    if table.reading is None:
        raise NotFound("state.not_read", f"The state {table.title} of {manifest.id} was not read yet", "Read it first.")
    return state_worker.query(context.state_workers, readings.files(context, table.reading), question)


def _listed(context: Context, manifest: Manifest) -> tuple[StateTable, ...]:
    listed_tables = tables.tables(context.library, manifest)
    rows = _operator_rows(context, manifest) if listed_tables else {}
    return tuple(
        replace(
            table,
            operator_rows=rows.get((table.query, table.operator)),
            reading=readings.find(context, manifest.id, states.reading_id(manifest.id, table)),
        )
        for table in listed_tables
    )


def _operator_rows(context: Context, manifest: Manifest) -> Mapping[tuple[QueryName, int], int | None]:
    """Rows by (query, operator): as a proof read them, else as the job's progress event of that batch has them."""
    verified = manifests.last_verification(context.library, manifest.id)
    events = _said(context, manifest)
    rows: dict[tuple[QueryName, int], int | None] = {}
    for image in manifest.queries:
        nothing = dict.fromkeys((operator.id for operator in image.operators), 0)
        counts = proofs.state_counts(image, nothing, events.get(image.query), {**image.conf, **manifest.version.conf})
        rows |= {(count.query, count.operator): count.expected for count in counts}
    proved = verified.proof.states if verified is not None and verified.proof is not None else ()
    return rows | {(count.query, count.operator): count.rows for count in proved}


def _said(context: Context, manifest: Manifest) -> Mapping[QueryName, dict[str, Any]]:
    """Progress events of the batches: from the savepoint, else from the job's runs."""
    events = progress_file.read(context.library, manifest.id)
    return events if len(events) == len(manifest.begun) else {**progress.find(context, manifest), **events}


def _read(context: Context, manifest: Manifest, table: StateTable, limit: int, ticket: Ticket) -> Reading:
    """1. the savepoint is restored in a scratch folder; 2. Spark reads it there; 3. the rows are kept. Nothing else is left."""
    began, folder = time.monotonic(), context.layout.sandbox_folder(ticket.operation)
    with leases.lease(context.library, manifest.id, str(folder), context.now_ms()):
        folder.mkdir(parents=True)
        try:
            ticket.step("restoring")
            target = restore.Scratch(manifest.job, str(folder / "checkpoints"), context.new_query_id)
            restore.restore(context.library, manifest.id, target, context.now_ms(), watch=ticket)  # 1
            home = folder / "read"
            home.mkdir()
            read_rows = _in_sandbox(context, manifest, table, limit, home, folder / "checkpoints", ticket)  # 2
            reading = _reading(context, manifest, table, read_rows, home, began)
            _keep(context, reading, home, folder / "kept")  # 3
            return reading
        finally:
            shutil.rmtree(folder)


def _in_sandbox(
    context: Context, manifest: Manifest, table: StateTable, limit: int, home: Path, checkpoints: Path, ticket: Ticket
) -> ReadRows:
    image = next(candidate for candidate in manifest.queries if candidate.query == table.query)
    at = str(checkpoints / folder_of(table.query))
    store = Store(image.query, at, image.batch, image.provider, image.state_format, table.operator, table.name, table.store)
    version = manifest.version
    task = ReadTask(
        TASK_FORMAT, f"{manifest.job} (state)", masters.beside(version.master), runs.confs(context, version), store, table.variable, limit
    )
    return sandbox.read(context.sparks, home, task, version.python, follow(ticket))


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


def _reading(context: Context, manifest: Manifest, table: StateTable, read_rows: ReadRows, home: Path, began: float) -> Reading:
    return Reading(
        id=states.reading_id(manifest.id, table),
        savepoint=manifest.id,
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
