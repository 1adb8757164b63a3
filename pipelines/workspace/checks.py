"""Checks: Spark plans the savepoint's code and the changed code in the sandbox, and the judge says what becomes of the state."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pipelines.domain import doubts, installed, judging, operator_places, verdicts
from pipelines.domain.ids import folder_of
from pipelines.domain.judged_queries import unannounced
from pipelines.domain.judging import Known
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Failure, Planned, Planning, PlanTask, QueryCheckpoint
from pipelines.domain.runtimes import Runtime
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.verdicts import Verdict
from pipelines.domain.versions import Version
from pipelines.savepoint import leases, restore
from pipelines.storage import folders
from pipelines.verbs.check import Check, CheckPlan
from pipelines.workspace import environments, plannings, rehearsals, savepoints, verifications, versions
from pipelines.workspace import verdicts as known_verdicts
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned as PlannedChange
from pipelines.workspace.doers import plans
from pipelines.workspace.tickets import Ticket

CHECKPOINTS = "checkpoints"


@plans(Check)
def plan(context: Context, change: Check) -> PlannedChange[Verdict, CheckPlan]:
    """Raises Invalid for code with a syntax error, and (`map.operator`) for what names no operator; Unavailable (`secret.missing`) for a
    secret that is not there."""
    told = change.map or {}
    operator_places.mapped("", told)
    manifest = savepoints.manifest(context, change.savepoint)
    operator_places.check_told(manifest.queries, told)
    version = versions.of_fork(manifest, change, context.now_ms())
    versions.check_to_try(version)
    verdict = known_verdicts.known(context, manifest, version, change.new_queries, told)
    plan = CheckPlan(manifest.id, manifest.job, version.id, verdict is None)
    return PlannedChange(plan, lambda ticket: verdict or check(context, manifest, version, change.new_queries, told, ticket))


def check(
    context: Context, manifest: Manifest, version: Version, new_queries: tuple[str, ...], told: Mapping[str, str], ticket: Ticket
) -> Verdict:
    """The verdict, found in a scratch folder of which nothing is left."""
    folder = context.layout.sandbox_folder(ticket.operation)
    with verifications.turn(context, ticket), leases.lease(context.shelf(manifest.id), manifest.id, str(folder), context.now_ms()):
        folder.mkdir(parents=True)
        try:
            return judged(context, manifest, version, new_queries, told, folder, ticket)
        finally:
            shutil.rmtree(folder)


def judged(
    context: Context,
    manifest: Manifest,
    version: Version,
    new_queries: tuple[str, ...],
    told: Mapping[str, str],
    folder: Path,
    ticket: Ticket,
) -> Verdict:
    """1. The checkpoints are linked into the empty `folder`; 2. Spark plans there; 3. the judge decides; 4. the verdict is kept, unless
    files beside the streams are read, or somebody is asked, which may change at any time.

    For who has the turn, and a lease of the savepoint; the folder is the caller's to remove."""
    began = time.monotonic()
    planning = planned(context, manifest, version, new_queries, folder, ticket)  # 1, 2
    every = [replace(known(manifest, version, image, folder), told=told, announced=new_queries) for image in manifest.begun]
    held = [image.query for image in manifest.queries]
    parts = (*(part for query in every for part in judging.judge(query, planning)), *unannounced(planning, held, new_queries))  # 3
    pairs = tuple(pair for query in every for pair in judging.pairs(query, planning)) if not planning.unsupported else ()
    varies = [word for planned in planning.side(NEW).queries for word in planned.varies]
    verdict = verdicts.of(manifest.id, version.id, parts, tuple(dict.fromkeys(varies)))
    verdict = replace(verdict, spark_version=planning.spark_version, took_ms=(time.monotonic() - began) * 1000, operators=pairs, told=told)
    files = installed.merged(planning.files, known_verdicts.files_now(manifest))
    variables = {**planning.variables, **known_verdicts.variables_now(manifest)}
    if planning.is_lasting:
        known_verdicts.keep(context, manifest, version, new_queries, verdict, files, variables)  # 4
    return verdict


def planned(
    context: Context,
    manifest: Manifest,
    version: Version,
    new_queries: tuple[str, ...],
    folder: Path,
    ticket: Ticket,
    takes_apart: bool = False,
) -> Planning:
    """What Spark plans in the empty `folder`, where the checkpoints are linked first (from a home it gets them without the state, which no
    plan needs), and what both codes would keep is left.

    Raises Unavailable, and what `ticket` raises."""
    ticket.step("linking")
    library = context.shelf(manifest.id)
    target = restore.Scratch(manifest.job, str(folder / CHECKPOINTS), context.new_query_id, with_state=folders.local(library))
    restore.restore(library, manifest.id, target, context.now_ms(), watch=ticket)
    ticket.step("planning")
    runtime = environments.entered(context, environments.make(context, version, ticket)).runtime
    return _planned(context, manifest, version, runtime, new_queries, folder, ticket, takes_apart)


def _planned(
    context: Context,
    manifest: Manifest,
    version: Version,
    runtime: Runtime,
    new_queries: tuple[str, ...],
    folder: Path,
    ticket: Ticket,
    takes_apart: bool,
) -> Planning:
    """What Spark plans, on the runtime of the changed code; the code of before only where it can run there."""
    unplannable = doubts.unplannable(manifest.version, version, is_noted=manifest.installed is not None)
    sides = {NEW: version} if unplannable else {NEW: version, OLD: manifest.version}
    specs = {}
    for side, of_side in sides.items():
        (folder / side).mkdir()
        new = new_queries if side == NEW else ()
        specs[side] = rehearsals.scratch_spec(context, manifest, of_side, folder / side, str(folder / CHECKPOINTS), new)
    points = tuple(
        QueryCheckpoint(image.query, str(folder / CHECKPOINTS / folder_of(image.query)), image.batch) for image in manifest.begun
    )
    planning = plannings.asked(context, folder, PlanTask(tuple(sides), points, takes_apart), specs, runtime, ticket)
    if not unplannable:
        return planning
    return replace(planning, sides={**planning.sides, OLD: Planned(failure=Failure("", unplannable))})


def known(manifest: Manifest, version: Version, image: QueryImage, folder: Path) -> Known:
    """What the savepoint keeps of a query, and what both codes would keep, after they were planned in `folder`."""
    name = folder_of(image.query)
    return Known(
        image=image,
        kept=plannings.contract(folder / CHECKPOINTS / name, image.batch),
        old=plannings.contract(folder / OLD / CONTRACT / name, 0),
        new=plannings.contract(folder / NEW / CONTRACT / name, 0),
        installed=manifest.installed,
        spark_version=manifest.spark_version,
        doubts=known_verdicts.doubted(manifest, version),
    )
