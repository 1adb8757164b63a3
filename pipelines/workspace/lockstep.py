"""Lock-step forks: whom a fork follows, until when, and what refuses it before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from pipelines.domain.errors import Conflict, Invalid, Unsupported
from pipelines.domain.ids import JobName
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import Job
from pipelines.domain.lockstep import GONE, MOVED, QUERY, Lead, LockStepPlan
from pipelines.domain.moments import in_utc
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.triggers import TriggerKind
from pipelines.savepoint import leads, own_reads, own_tables
from pipelines.savepoint.leads import Line
from pipelines.verbs.fork import NOW, Variant
from pipelines.workspace import attachments, job_places, runs, savepoints, sources
from pipelines.workspace.context import Context

NOT_IN_BATCHES = frozenset({TriggerKind.CONTINUOUS, TriggerKind.REAL_TIME})


def is_asked(variant: Variant) -> bool:
    """Whether the fork is to follow its parent, for good or until some point."""
    return variant.lock_step or bool(variant.until) or variant.until_ms is not None


def plan(context: Context, manifest: Manifest, variant: Variant, place: str) -> LockStepPlan | None:
    """Whom the fork follows, whose folder at a home is `place`; None for one that runs freely. Raises Conflict, Unsupported, Invalid and
    NotFound, each with what to do."""
    if not is_asked(variant):
        return None
    _refuse_what_shifts(variant)
    job = runs.known(context, manifest.job)
    attachments.refuse(context, job, "followed in lock-step")
    _refuse_remote(job_places.of_job(context, job), place)
    leads.require_sources(manifest)
    _refuse_own_reads(context, manifest)
    source = sources.of_job(context, job)
    _require_batches(context, job)
    checkpoints = str(PurePath(source.queries[0].checkpoint).parent)
    lines = _lines(context, manifest, job, checkpoints)
    until = _until(context, manifest, variant, lines)
    ready = {query: min(line.newest, until.get(query, line.newest)) for query, line in lines.items()}
    began = {query: line.began for query, line in lines.items()}
    if until and ready == began:
        message = f"{job} has read nothing between savepoint {manifest.id} and the end that was given."
        raise Conflict("lockstep.nothing", message, "Give a later end.")
    files = sum(leads.files(image, checkpoints, ready[str(image.query)]) for image in manifest.queries)
    lead = Lead(job, checkpoints, str(context.layout.wanted_file(job)), until)
    return LockStepPlan(lead, began, ready, files)


def refuse_follower(context: Context, job: Job | None, what: str) -> None:
    """Raises Conflict (`lockstep.follower`) where the job has another's batches, which `what` would shift."""
    if job is not None and job.lead is not None:
        message = f"{job.name} follows {job.lead.job} in lock-step, batch by batch, and cannot be {what}."
        raise Conflict("lockstep.follower", message, "Fork a savepoint of it: the fork runs freely.")


def require_ahead(context: Context, job: JobName, images: Iterable[QueryImage] | None = None) -> None:
    """Raises Conflict (`lockstep.gone`) where the job follows another, and the batches that it is to have next are gone; `images` are the
    points that it goes on from, without them where it stands itself."""
    known = context.files.job(job)
    if known is None or known.lead is None:
        return
    if images is not None:
        stands = [(image.query, image.batch if image.begun else -1, "") for image in images]
    else:
        places = {query.query: query.checkpoint for query in sources.started_before(context, job)}
        stands = [(query, leads.newest(checkpoint), str(PurePath(checkpoint).parent)) for query, checkpoint in places.items()]
    for query, batch, own in stands:
        leads.require_ahead(query, known.lead.checkpoints, batch, known.lead.until.get(query) if known.lead.until else None, own)


