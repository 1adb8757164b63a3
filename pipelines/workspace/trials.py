"""Trials: changed code rehearsed on a savepoint's state, migrated first where that is asked for, and the rows of its batch."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from pipelines.catalog import state_worker
from pipelines.catalog.states import STATE
from pipelines.domain.ids import folder_of
from pipelines.domain.migrations import check_plan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import StateRows
from pipelines.domain.trials import MOST_ROWS, Trial, TriedQuery
from pipelines.domain.trust import ScratchBatch
from pipelines.domain.versions import Version
from pipelines.savepoint import leases
from pipelines.savepoint.targets import Scratch
from pipelines.verbs.state import QueryState
from pipelines.verbs.try_code import TrialPlan, TryCode
from pipelines.workspace import changed_meanings, migrations, savepoints, verdicts, versions
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.changed_meanings import Tried
from pipelines.workspace.context import Context
from pipelines.workspace.copied_checkpoints import COPY
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.migrations import Judged
from pipelines.workspace.rehearsals import REHEARSAL, Rehearsed
from pipelines.workspace.rehearsed_copies import rehearsed
from pipelines.workspace.restores import Restoring
from pipelines.workspace.tickets import Ticket


@plans(TryCode)
def plan(context: Context, change: TryCode) -> Planned[Trial, TrialPlan]:
    """Raises Invalid for code with a syntax error, or (`drop.kept`) that is known not to drop that, and what a migration's plan refuses."""
    manifest = savepoints.manifest(context, change.savepoint)
    version = versions.of_fork(manifest, change, context.now_ms())
    versions.check_to_try(version)
    asked = migrations.asked(change, change.new_queries)
    migrated = _restoring(context, manifest, version, asked, "").plan().migration if asked else None
    if migrated is not None:
        check_plan(migrated)
        refused = verdicts.not_dropped(verdicts.nearest(context, manifest, version, change.new_queries, change.map), change)
        if refused is not None:
            raise refused.error
    plan = TrialPlan(manifest.id, manifest.job, version.id, migrated)
    return Planned(plan, lambda ticket: _try(context, manifest, version, change.new_queries, asked, ticket))


def _restoring(context: Context, manifest: Manifest, version: Version, asked: Asked | None, checkpoints: str) -> Restoring:
    return Restoring(context, manifest, Scratch(manifest.job, checkpoints, context.new_query_id), version, migrate=asked)


def _try(
    context: Context, manifest: Manifest, version: Version, new_queries: tuple[str, ...], asked: Asked | None, ticket: Ticket
) -> Trial:
    began, made = time.monotonic(), list[Trial]()

    def judged(ran: Rehearsed, folder: Path) -> str:
        checkpoints = folder.parent / COPY if asked else folder / changed_meanings.CHECKPOINTS
        trial = _trial(context, manifest, version, ran, folder, began)
        meanings = changed_meanings.shown(context, Tried(manifest, version, new_queries, ran, folder, checkpoints, asked), ticket)
        made.append(replace(trial, meanings=meanings, took_ms=(time.monotonic() - began) * 1000))
        return ""

    if asked is None:
        with rehearsed(context, manifest, version, new_queries, ticket) as (ran, folder):
            judged(ran, folder)
        return made[0]
    copy = context.layout.sandbox / f"{ticket.operation}-copy"
    with leases.lease(context.shelf(manifest.id), manifest.id, str(copy), context.now_ms()):
        _on_migrated(_restoring(context, manifest, version, asked, str(copy / "checkpoints")), copy, ticket, judged)
    return made[0]


def _on_migrated(restoring: Restoring, folder: Path, ticket: Ticket, judged: Judged) -> None:
    """A rehearsal on a copy whose state was migrated first, as a fork's is; nothing of it is left."""
    folder.mkdir(parents=True)
    try:
        restoring.apply(ticket, judged=judged)
    finally:
        shutil.rmtree(folder)


def _trial(context: Context, manifest: Manifest, version: Version, ran: Rehearsed, folder: Path, began: float) -> Trial:
    queries = tuple(TriedQuery(batch.query, batch, _rows(context, manifest, folder, batch)) for batch in ran.batches)
    note = " ".join([*(damage.message for damage in ran.damages), ran.note]).strip()
    return Trial(manifest.id, version.id, queries, note, bool(ran.problem), (time.monotonic() - began) * 1000)


def _rows(context: Context, manifest: Manifest, folder: Path, batch: ScratchBatch) -> StateRows:
    """The first rows of a batch; none, without columns, where Spark wrote no file."""
    files = sorted((folder / REHEARSAL / folder_of(batch.query) / str(batch.batch)).rglob("*.parquet"))
    if not files:
        return StateRows((), (), 0, False, 0.0)
    return state_worker.query(context.state_workers, {STATE: [str(file) for file in files]}, QueryState(manifest.id, limit=MOST_ROWS))
