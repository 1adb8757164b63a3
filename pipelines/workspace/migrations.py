"""Migrations of a restored copy's state for changed code, before its run is written down, so that a failure leaves nothing that is listed.

The steps: (1) Spark plans both codes on nothing: what the new one would keep, and of which aggregates; (2) it is decided which operator
goes on with which state, which source at which offset (these are moved at once), and which aggregations are rewritten, and how; (3) the
sandbox's Spark does it and reads the rewritten ones back;
(4) the changed code runs one batch from a copy of the result, with every sink replaced.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain import dropping, masters, migrations, operator_places, verdicts
from pipelines.domain.errors import Conflict, Corrupt, Incompatible, Refusal, Unsupported, refusal
from pipelines.domain.ids import folder_of
from pipelines.domain.job_places import is_remote
from pipelines.domain.migrations import COLUMNS, MigratedOperator, Migration, MigrationPlan
from pipelines.domain.operator_places import name_of
from pipelines.domain.plannings import NEW, Planning
from pipelines.domain.runtimes import Runtime
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.migrations import MigratedStore, MigrationTask
from pipelines.savepoint import migration, rescaling
from pipelines.savepoint.rescaling import Held
from pipelines.savepoint.restore import Target
from pipelines.verbs.migrating import Migrating
from pipelines.workspace import (
    aggregations,
    checks,
    copied_checkpoints,
    environments,
    placements,
    rehearsals,
    rehearsed_reads,
    rewrites,
    source_offsets,
    states,
    verifications,
)
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.placements import Placed
from pipelines.workspace.rehearsals import Rehearsed
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.state_changes import Change
from pipelines.workspace.tickets import Ticket

REHEARSED = "rehearsal"
"""The folder of a migration's rehearsal."""
Judged = Callable[[Rehearsed, Path], str]
"""Says in words what came of a rehearsal, whose files are in a folder that goes afterwards."""
REMOVED = "Nothing of the copy is left; the savepoint is as it was."


def asked(change: Migrating, new_queries: tuple[str, ...], *, is_last: bool = True) -> Asked | None:
    """What is asked for, None for nothing; raises Invalid (`migrate.function`, `migrate.syntax`, `map.operator`). What is dropped or told
    needs no more: the rest is by columns."""
    if not change.is_migrated:
        return None
    told = dict(change.map or {})
    operator_places.mapped("", told)
    by, code = migrations.asked(change.migrate) or (COLUMNS, "")
    migrations.check_code(by, code)
    return Asked(by, code, new_queries, tuple(dict.fromkeys(change.drop)), told, is_last)


def plan(held: Held, asked: Asked, spark_version: str = "") -> MigrationPlan:
    """The plan of what is asked for; `spark_version` is that of the Spark that will do it, where it is known."""
    return migration.plan(held, asked.by, spark_version, asked.drop, asked.told)


def unfinished(take: PlannedTake) -> Refusal | None:
    """Why the state of a job that does not run cannot be migrated: a batch was planned and not committed, and its sink may have it."""
    error = rescaling.unfinished(take.source, take.look)
    hint = "Resume the job as it was, and stop it: it is stopped when a batch is whole."
    return refusal(Conflict("migrate.batch_planned", error.message, hint)) if error else None


@dataclass(frozen=True)
class _Work:
    """A migration under way."""

    context: Context
    savepoint: Manifest
    manifest: Manifest
    """Of the queries that the code still starts."""
    version: Version
    asked: Asked
    runtime: Runtime
    restored: Target
    """Has the copy that is rewritten."""
    folder: Path
    """Its own, gone when it is over."""
    ticket: Ticket


def migrate(
    context: Context,
    manifest: Manifest,
    version: Version,
    asked: Asked,
    plan: MigrationPlan,
    restored: Target,
    ticket: Ticket,
    judged: Judged | None = None,
) -> Migration:
    """Carries `plan` out on the copy of the savepoint that `restored` has, with the Spark and the confs of `version`. Without
    `judged` a rehearsal that fails raises.

    Raises Unsupported (`migrate.columns`, `migrate.operators`, `migrate.ambiguous`, `migrate.steps`, `migrate.refused`), Conflict
    (`migrate.fits`), Incompatible (`code.drops`, `migrate.rows`, `migrate.rehearsal`), Invalid (`map.operator`, `drop.kept`), Corrupt
    (`migrate.written`), Unavailable, what the plan refuses, and what `ticket` raises."""
    migrations.check_plan(plan)
    folder = context.layout.sandbox_folder(ticket.operation)
    with verifications.turn(context, ticket):
        folder.mkdir(parents=True)
        try:
            planning = checks.planned(context, manifest, version, asked.new_queries, folder, ticket, takes_apart=True)  # 1
            placed, left = _placed(manifest, version, asked, planning, restored.checkpoints, folder)  # 2
            changes = tuple(aggregations.decided(asked, planning, placed, folder))
            if not changes and not any(query.is_placed for query in placed) and not asked.drop:
                raise migrations.fits()
            for query in placed:
                source_offsets.move(query.sources, query.checkpoint)
            runtime = environments.entered(context, environments.make(context, version, ticket)).runtime
            kept = replace(manifest, queries=tuple(image for image in manifest.queries if image.query not in left))
            work = _Work(context, manifest, kept, version, asked, runtime, restored, folder, ticket)
            done = _in_sandbox(work, changes, placed)  # 3
            ran = _rehearsed(work)  # 4
            rehearsal = (judged or _judged)(ran, folder / REHEARSED)
        finally:
            shutil.rmtree(folder)
    digest = hashlib.sha256(asked.code.encode()).hexdigest() if asked.code else ""
    moves = tuple(move for query in placed for move in query.placements)
    told = tuple(_told(change, store) for change, store in zip(changes, done, strict=False) if change.is_told)
    sources = tuple(move for query in placed for move in query.sources.placements)
    return Migration(asked.by, digest, told, rehearsal, moves, asked.drop, sources)


