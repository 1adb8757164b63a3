"""Proofs: Spark restores a savepoint in a scratch folder, reads all of its state, and runs a batch from it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.domain import masters, proofs, spark_metrics
from pipelines.domain.ids import OperationId, QueryName, SavepointId, folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trust import Damage, Proof, StateCount, Trust, Verification
from pipelines.sandbox import processes, states
from pipelines.sandbox.counts import TASK_FORMAT, CountTask, Store, StoreRows
from pipelines.sandbox.states import Counted
from pipelines.savepoint import layout, leases, library, progress_file, restore, worker
from pipelines.workspace import environments, progress, rehearsals, run_confs, runtimes
from pipelines.workspace.context import Context
from pipelines.workspace.rehearsals import Rehearsed
from pipelines.workspace.tickets import Ticket


def prove(context: Context, savepoint: SavepointId, operation: OperationId, ticket: Ticket) -> Verification:
    """The outcome, not recorded yet; the savepoint cannot be disposed of meanwhile, and no file or process is left of it.

    1. files and checksums; 2. the scratch restore; 3. its state, store by store; 4. a batch. What damage a step finds ends it there.
    """
    manifest = library.manifest(context.shelf(savepoint), savepoint)
    folder = context.layout.sandbox_folder(operation)
    conf = spark_metrics.without_sinks(manifest.version.conf)
    context.sparks.expect(manifest.version.runtime, masters.beside(manifest.version.master), conf)
    with leases.lease(context.shelf(savepoint), savepoint, str(folder), context.now_ms()):
        ticket.step("checking", sum(file.bytes for file in manifest.files))
        shelf, cpus = context.shelf(savepoint), context.sparks.share.cpus
        intact = worker.check(context.savepoint_workers, shelf, savepoint, Trust.PROVED, context.now_ms(), ticket, cpus)  # 1
        if intact.reached is None:
            return intact
        folder.mkdir(parents=True)
        try:
            return _in_sandbox(context, manifest, folder, ticket, intact)
        finally:
            shutil.rmtree(folder)


def clean(context: Context) -> None:
    """Cleans up proofs that died with the server: ends their processes, removes their folders."""
    if context.layout.sandbox.is_dir():
        processes.end(context.layout.sandbox)
        shutil.rmtree(context.layout.sandbox)


def _in_sandbox(context: Context, manifest: Manifest, folder: Path, ticket: Ticket, intact: Verification) -> Verification:
    began = time.monotonic()
    checkpoints = folder / "checkpoints"
    ticket.step("restoring")
    target = rehearsals.target(context, manifest, folder, str(checkpoints), manifest.version)
    restore.restore(context.shelf(manifest.id), manifest.id, target, context.now_ms(), watch=ticket)  # 2
    counted = _count(context, manifest, folder, checkpoints, ticket)  # 3
    counts, unread = _counts(context, manifest, counted)
    damages = (*(_damage(store_rows) for store_rows in unread if store_rows.damaged), *proofs.damages(counts))
    ran = Rehearsed(()) if damages else _rehearse(context, manifest, folder, checkpoints, ticket)  # 4
    remarks = proofs.remarks(counts)
    note = " ".join(filter(None, (*map(_unreadable, unread), *remarks, ran.note)))
    took_ms = (time.monotonic() - began) * 1000
    proof = Proof(counted.spark_version, counts, ran.batches, took_ms, note, ran.failed)
    return _concluded(intact, proof, (*damages, *ran.damages), len(manifest.begun), bool(unread or remarks))


def _rehearse(context: Context, manifest: Manifest, folder: Path, checkpoints: Path, ticket: Ticket) -> Rehearsed:
    entered = environments.entered(context, environments.make(context, manifest.version, ticket))
    return rehearsals.rehearse(context, manifest, entered.runtime, folder, str(checkpoints), ticket)


def _concluded(intact: Verification, proof: Proof, damages: tuple[Damage, ...], queries: int, open_questions: bool) -> Verification:
    proved = len(proof.batches) == queries and not open_questions
    reached = None if damages else Trust.PROVED if proved else Trust.INTACT
    return replace(intact, reached=reached, damages=damages, proof=proof)


def _count(context: Context, manifest: Manifest, folder: Path, checkpoints: Path, ticket: Ticket) -> Counted:
    """Counts the rows of every store. A savepoint of stateless queries has no store, and needs no Spark."""
    stores = tuple(_stores(manifest, checkpoints))
    ticket.step("reading state", len(stores), "stores")
    if not stores:
        return Counted(manifest.spark_version, ())
    reported = 0

    def watch(done: int) -> None:
        nonlocal reported
        ticket.advance(done - reported)
        reported = done

    home = folder / "count"
    home.mkdir()
    version = manifest.version
    task = CountTask(TASK_FORMAT, f"{manifest.job} (proof)", masters.beside(version.master), run_confs.confs(context, version), stores)
    return states.count(context.sparks, home, task, runtimes.reader(version), watch)


def _stores(manifest: Manifest, checkpoints: Path) -> Iterator[Store]:
    for image in manifest.queries:
        for operator in image.operators:
            for store in operator.stores:
                at = str(checkpoints / folder_of(image.query))
                yield Store.of(image, at, operator.id, operator.name, store)


def _counts(context: Context, manifest: Manifest, counted: Counted) -> tuple[tuple[StateCount, ...], list[StoreRows]]:
    """One count an operator that was read whole, and the stores that were not read."""
    unread = [store_rows for store_rows in counted.rows if store_rows.error_class]
    partly = {(store_rows.store.query, store_rows.store.operator) for store_rows in unread}
    events = _progress_events(context, manifest)
    state_counts: list[StateCount] = []
    for image in manifest.queries:
        rows = dict.fromkeys((operator.id for operator in image.operators), 0)
        for store_rows in counted.rows:
            if store_rows.store.query == image.query and not store_rows.store.is_index:
                rows[store_rows.store.operator] += store_rows.rows
        counts = proofs.state_counts(image, rows, events.get(image.query), {**image.conf, **manifest.version.conf})
        state_counts += [count for count in counts if (count.query, count.operator) not in partly]
    return tuple(state_counts), unread


def _progress_events(context: Context, manifest: Manifest) -> Mapping[QueryName, dict[str, Any]]:
    """Progress events of the batches: from the job's runs, else from the savepoint."""
    return {**progress_file.read(context.shelf(manifest.id), manifest.id), **progress.find(context, manifest)}


def _damage(rows: StoreRows) -> Damage:
    store = rows.store
    path = f"{layout.checkpoint(store.query)}/state/{store.operator}"
    return Damage(path, "state", f"store {store.store} cannot be read: {rows.error_class}: {rows.message}")


def _unreadable(rows: StoreRows) -> str:
    if rows.damaged:
        return ""
    return f"This Spark cannot read store {rows.store.store} of operator {rows.store.operator}: {rows.error_class}: {rows.message}."
