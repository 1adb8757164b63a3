"""Migrations of a restored copy's state for changed code, before its run is written down, so that a failure leaves nothing that is listed.

The steps: (1) Spark plans both codes on nothing: what the new one would keep, and of which aggregates; (2) it is decided which aggregations
are rewritten, and how; (3) the sandbox's Spark rewrites them and reads them back; (4) the changed code runs one batch from a copy of the
result, with every sink replaced.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.checkpoint import state_schema
from pipelines.domain import contracts, migrations, syntax
from pipelines.domain.errors import Corrupt, Incompatible, Invalid, Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.json_text import read_json
from pipelines.domain.judging import Known
from pipelines.domain.migrations import AGGREGATION, COLUMNS, ByColumns, MigratedOperator, Migration, MigrationPlan
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planned, PlannedOperator, Planning
from pipelines.domain.savepoints import Manifest, Operator, QueryImage
from pipelines.domain.versions import Version
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.migrations import MigratedStore, MigrationTask, Target
from pipelines.savepoint import migration
from pipelines.workspace import checks, environments, rehearsals, runs, states, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

REMOVED = "Nothing of the fork is left; the savepoint is as it was."


@dataclass(frozen=True)
class Asked:
    """The migration that is asked for: `columns` and nothing, or a function's name and the text of its file."""

    by: str
    code: str
    new_queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One aggregation to rewrite."""

    image: QueryImage
    operator: Operator
    store: Store
    target: Target
    before: str
    after: str
    by_columns: ByColumns | None


def check_code(asked: Asked) -> None:
    """Raises Invalid (`migrate.syntax`, `migrate.function`) for a file that is no Python, or has no such function."""
    if asked.by == COLUMNS:
        return
    try:
        tree = syntax.tree(asked.code)
    except (SyntaxError, ValueError) as error:
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise Invalid("migrate.syntax", f"The migration's file is not valid Python: {line}", "Correct it.") from error
    names = {name for node in tree.body for name in [getattr(node, "name", None)] if name}
    if asked.by not in names:
        known = ", ".join(sorted(names)) or "none at all"
        raise Invalid("migrate.function", f"The migration's file has no function {asked.by}", f"Name one that it defines: {known}.")


def migrate(
    context: Context, manifest: Manifest, version: Version, asked: Asked, plan: MigrationPlan, checkpoints: str, ticket: Ticket
) -> Migration:
    """Carries `plan` out on the copy of the savepoint in `checkpoints`, with the Spark and the confs of `version`.

    Raises Unsupported (`migrate.columns`, `migrate.operators`, `migrate.refused`), Conflict (`migrate.fits`), Incompatible (`migrate.rows`,
    `migrate.rehearsal`), Corrupt (`migrate.written`), Unavailable, what the plan refuses, and what `ticket` raises."""
    migrations.check_plan(plan)
    folder = context.layout.sandbox_folder(ticket.operation)
    with verifications.turn(context, ticket):
        folder.mkdir(parents=True)
        try:
            planning = checks.planned(context, manifest, version, asked.new_queries, folder, ticket, takes_apart=True)  # 1
            changes = tuple(_decided(manifest, version, asked, planning, checkpoints, folder))  # 2
            if not changes:
                raise migrations.fits()
            python = environments.entered(context, environments.make(context, version, ticket)).python
            done = _in_sandbox(context, manifest, version, asked, changes, python, folder, ticket)  # 3
            said = _rehearsed(context, manifest, version, asked, python, checkpoints, folder, ticket)  # 4
        finally:
            shutil.rmtree(folder)
    digest = hashlib.sha256(asked.code.encode()).hexdigest() if asked.code else ""
    return Migration(asked.by, digest, tuple(map(_told, changes, done)), said)


def _decided(manifest: Manifest, version: Version, asked: Asked, planning: Planning, checkpoints: str, folder: Path) -> Iterator[Change]:
    if planning.unsupported:
        raise Unsupported("migrate.refused", f"{planning.unsupported}: nothing is guessed", "Its state stays as it is.")
    for image in manifest.begun:
        known = checks.known(manifest, version, image, folder)
        _refuse_others(image, known, planning)
        for operator in image.operators:
            if operator.name == AGGREGATION:
                yield from _change(image, operator, known, asked, planning, checkpoints, folder)


def _refuse_others(image: QueryImage, known: Known, planning: Planning) -> None:
    """Only the columns of aggregations are migrated: the operators have to be those that they were, in their places."""
    failure = planning.sides.get(NEW, Planned()).failure
    if failure is not None:
        raise Incompatible("migrate.code", f"The script failed before it started: {failure.message}", "Correct the code.")
    before, after = ({number: keeps.name for number, keeps in of.items()} for of in (known.kept, known.new))
    if before != after:
        then, now = (", ".join(name for _, name in sorted(names.items())) or "none" for names in (before, after))
        message = f"The operators of query {image.query} are others than before ({then} before, {now} now): only their columns are migrated"
        raise Unsupported("migrate.operators", message, "Keep the operators as they were, or begin the query anew under another name.")


def _change(
    image: QueryImage, operator: Operator, known: Known, asked: Asked, planning: Planning, checkpoints: str, folder: Path
) -> Iterator[Change]:
    checkpoint, contract = f"{checkpoints}/{folder_of(image.query)}", folder / NEW / CONTRACT / folder_of(image.query)
    was, is_now = migration.shape(checkpoint, image, operator), migration.shape(str(contract), image, operator)
    then, now = (_planned(planning, side, image, operator) for side in (OLD, NEW))
    if now is None:
        raise Unsupported("migrate.refused", f"What operator {operator.id} of query {image.query} computes is not known", "Leave it.")
    made = _by_columns(image, operator, known, then, now, was.value) if asked.by == COLUMNS else None
    if made is not None and not made.changes:
        return
    if made is None and contracts.fits({0: known.kept[operator.id]}, {0: known.new[operator.id]}) and then and then.digest == now.digest:
        return
    store = Store(image.query, checkpoint, image.batch, image.provider, image.state_format, operator.id, operator.name, operator.stores[0])
    target = Target(
        is_now, str(contract / "state" / str(operator.id)), made.expressions if made else (), migrations.never_null(now.aggregates)
    )
    before, after = (state_schema.ddl(read_json(shape.value)) for shape in (was, is_now))
    yield Change(image, operator, store, target, before, after, made)


def _by_columns(
    image: QueryImage, operator: Operator, known: Known, then: PlannedOperator | None, now: PlannedOperator, value: str
) -> ByColumns:
    if not contracts.fits(known.kept, known.old):
        message = f"The code that query {image.query} had does not keep what the savepoint holds"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    if not contracts.keys_fit(known.kept[operator.id], known.new[operator.id]):
        message = f"Operator {operator.id} of query {image.query} groups by another key than before"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    names = [field["name"] for field in read_json(value)["fields"]]
    return migrations.by_columns(image.query, then, now, migrations.once(names))


def _planned(planning: Planning, side: str, image: QueryImage, operator: Operator) -> PlannedOperator | None:
    queries = (query for query in planning.sides.get(side, Planned()).queries if query.query == image.query)
    return next((planned for query in queries for planned in query.operators if planned.id == operator.id), None)


def _in_sandbox(
    context: Context,
    manifest: Manifest,
    version: Version,
    asked: Asked,
    changes: tuple[Change, ...],
    python: str,
    folder: Path,
    ticket: Ticket,
) -> tuple[MigratedStore, ...]:
    function = "" if asked.by == COLUMNS else asked.by
    stores, targets = tuple(change.store for change in changes), tuple(change.target for change in changes)
    conf, title = runs.confs(context, version), f"{manifest.job} (migration)"
    task = MigrationTask(TASK_FORMAT, title, version.master, conf, stores, targets, function, asked.code)
    home = folder / "migration"
    home.mkdir()
    done = sandbox.migrate(context.sparks, home, task, python, states.follow(ticket))
    check(done.stores)
    return done.stores


def check(stores: tuple[MigratedStore, ...]) -> None:
    """Raises Corrupt (`migrate.written`) where Spark does not read what was to be written."""
    for one in stores:
        if one.given != one.after:
            message = f"Operator {one.store.operator} of query {one.store.query} does not hold the rows that it was given"
            raise Corrupt("migrate.written", f"{message}: {one.after.rows:,} rows, and not {one.given.rows:,}", REMOVED)


def _rehearsed(
    context: Context, manifest: Manifest, version: Version, asked: Asked, python: str, checkpoints: str, folder: Path, ticket: Ticket
) -> str:
    """What came of a batch of the changed code on a copy of the migrated state; raises Incompatible (`migrate.rehearsal`)."""
    copy, home = folder / "rehearsed", folder / "rehearsal"
    shutil.copytree(checkpoints, copy, copy_function=os.link)
    home.mkdir()
    ran = rehearsals.rehearse(context, replace(manifest, version=version), python, home, copy, ticket, asked.new_queries)
    if ran.failed or ran.damages:
        why = ran.note or "; ".join(damage.message for damage in ran.damages)
        raise Incompatible("migrate.rehearsal", f"The changed code does not run on the migrated state. {why}", REMOVED)
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
