"""Forks: a new job from a savepoint, with its own checkpoint, query ids and output."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.catalog import jobs as job_rows
from pipelines.domain import kafka, masters
from pipelines.domain.errors import Refusal, refusal
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.ids import ExperimentId, JobName, RunId, job_name
from pipelines.domain.jobs import Job, Origin, Run
from pipelines.domain.migrations import Migration, fits
from pipelines.domain.paces import Pace, pace
from pipelines.domain.resources import ALL
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.verdicts import Outcome, Verdict, drops_elsewhere
from pipelines.domain.versions import Version
from pipelines.savepoint import own_tables, targets
from pipelines.verbs.fork import Fork, Variant
from pipelines.words import migrations as migration_words
from pipelines.words import offsets
from pipelines.workspace import (
    checked,
    edges,
    environments,
    events,
    job_resources,
    lockstep,
    new_places,
    query_names,
    restores,
    runs,
    savepoints,
    source_moves,
    spark_changes,
    verdicts,
    versions,
)
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.holdings import gaps
from pipelines.workspace.new_places import HERE, AtHome
from pipelines.workspace.query_names import QueryNames
from pipelines.workspace.restores import Restoring
from pipelines.workspace.runs import Beginning
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class PlannedFork:
    """A fork to begin: its savepoint, its job and version, and the restore of its checkpoint."""

    manifest: Manifest
    job: JobName
    run: RunId
    version: Version
    restoring: Restoring
    names: QueryNames
    plan: RestorePlan
    new_queries: tuple[str, ...] = ()
    is_forced: bool = False
    at_home: AtHome = HERE


@plans(Fork)
def plan(context: Context, change: Fork) -> Planned[Run, RestorePlan]:
    """Raises AlreadyExists for a name in use, Invalid for code with a syntax error, Incompatible where a sink cannot be carried on."""
    fork = plan_fork(context, change)

    def do(ticket: Ticket) -> Run:
        return checked.begun(context, change, fork.plan, fork.version, ticket, lambda ticket: begin(context, fork, ticket))

    return Planned(fork.plan, do, fork.version)


def plan_fork(context: Context, change: Fork) -> PlannedFork:
    return plan_variant(context, savepoints.manifest(context, change.savepoint), change)


def plan_variant(context: Context, manifest: Manifest, variant: Variant) -> PlannedFork:
    """Plans a fork of the savepoint; refuses what beginning it would refuse."""
    name = job_name(variant.name)
    version = versions.of_fork(manifest, variant, context.now_ms())
    versions.check_here(context, version)
    runs.free(context, name)
    run = RunId(context.new_id("r"))
    home = variant.home or (WORKSPACE if lockstep.is_asked(variant) else "")
    at_home = new_places.planned(context, home, name, run, version)
    moves = source_moves.planned(context, manifest, variant)
    replaced = source_moves.replaced(context, manifest, moves)
    restoring = restores.of_fork(context, manifest, name, run, version, variant, at_home.place, replaced)
    names = query_names.restored(manifest, variant.new_queries)
    verdict = verdicts.nearest(context, manifest, version, variant.new_queries, variant.map)
    following = lockstep.plan(context, manifest, variant, at_home.place)
    if following is not None and masters.is_afar(version.master, version.conf):
        raise masters.refuse_afar("it cannot read another job's batches as they come", "Fork it in client mode, or let it run freely.")
    others = source_moves.standing(replace(manifest, queries=own_tables.of_others(manifest.queries)), moves)
    restored = gaps.told_of_savepoint(  # the plan of a lock-step has looked for files
        context, restoring.plan(), others, is_accepted=variant.force, with_files=following is None
    )
    refused = restored.refusal or _unneeded(restored, verdict) or verdicts.refusal(verdict, variant, is_forced=variant.force)
    builds = environments.is_missing(context, version)
    restored = spark_changes.told_of_savepoint(context, replace(restored, refusal=refused), manifest, version)
    shown = replace(restored, run=run, version=version.id, verdict=verdict, judged=manifest.id, builds=builds)
    like = _like(context, manifest.job)
    taken = job_resources.asked(like.resources if like else ALL, variant, version)
    shown = replace(shown, lock_step=following, resources=taken, means=job_resources.means(taken))
    shown = replace(shown, moved=tuple(move.moved for move in moves), pace=_pace(context, manifest.job, at_home.home, shown))
    return PlannedFork(manifest, name, run, version, restoring, names, shown, variant.new_queries, variant.force, at_home)


def _pace(context: Context, parent: JobName, home: str, shown: RestorePlan) -> Pace | None:
    """By what was copied of the parent to where the fork begins."""
    there = str(context.layout.savepoints) if home in ("", WORKSPACE) else home
    before = (saved for saved in savepoints.newest_first(context, parent) if saved.path.rpartition("/")[0] == there)
    return pace(shown.files, shown.new_bytes, before)


def without_drop(fork: PlannedFork) -> PlannedFork:
    """The fork as a verb plans it that has no `--drop`: its refusal names no option that is not there."""
    refused = fork.plan.refusal
    return fork if refused is None else replace(fork, plan=replace(fork.plan, refusal=drops_elsewhere(refused)))


def begin(context: Context, fork: PlannedFork, ticket: Ticket) -> Run:
    with context.holding(fork.job):
        prepared = prepare(context, fork, None, ticket)
        run = runs.publish(context, prepared)
        origin = prepared.job.origin
        for moved in origin.moved if origin is not None else ():
            events.say(context, "job.source_moved", fork.job, run.id, f"{fork.job}: {offsets.moved(moved)}")
        if origin is not None and origin.migration is not None:
            events.say(context, "job.migrated", fork.job, run.id, f"{fork.job}: {migration_words.told(origin.migration)}")
        return run


def prepare(context: Context, fork: PlannedFork, experiment: ExperimentId | None, ticket: Ticket) -> runs.Prepared:
    """Makes a fork whole but for `wanted.json`; the caller holds the job. Raises what its plan refuses."""
    if fork.plan.refusal is not None:
        raise fork.plan.refusal.error
    frozen = versions.freeze(context, fork.version, ticket)
    migrate = fork.restoring.migrate
    spark_changes.rehearse(context, fork.manifest, frozen, fork.new_queries, ticket, is_forced=fork.is_forced, migrate=migrate)
    origin = Origin(fork.manifest.id, fork.manifest.job, experiment, moved=fork.plan.moved)
    like = _like(context, origin.job)
    lead = fork.plan.lock_step.lead if fork.plan.lock_step else None
    taken = tuple(topic for image in fork.manifest.queries for topic in _topics(image, origin.job))
    own = targets.own_tables(fork.manifest, fork.restoring.target)
    noted: list[Migration] = []
    begins = Beginning(fork.job, fork.run, frozen, fork.names, fork.plan.resources, lead, taken, own, is_new_fork=True)
    prepared = runs.prepare(context, begins, lambda: fork.restoring.apply(ticket, noted.append), origin, like, fork.at_home)
    told = migrate.told if migrate is not None else None
    migration = noted[0] if noted else None
    edge = replace(edges.known(context, fork.manifest, frozen, fork.new_queries, told), migration=migration)
    edges.keep(context, fork.job, fork.run, edge)
    prepared = replace(prepared, run=replace(prepared.run, edge=edge))
    if migration is None:
        return prepared
    job = replace(prepared.job, origin=replace(origin, migration=migration))
    context.files.write(context.layout.job_file(job.name), job)
    return replace(prepared, job=job)


def _like(context: Context, parent: JobName) -> Job | None:
    """The parent, whose limits the fork begins with; None where it is not of this workspace."""
    with context.catalog.reading() as reader:
        return job_rows.find(reader, parent)


def _topics(image: QueryImage, job: JobName) -> tuple[str, ...]:
    """The Kafka topics that a query of `job` keeps from its forks; any of them where nobody knows to what it writes."""
    return kafka.taken_topics(image.sink_table, job) if image.sink.lower() in ("", kafka.KAFKA) else ()


def _unneeded(plan: RestorePlan, verdict: Verdict | None) -> Refusal | None:
    """A migration of state that fits as it is."""
    if plan.migration is None or plan.migration.drop or verdict is None or verdict.outcome is not Outcome.SAME:
        return None
    return refusal(fits())
