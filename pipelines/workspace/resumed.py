"""The run that a resume begins: on the job's own checkpoint, or on new ones with what a savepoint has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.domain import errors
from pipelines.domain.edges import Edge
from pipelines.domain.edges import edge as domain_edge
from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.migrations import Migration
from pipelines.domain.probations import Probation
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.verdicts import Verdict
from pipelines.domain.versions import Version
from pipelines.savepoint import own_tables, sinks
from pipelines.savepoint.adoptions import Adopting
from pipelines.savepoint.passing import Passing
from pipelines.storage.addresses import open_storage
from pipelines.words import migrations as migration_words
from pipelines.words import restarts as restart_words
from pipelines.workspace import (
    edges,
    events,
    histories,
    job_places,
    moved_jobs,
    probations,
    query_names,
    repairs,
    restores,
    runs,
    savepoints,
    spark_changes,
    verdicts,
)
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.query_names import QueryNames
from pipelines.workspace.restores import Restoring
from pipelines.workspace.runs import Beginning
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class Going:
    """A job to resume: its newest run, the run that begins, and the version that it executes."""

    job: JobName
    newest: Run
    run: RunId
    version: Version
    new_queries: tuple[str, ...]
    attempt: int = 0
    is_scheduled: bool = False
    partitions: int | None = None
    """Of the state, where a savepoint's copy is to be rescaled."""
    force: bool = False
    migrate: Asked | None = None
    """How a copy of its state is rewritten for the version, where it is."""
    adopts: Mapping[QueryName, Adopting] | None = None
    """Its queries, where it goes on with the savepoint of a variant of its own."""
    taken: Resources = ALL
    """What its driver may take of this machine."""
    passing: Passing | None = None
    """The batch that is left out."""
    probation: Probation | None = None
    """How the run is watched, where it is."""
    verdict: Verdict | None = None
    """What the version was found to be before the job was stopped for it."""
    edge: Edge | None = None
    """What is known of its state under the version; None where that is still to be looked up, or nobody asks."""

    @property
    def is_by_itself(self) -> bool:
        """Whether nobody begins the run: it goes on with code that ran."""
        return bool(self.attempt) or self.is_scheduled


def left_sink_logs(context: Context, newest: Run) -> dict[str, str]:
    """Sink logs that the newest run may not have carried yet; the driver leaves alone those that it has."""
    spec = context.files.spec(newest.job, newest.id)
    return {query: folder for query, folder in spec.sink_logs.items() if next(iter(open_storage(folder).list()), None)}


def refused(shown: RestorePlan, going: Going, images: Sequence[QueryImage]) -> RestorePlan:
    """The plan of going back in time, refused where a sink would pass over what is done again, or a query read it twice."""
    is_accepted = going.force or going.partitions is not None
    error = None if is_accepted else sinks.refused_going_back(shown.sinks) or own_tables.refused_going_back(images)
    return replace(shown, refusal=shown.refusal or (errors.refusal(error) if error else None))


def judged(context: Context, shown: RestorePlan, manifest: Manifest | None, going: Going) -> RestorePlan:
    """The plan with what is known of the version on the state of `manifest`."""
    if manifest is None:
        return shown
    told = going.migrate.told if going.migrate is not None else None
    return replace(shown, verdict=verdicts.nearest(context, manifest, going.version, going.new_queries, told), judged=manifest.id)


def rehearse(context: Context, going: Going, frozen: Version, manifest: Manifest, ticket: Ticket) -> None:
    """Raises what `spark_changes.rehearse` does; nothing has begun then."""
    spark_changes.rehearse(context, manifest, frozen, going.new_queries, ticket, is_forced=going.force, migrate=going.migrate)


def restoring(context: Context, going: Going, version: Version, manifest: Manifest) -> Restoring:
    """The restore of the savepoint that it goes on with, as `version`."""
    if going.adopts is not None:
        return restores.of_adoption(context, manifest, going.job, going.run, version, going.adopts)
    return restores.of_resume(context, manifest, going.job, going.run, version, going.partitions, going.migrate, going.passing)


