"""Jobs over REST: run, attach, watch, stop, resume, forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.api.bodies import FaceNow, JobNamed, Points, planned, refusals
from pipelines.api.cursors import link_older
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.events import EventFilter
from pipelines.domain.experiments import BatchRow, Series
from pipelines.domain.jobs import Event, JobDetail, JobSummary, LogChunk, Run
from pipelines.domain.operations import Operation
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.requests import AttachRequest, ResumeRequest, RunRequest, StopRequest, TakeRequest
from pipelines.domain.savepoints import RestorePlan, RetainedBatch, Savepoint, TakePlan

TAG = {"name": "jobs", "description": "Named streaming applications: run, attach, watch, stop, resume, forget."}
router = APIRouter(prefix="/jobs", tags=["jobs"])
BEGINS = refusals(NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)


@router.get("", summary="List all jobs", responses=refusals())
def jobs(face: FaceNow) -> Sequence[JobSummary]:
    """All jobs with their newest numbers, worst first: failed, then lagging, then the others by name."""
    return face.jobs()


@router.post("", status_code=201, summary="Run a script as a new job", responses=BEGINS)
def run(face: FaceNow, request: RunRequest) -> Run:
    """Begins a new job from a PySpark script, or on a savepoint's state. `{output}` in an argument becomes its own output."""
    return face.run(request)


@router.post(
    "/attach",
    status_code=201,
    summary="Watch a job that runs elsewhere",
    responses=refusals(NotFound, AlreadyExists, Corrupt, Unsupported, Unavailable),
)
def attach(face: FaceNow, request: AttachRequest) -> Run:
    """Watches a job by the checkpoint locations of its queries (paths that the server sees, or URLs). The job does not notice."""
    return face.attach(request)


@router.get("/{job}", summary="Show a job", responses=refusals(NotFound))
def job(face: FaceNow, job: JobNamed) -> JobDetail:
    """A job's numbers, the queries of its newest run, and its runs, newest first."""
    return face.job(job)


@router.delete("/{job}", status_code=204, summary="Forget a job", responses=refusals(NotFound, Conflict, Unavailable))
def forget(face: FaceNow, job: JobNamed) -> None:
    """Removes a job that does not run, with its runs, checkpoints and output. Its savepoints stay."""
    face.forget(job)


@router.post("/{job}/stop", status_code=202, summary="Stop or cancel a job", responses=refusals(NotFound, Conflict, Unavailable))
def stop(face: FaceNow, job: JobNamed, request: StopRequest) -> Operation:
    """Asks the run to end: at a batch boundary with a savepoint, or `at_once`. Follow the operation; its result is the savepoint's id."""
    return face.stop(job, request)


@router.post(
    "/{job}/resume",
    status_code=201,
    summary="Resume a job",
    responses={**BEGINS, **planned(RestorePlan)},
)
def resume(face: FaceNow, job: JobNamed, request: ResumeRequest, response: Response) -> Run | RestorePlan:
    """Begins a new run of a job that does not run: from its checkpoint, a retained `batch` of it, or a savepoint. What is given besides
    makes a new version of it."""
    if request.dry_run:
        response.status_code = 200
    return face.resume(job, request)


@router.post(
    "/{job}/savepoints",
    status_code=201,
    summary="Take a savepoint",
    responses={
        **refusals(NotFound, AlreadyExists, Conflict, Corrupt, Unsupported, Unavailable),
        **planned(TakePlan),
    },
)
def take(face: FaceNow, job: JobNamed, request: TakeRequest, response: Response) -> Savepoint | TakePlan:
    """Takes a savepoint of the newest committed batch, of `batch`, of the newest at or before `at_ms`, or of the newest with a watermark
    at or before `event_ms`; `to` takes it to a URL. The job does not notice."""
    if request.dry_run:
        response.status_code = 200
    return face.take(job, request)


@router.get("/{job}/logs", summary="Read the driver's log", responses=refusals(NotFound, Unavailable))
def logs(
    face: FaceNow,
    job: JobNamed,
    run: Annotated[str, Query(description="Id of a run; the newest one if empty.")] = "",
    offset: Annotated[int, Query(description="First byte; a negative one counts from the end.")] = -20_000,
    limit: Annotated[int, Query(ge=1, le=5_000_000, description="At most this many bytes.")] = 200_000,
) -> LogChunk:
    """A piece of the driver's log. Follow it by asking again with `offset` = the answer's `next_offset`."""
    return face.logs(job, run=run, offset=offset, limit=limit)


@router.get(
    "/{job}/retained",
    summary="List the batches a savepoint can be taken of",
    responses=refusals(NotFound, Corrupt, Unsupported, Unavailable),
)
def retained(face: FaceNow, job: JobNamed) -> Sequence[RetainedBatch]:
    """Committed batches that Spark still keeps in the job's checkpoint, oldest first."""
    return face.retained(job)


@router.get("/{job}/batches", summary="List the latest batches", responses=refusals(NotFound))
def batches(
    face: FaceNow, job: JobNamed, limit: Annotated[int, Query(ge=1, le=10_000, description="At most this many batches.")] = 100
) -> Sequence[BatchRow]:
    """Batches with their durations by phase, rows and source offsets, newest first."""
    return face.batches(job, limit=limit)


@router.get("/{job}/series", summary="Progress over time", responses=refusals(NotFound))
def series(
    face: FaceNow,
    job: JobNamed,
    from_ms: Annotated[int, Query(description="Begin, epoch ms.")],
    to_ms: Annotated[int, Query(description="End, epoch ms.")],
    points: Points = 600,
) -> Series:
    """The job's progress by the clock, cut down to at most `points` points: columns of equal length."""
    return face.series(job, from_ms=from_ms, to_ms=to_ms, points=points)


@router.get("/{job}/event-series", summary="Progress over event time", responses=refusals(NotFound))
def event_series(face: FaceNow, job: JobNamed, points: Points = 600) -> Series:
    """The same over event time: `t` is each batch's greatest event time, so that two jobs can be laid over each other."""
    return face.event_series(job, points=points)


@router.get("/{job}/operators", summary="Show sources, stateful operators and sinks", responses=refusals(NotFound))
def operators(face: FaceNow, job: JobNamed) -> Sequence[QueryOperators]:
    """What each query is made of, with the numbers of its newest batch: offsets and backlog of sources, rows and bytes of state."""
    return face.operators(job)


@router.get("/{job}/plan", summary="Show Spark's plan of each query", responses=refusals(NotFound, Corrupt, Unsupported))
def plan(
    face: FaceNow, job: JobNamed, query: Annotated[str, Query(description="Only of this query; of all if empty.")] = ""
) -> Sequence[QueryPlan]:
    """Spark's executed plan as a graph with its SQL metrics, of one of the last batches. Empty before the first one with rows."""
    return face.plan(job, query=query)


@router.get("/{job}/events", summary="List what happened to a job", responses=refusals(NotFound))
def job_events(
    face: FaceNow,
    job: JobNamed,
    request: Request,
    response: Response,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most this many events.")] = 200,
    before: Annotated[str, Query(description="Go on after the list that said so in its header `Link`.")] = "",
) -> Sequence[Event]:
    """Runs begun and ended, savepoints taken, sinks mended: newest first. Where there may be older ones, the header `Link`
    (`rel="next"`) says where they are."""
    found = face.events(job, limit=limit, wanted=EventFilter(before=before))
    link_older(request, response, found, limit)
    return found