def _placed(
    manifest: Manifest, version: Version, asked: Asked, planning: Planning, checkpoints: str, folder: Path
) -> tuple[tuple[Placed, ...], frozenset[str]]:
    """Where the operators and sources of each query go, and the queries that the code does not start any more. What is dropped must be
    accepted."""
    if planning.unsupported:
        raise Unsupported("migrate.refused", f"{planning.unsupported}: nothing is guessed", "Its state stays as it is.")
    new = planning.side(NEW)
    if new.failure is not None:
        raise Incompatible("migrate.code", f"The script failed before it started: {new.failure.message}", "Correct the code.")
    started = {planned.query for planned in new.queries}
    left = frozenset(str(image.query) for image in manifest.begun if image.query not in started)
    placed = tuple(
        placements.decide(
            checks.known(manifest, version, image, folder),
            planning,
            asked.drop,
            asked.told,
            f"{checkpoints}/{folder_of(image.query)}",
            folder,
        )
        for image in manifest.begun
        if image.query in started
    )
    lost = {*left, *(name for query in placed for name in query.lost)}
    _accepted(lost, asked, {*lost, *(name_of(query.known.image.query, old) for query in placed for old in query.known.kept)})
    if not asked.is_last and any(query.is_placed for query in placed):
        message = "Operators or sources come, go or move, and state cannot be rescaled or moved to another store in the same step"
        raise Unsupported("migrate.steps", message, "Begin it first; then take a savepoint of it, and fork that.")
    return placed, left


def _accepted(lost: Collection[str], asked: Asked, droppable: Collection[str]) -> None:
    missing, idle = {*lost} - {*asked.drop}, sorted({*asked.drop} - {*lost})
    if missing:
        raise verdicts.drops(missing)
    if idle:
        raise dropping.kept(idle, droppable)


def _in_sandbox(work: _Work, changes: tuple[Change, ...], placed: tuple[Placed, ...]) -> tuple[MigratedStore, ...]:
    function = "" if work.asked.by == COLUMNS else work.asked.by
    checkpoints = work.restored.checkpoints
    stores, targets = tuple(change.store for change in changes), tuple(change.target for change in changes)
    conf, title = rewrites.confs(work.context, work.version, checkpoints), f"{work.manifest.job} (migration)"
    places = tuple(query.placing for query in placed if query.placing)
    copies = copied_checkpoints.of_spark(work.manifest, checkpoints)
    if not places and not changes and not copies:
        return ()
    master = masters.beside(work.version.master) if is_remote(checkpoints) else work.version.master
    task = MigrationTask(TASK_FORMAT, title, master, conf, stores, targets, function, work.asked.code, places, copies)
    home = work.folder / "migration"
    home.mkdir()
    done = sandbox.migrate(work.context.sparks, home, task, work.runtime, states.follow(work.ticket))
    check(done.stores)
    return done.stores


def check(stores: tuple[MigratedStore, ...]) -> None:
    """Raises Corrupt (`migrate.written`) where Spark does not read what was to be written."""
    for migrated in stores:
        if migrated.given != migrated.after:
            message = f"Operator {migrated.store.operator} of query {migrated.store.query} does not hold the rows that it was given"
            raise Corrupt("migrate.written", f"{message}: {migrated.after.rows:,} rows, and not {migrated.given.rows:,}", REMOVED)


def _rehearsed(work: _Work) -> Rehearsed:
    """What came of a batch of the changed code on a copy of the migrated state."""
    home = work.folder / REHEARSED
    home.mkdir()
    changed = replace(work.manifest, version=work.version)
    with copied_checkpoints.copied(work.manifest, work.restored.checkpoints, work.folder, work.ticket) as copy:
        scratch = rehearsals.target(work.context, work.savepoint, home, copy, work.version)
        rehearsed_reads.rename(work.context, work.savepoint, work.restored, scratch)
        return rehearsals.rehearse(work.context, changed, work.runtime, home, copy, work.ticket, work.asked.new_queries)


def _judged(ran: Rehearsed, home: Path) -> str:
    """A rehearsal in words; raises Incompatible (`migrate.rehearsal`) where it failed."""
    if ran.problem:
        raise Incompatible("migrate.rehearsal", f"The changed code does not run on the migrated state. {ran.problem}", REMOVED)
    batches = ", ".join(f"batch {batch.batch} of {batch.query} put out {batch.output_rows:,} rows" for batch in ran.batches)
    return f"Rehearsed: {batches}." if batches else "No batch was rehearsed: its sources had nothing new."


def _told(change: Change, done: MigratedStore) -> MigratedOperator:
    made = change.by_columns
    remarks = tuple(f"Not proved to be computed as before: {gap}" for gap in made.gaps) if made else ()
    return MigratedOperator(
        change.image.query,
        change.operator.id,
        done.rows,
        done.given.rows,
        change.before,
        change.after,
        made.aggregates if made else (),
        remarks,
    )
