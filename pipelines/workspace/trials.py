"""Trials: changed code rehearsed on a savepoint's state, and the rows of its batch."""

from __future__ import annotations

import time
from pathlib import Path

from pipelines.catalog import state_worker
from pipelines.catalog.states import STATE
from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import StateRows
from pipelines.domain.trials import MOST_ROWS, Trial, TriedQuery
from pipelines.domain.trust import ScratchBatch
from pipelines.domain.versions import Version
from pipelines.verbs.state import QueryState
from pipelines.verbs.try_code import TrialPlan, TryCode
from pipelines.workspace import savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.rehearsals import REHEARSAL
from pipelines.workspace.rehearsed_copies import rehearsed
from pipelines.workspace.tickets import Ticket


@plans(TryCode)
def plan(context: Context, change: TryCode) -> Planned[Trial, TrialPlan]:
    """Raises Invalid for code with a syntax error."""
    manifest = savepoints.manifest(context, change.savepoint)
    version = versions.of_fork(manifest, change, context.now_ms())
    versions.check(version)
    plan = TrialPlan(manifest.id, manifest.job, version.id)
    return Planned(plan, lambda ticket: _try(context, manifest, version, change.new_queries, ticket))


def _try(context: Context, manifest: Manifest, version: Version, new_queries: tuple[str, ...], ticket: Ticket) -> Trial:
    began = time.monotonic()
    with rehearsed(context, manifest, version, new_queries, ticket) as (ran, folder):
        queries = tuple(TriedQuery(batch.query, batch, _rows(context, manifest, folder, batch)) for batch in ran.batches)
    note = " ".join([*(damage.message for damage in ran.damages), ran.note]).strip()
    return Trial(manifest.id, version.id, queries, note, bool(ran.problem), (time.monotonic() - began) * 1000)


def _rows(context: Context, manifest: Manifest, folder: Path, batch: ScratchBatch) -> StateRows:
    """The first rows of a batch; none, without columns, where Spark wrote no file."""
    files = sorted((folder / REHEARSAL / folder_of(batch.query) / str(batch.batch)).rglob("*.parquet"))
    if not files:
        return StateRows((), (), 0, False, 0.0)
    return state_worker.query(context.state_workers, {STATE: [str(file) for file in files]}, QueryState(manifest.id, limit=MOST_ROWS))
