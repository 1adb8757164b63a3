"""A migration of a bench's fork in this process: both codes planned, the state rewritten, as the workspace and its sandbox do it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.domain import migrations
from pipelines.domain.migrations import ByColumns
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.savepoints import Savepoint
from pipelines.driver.planning import aggregates, facts, sources
from pipelines.driver.planning.doors import Doors
from pipelines.sandbox import aliases
from pipelines.sandbox import migration as sandbox
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Migrated, MigrationTask, Target
from pipelines.savepoint import library, migration
from pipelines.workspace.migrations import check
from tests.savepoint.matrix import QUERY, Bench, Query


def planned(session: Any, frame: Any, mode: str, checkpoint: Path, batch: int, folder: Path) -> PlannedOperator:
    """The one aggregation of `frame` with its aggregates; what it would keep is written to `folder`."""
    opened = Doors(session)
    plan = opened.beginning(frame, mode.capitalize(), folder, checkpoint, batch, 0)
    (logical,), (save,) = facts.stateful(frame._jdf.queryExecution().analyzed()), opened.stateful(plan)
    known = {source.columns: source.form for source in sources.read(frame)}
    return PlannedOperator(0, "stateStoreSave", "", aggregates=aggregates.of(opened, session, logical, save, known, ""))


def migrate(
    bench: Bench, savepoint: Savepoint, fork: str, new: Query, function: str = "", code: str = ""
) -> tuple[Migrated, ByColumns | None]:
    """Migrates the state of `fork` from the bench's query to `new`; answers with what was done and, without a function, how."""
    (image,) = library.manifest(bench.library, savepoint.id).queries
    (operator,) = image.operators
    checkpoint, home = bench.checkpoint(fork), bench.folder / f"migration-{uuid.uuid4()}"
    session, mode = bench.session, bench.line.mode
    then, now = (
        planned(session, query(session, bench.folder), mode, checkpoint, image.batch, home / name)
        for name, query in (("old", bench.line.query), ("new", new))
    )
    was, is_now = migration.shape(str(checkpoint), image, operator), migration.shape(str(home / "new"), image, operator)
    made = None if function else migrations.by_columns(QUERY, then, now, migrations.once(_names(was.value)))
    store = Store(QUERY, str(checkpoint), image.batch, image.provider, image.state_format, 0, operator.name, "default")
    target = Target(is_now, str(home / "new" / "state" / "0"), made.expressions if made else (), migrations.never_null(now.aggregates))
    with aliases.plain([store]) as stores:
        done = sandbox.migrate(session, MigrationTask(1, "", "", {}, stores, (target,), function, code), home)
    check(done.stores)
    return done, made


def _names(struct: str) -> Sequence[str]:
    return [field["name"] for field in json.loads(struct)["fields"]]
