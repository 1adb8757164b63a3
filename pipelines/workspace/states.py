"""State: what a savepoint remembers, listed from its manifest, read by Spark in the sandbox, asked in DuckDB."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.catalog import states as questions
from pipelines.domain import proofs, states
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import OperationId, QueryName
from pipelines.domain.operations import Operation
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import Reading, StateQuery, StateRequest, StateRows, StateTable
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.readings import ROWS_FOLDER, Far, ReadRows, ReadTask
from pipelines.savepoint import leases, manifests, progress_file, restore
from pipelines.savepoint import states as tables
from pipelines.workspace import operations, progress, readings, savepoints, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.operations import Ticket


def listed(context: Context, named: str) -> Sequence[StateTable]:
    """Every table of the savepoint's state, with how many rows are known of it and what was read of it."""
    return _listed(context, savepoints.manifest(context, named))


def read(context: Context, named: str, request: StateRequest) -> Operation:
    """Begins to read; where so many rows were read before, the operation is done at once."""
    manifest = savepoints.manifest(context, named)
    table = states.chosen(_listed(context, manifest), request)
    if request.limit < 1:
        raise Invalid("state.limit", f"{request.limit} rows cannot be read", "Ask for at least one row.")
    wanted = operations.cancellable(context, "read", manifest.job, manifest.id)

    def work(ticket: Ticket) -> str:
        if (kept := _kept(context, manifest, table, request.limit)) is not None:
            return kept.id
        with verifications.turn(context, ticket):
            kept = _kept(context, manifest, table, request.limit)
            return (kept or _read(context, manifest, table, request.limit, wanted.id, ticket)).id

    return operations.begin(context, wanted, work)


def _kept(context: Context, manifest: Manifest, table: StateTable, limit: int) -> Reading | None:
    """What was read before, where it is enough: it may have been read while somebody waited for the turn."""
    found = readings.find(context, manifest.id, states.reading_id(manifest.id, table))
    return found if found is not None and (found.whole or found.rows >= limit) else None


def query(context: Context, named: str, asked: StateQuery) -> StateRows:
    """Raises what `catalog.states.query` raises, and NotFound (`state.not_read`) where nobody has read that table."""
    manifest = savepoints.manifest(context, named)
    table = states.chosen(_listed(context, manifest), asked)
    if table.reading is None:
        raise NotFound("state.not_read", f"The state {table.title} of {manifest.id} was not read yet", "Read it first.")
    return questions.query(readings.files(context, table.reading), asked)


def _listed(context: Context, manifest: Manifest) -> tuple[StateTable, ...]:
    found = tables.tables(context.library, manifest)
    rows = _operator_rows(context, manifest) if found else {}
    return tuple(
        replace(
            one,
            operator_rows=rows.get((one.query, one.operator)),
            reading=readings.find(context, manifest.id, states.reading_id(manifest.id, one)),
        )
        for one in found
    )


def _operator_rows(context: Context, manifest: Manifest) -> Mapping[tuple[QueryName, int], int | None]:
    """What a proof read, else what the job's own progress said of that batch."""
    verified = manifests.last_verification(context.library, manifest.id)
    said = _said(context, manifest)
    rows: dict[tuple[QueryName, int], int | None] = {}
    for image in manifest.queries:
        nothing = dict.fromkeys((one.id for one in image.operators), 0)
        counts = proofs.state_counts(image, nothing, said.get(image.query), {**image.conf, **manifest.version.conf})
        rows |= {(one.query, one.operator): one.expected for one in counts}
    proved = verified.proof.states if verified is not None and verified.proof is not None else ()
    return rows | {(one.query, one.operator): one.rows for one in proved}


def _said(context: Context, manifest: Manifest) -> Mapping[QueryName, dict[str, Any]]:
    """As the savepoint kept it; else the job's runs are looked through for it."""
    kept = progress_file.read(context.library, manifest.id)
    return kept if len(kept) == len(manifest.queries) else {**progress.find(context, manifest), **kept}


def _read(context: Context, manifest: Manifest, table: StateTable, limit: int, operation: OperationId, ticket: Ticket) -> Reading:
    """1. the savepoint is restored in a scratch folder; 2. Spark reads it there; 3. the rows are kept. Nothing else is left."""
    began, folder = time.monotonic(), context.layout.sandbox_folder(operation)
    with leases.lease(context.library, manifest.id, str(folder), context.now_ms()):
        folder.mkdir(parents=True)
        try:
            ticket.step("restoring")
            target = restore.Scratch(manifest.job, str(folder / "checkpoints"), context.new_query_id)
            restore.restore(context.library, manifest.id, target, context.now_ms(), watch=ticket)  # 1
            home = folder / "read"
            home.mkdir()
            found = _in_sandbox(manifest, table, limit, home, folder / "checkpoints", ticket)  # 2
            reading = _reading(context, manifest, table, found, home, began)
            _keep(context, reading, home, folder / "kept")  # 3
            return reading
        finally:
            shutil.rmtree(folder)


def _in_sandbox(manifest: Manifest, table: StateTable, limit: int, home: Path, checkpoints: Path, ticket: Ticket) -> ReadRows:
    image = next(one for one in manifest.queries if one.query == table.query)
    at = str(checkpoints / table.query)
    store = Store(image.query, at, image.batch, image.provider, image.state_format, table.operator, table.name, table.store)
    version = manifest.version
    task = ReadTask(TASK_FORMAT, f"{manifest.job} (state)", version.master, version.conf, store, table.variable, limit)
    before = Far("", 0, 0)

    def watch(far: Far) -> None:
        nonlocal before
        if (far.step, far.total) != (before.step, before.total):
            ticket.step(far.step, far.total, "partitions")
            before = Far(far.step, 0, far.total)
        ticket.advance(max(far.done - before.done, 0))
        before = far

    return sandbox.read(home, task, version.python, watch)


def _reading(context: Context, manifest: Manifest, table: StateTable, found: ReadRows, home: Path, began: float) -> Reading:
    return Reading(
        id=states.reading_id(manifest.id, table),
        savepoint=manifest.id,
        query=table.query,
        operator=table.operator,
        store=table.store,
        variable=table.variable,
        batch=table.batch,
        rows=found.rows,
        total=found.total,
        bytes=readings.size(home / ROWS_FOLDER),
        partitions={one: found.partitions.get(one, 0) for one in range(max(table.partitions, *(one + 1 for one in found.partitions)))},
        spark_version=found.spark_version,
        read_ms=context.now_ms(),
        took_ms=(time.monotonic() - began) * 1000,
    )


def _keep(context: Context, reading: Reading, home: Path, made: Path) -> None:
    """Of what the sandbox left, the rows alone."""
    made.mkdir()
    (home / ROWS_FOLDER).rename(made / ROWS_FOLDER)
    readings.publish(context, reading, made)
