"""A migration of a bench's fork in this process: both codes planned, the state rewritten, as the workspace and its sandbox do it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.checkpoint import contracts
from pipelines.domain.contracts import Contract
from pipelines.domain.judging import Known
from pipelines.domain.migrations import COLUMNS, ByColumns
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planned, Planning, QueryCheckpoint
from pipelines.domain.savepoints import Savepoint
from pipelines.driver.planning.planner import Planner
from pipelines.sandbox import aliases
from pipelines.sandbox import migration as sandbox
from pipelines.sandbox.migrations import Migrated, MigrationTask
from pipelines.savepoint import library
from pipelines.storage.addresses import open_storage
from pipelines.workspace import aggregations, placements
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.migrations import check
from tests.driver.planning.codes import spec
from tests.savepoint import at_home
from tests.savepoint.matrix import QUERY, Bench, Query


@dataclass(frozen=True)
class Plans:
    """Both codes of a fork planned on its checkpoint; `home` holds their contracts."""

    home: Path
    planning: Planning
    known: Known


def planned(bench: Bench, savepoint: Savepoint, fork: str, new: Query) -> Plans:
    """The bench's query and `new` on the fork of `savepoint`."""
    (image,) = library.manifest(bench.library, savepoint.id).queries
    checkpoint, home = bench.checkpoint(fork), bench.folder / f"migration-{uuid.uuid4()}"
    point, sides = QueryCheckpoint(QUERY, str(checkpoint), image.batch), {}
    for side, query in ((OLD, bench.line.query), (NEW, new)):
        planner = Planner(spec(), home / side, {QUERY: point}, False, 0, takes_apart=True)
        plan = planner.plan(bench.session, query(bench.session, bench.folder), QUERY, bench.line.mode.capitalize())
        assert plan.failure is None, plan.failure
        sides[side] = Planned((plan,))
    then, now = (_contract(home / side / CONTRACT / QUERY) for side in (OLD, NEW))
    return Plans(home, Planning(sides=sides), Known(image, _contract(checkpoint, image.batch), then, now))


def migrate(
    bench: Bench,
    savepoint: Savepoint,
    fork: str,
    new: Query,
    function: str = "",
    code: str = "",
    drop: tuple[str, ...] = (),
    told: Mapping[str, str] | None = None,
    plans: Plans | None = None,
) -> tuple[Migrated, ByColumns | None]:
    """Migrates the state of `fork` from the bench's query to `new`, which are planned unless `plans` are there already; answers with what
    was done and, without a function, how the columns of the first operator that changed became the new ones."""
    plans = plans or planned(bench, savepoint, fork, new)
    asked, home = Asked(function or COLUMNS, code, drop=drop, told=told or {}), bench.folder / f"migrated-{uuid.uuid4()}"
    home.mkdir()
    with at_home.carried(bench.checkpoint(fork).parent, bench.home) as place:
        placed = placements.decide(plans.known, plans.planning, drop, asked.told, f"{place}/{QUERY}", plans.home)
        assert sorted(placed.lost) == sorted(drop)
        changes = list(aggregations.decided(asked, plans.planning, (placed,), plans.home))
        places = (placed.placing,) if placed.placing else ()
        with aliases.plain([change.store for change in changes]) as stores:
            task = MigrationTask(1, "", "", {}, stores, tuple(change.target for change in changes), function, code, places)
            done = sandbox.migrate(bench.session, task, home)
    check(done.stores)
    return done, next((change.by_columns for change in changes if change.is_told), None)


def _contract(folder: Path, batch: int = 0) -> Contract:
    return contracts.read(open_storage(str(folder)), batch)