def restored(context: Context, going: Going, frozen: Version, manifest: Manifest, ticket: Ticket) -> Run:
    """The job's next run, on new checkpoints that hold what `manifest`'s savepoint has."""
    made = restoring(context, going, frozen, manifest)
    try:
        noted: list[Migration] = []
        with job_places.noted(context, going.job, going.run):
            sink_logs = made.apply(ticket, noted.append)
            names = query_names.restored(manifest, going.new_queries)
            going = replace(going, edge=_edge(context, going, frozen, manifest, noted))
            run = begin(context, going, frozen, made.target.checkpoints, sink_logs, manifest.id, names)
        if going.passing is not None:
            events.say(context, "job.batch_passed", going.job, run.id, restart_words.passed(going.job, going.passing.batch))
        for done in noted:
            events.say(context, "job.migrated", going.job, run.id, f"{going.job}: {migration_words.told(done)}")
        return run
    except BaseException:
        if context.files.wanted(going.job).run != going.run:
            runs.discard(context, going.job, going.run)
        raise


def edge(context: Context, going: Going, shown: RestorePlan) -> Edge | None:
    """What is known by now of the state that was judged, by a check meanwhile too; None where nobody asks, or there is nothing to ask."""
    if going.is_by_itself:
        return None
    verdict = going.verdict or shown.verdict
    if verdict is not None:
        return domain_edge(verdict)
    if shown.judged is None or not context.files.keeps(shown.judged):
        return Edge() if going.version.id != going.newest.version else None
    return _known(context, going, going.version, savepoints.manifest(context, shown.judged))


def _known(context: Context, going: Going, version: Version, manifest: Manifest) -> Edge:
    return edges.known(context, manifest, version, going.new_queries, going.migrate.told if going.migrate is not None else None)


def _edge(context: Context, going: Going, frozen: Version, manifest: Manifest, noted: Sequence[Migration]) -> Edge | None:
    """The edge with how the state was rewritten; of a savepoint that was taken for it, which nobody could judge before, what is known."""
    if going.is_by_itself:
        return None
    return replace(going.edge or _known(context, going, frozen, manifest), migration=noted[0] if noted else None)


def begin(
    context: Context,
    going: Going,
    frozen: Version,
    checkpoints: str,
    sink_logs: Mapping[str, str],
    savepoint: str,
    names: QueryNames,
) -> Run:
    """The run, wanted from now on, on `checkpoints` as they are; `savepoint` is what they were made from, empty for the job's own."""
    job, run = going.job, going.run
    histories.prune(context, job)
    place = job_places.of_job(context, job)
    listed, before = context.files.job(job), context.files.spec(job, going.newest.id)
    lead = listed.lead if listed else None
    begun_by = (going.attempt, going.is_scheduled)
    begins = Beginning(job, run, frozen, names, going.taken, lead, before.taken_topics, before.own_tables, *begun_by)
    spec = runs.make_spec(context, begins, checkpoints, sink_logs, savepoint, place)
    if spec.output != before.output:
        moved_jobs.settle(context, job, before.output)
    runs.write_spec(context, spec)
    if going.edge is not None:
        edges.keep(context, job, run, going.edge)
    if going.probation is not None:
        probations.keep(context, job, run, probations.before(going.probation, savepoint))
    if listed is not None and listed.resources != going.taken:
        repairs.save(context, replace(listed, resources=going.taken))
    context.files.write(context.layout.wanted_file(job), Wanted(run))
    begun = runs.follow(context, going.newest.id, replace(runs.wanted_run(spec), edge=going.edge))
    origin = f"from savepoint {savepoint}" if savepoint else "from its checkpoint"
    kind, what = ("restart.begun", f"restart {going.attempt}") if going.attempt else ("job.resumed", f"version {frozen.id}")
    events.say(context, kind, job, run, f"{job} goes on {origin}, {what}")
    context.changed.set()
    return begun