def _lines(context: Context, manifest: Manifest, job: JobName, checkpoints: str) -> dict[str, Line]:
    """The lines of the queries. What is not on one because the job has begun another checkpoint since is no matter of how long Spark keeps
    its batches."""
    try:
        return {str(image.query): leads.line(image, checkpoints) for image in manifest.queries}
    except Conflict as gone:
        if gone.code != GONE or any(run.id == manifest.run and run.checkpoints == checkpoints for run in runs.of_job(context, job)):
            raise
        message = f"{job} has gone on in another checkpoint since the savepoint: it went back, was upgraded or rescaled."
        raise Conflict(MOVED, message, leads.NEWER) from gone


def _refuse_what_shifts(variant: Variant) -> None:
    if variant.until and variant.until_ms is not None:
        raise Invalid("lockstep.two_ends", "Both a point and a time to stop at were given", "Give one of them.")
    if variant.partitions is not None:
        message = "Rescaling is a batch of its own, so the fork's batches would not be those of its parent."
        raise Conflict("lockstep.partitions", message, "Rescale the parent first, then fork a savepoint of it.")
    if variant.new_queries:
        message = f"Query {variant.new_queries[0]} is new: there are no offsets of its parent to give to it."
        raise Unsupported(QUERY, message, leads.FREELY)


def _refuse_remote(*places: str) -> None:
    """A follower's driver reads the leader's checkpoint as files of its machine, and writes files' names into its own."""
    if any(map(is_remote, places)):
        message = "Lock-step is between jobs whose bytes lie in the workspace, or on other disks of this machine."
        raise Unsupported(QUERY, message, leads.FREELY)


def _refuse_own_reads(context: Context, manifest: Manifest) -> None:
    for writer in manifest.queries:
        for reader in own_reads.readers(context.shelf(manifest.id), manifest, writer):
            message = f"Query {reader} reads the files that query {writer.query} writes: the fork's are other files than its parent's."
            raise Unsupported(QUERY, message, leads.FREELY)
        if table_reader := own_tables.reader(manifest.queries, writer):
            message = f"Query {table_reader} reads the table that query {writer.query} writes: the fork's has other versions."
            raise Unsupported(QUERY, message, leads.FREELY)


def _require_batches(context: Context, job: str) -> None:
    for started in sources.started_before(context, runs.known(context, job)):
        if started.trigger is not None and started.trigger.kind in NOT_IN_BATCHES:
            message = (
                f"Query {started.query} of {job} runs with a {started.trigger.kind.value} trigger, not in batches that can be followed."
            )
            raise Unsupported(QUERY, message, leads.FREELY)


def _until(context: Context, manifest: Manifest, variant: Variant, lines: dict[str, Line]) -> dict[str, int]:
    """Query -> its last batch; empty where the fork follows on and on."""
    if variant.until_ms is not None:
        if variant.until_ms > context.now_ms():
            message = f"{in_utc(variant.until_ms)} has not come yet: nobody knows which batches there are up to then."
            raise Invalid("lockstep.future", message, "End where it stands now, or follow on without an end.")
        return {query: line.at(variant.until_ms) for query, line in lines.items()}
    if not variant.until:
        return {}
    if variant.until == NOW:
        return {query: line.newest for query, line in lines.items()}
    end = savepoints.manifest(context, variant.until)
    if end.job != manifest.job:
        message = f"Savepoint {end.id} is of {end.job}, and the fork follows {manifest.job}."
        raise Invalid("lockstep.other_job", message, f"Name a savepoint of {manifest.job}.")
    return {query: _end(end, query, line) for query, line in lines.items()}


def _end(end: Manifest, query: str, line: Line) -> int:
    """The batch of `query` in the savepoint `end`; Conflict (`lockstep.before`) where that is not on the line."""
    image = next((image for image in end.queries if image.query == query), None)
    batch = image.batch if image is not None and image.begun else -1
    same = image is None or batch <= line.began or line.times_ms.get(batch) == image.batch_timestamp_ms
    if batch < line.began or not same:
        message = f"Savepoint {end.id} (batch {batch} of query {query}) does not come after batch {line.began} on the same line."
        raise Conflict("lockstep.before", message, "Name a savepoint that was taken later, without going back in between.")
    return batch
