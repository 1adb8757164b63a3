"""Flink's REST shapes, under `/flink/v1`: what its own command-line client asks, answered by the same face as every other call.

Its refusals have Flink's shape, too; roles are those of the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from pipelines import __version__
from pipelines.api import flink_shapes as shapes
from pipelines.api.bodies import face_of
from pipelines.api.flink_shapes import Json
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Invalid, NotFound, TidemarkError, Unsupported
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobSummary
from pipelines.domain.json_text import read_json
from pipelines.domain.operations import OperationState, sound
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import Face, do
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take

PREFIX = "/flink/v1"
DISPOSED = "disposed"
NEWEST = 50


class FlinkRoute(APIRoute):
    """A route whose refusals have Flink's shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await answer(request)
            except TidemarkError as error:
                says = [" ".join(filter(None, (f"{error.message}.", error.hint, f"({error.code})")))]
                return JSONResponse({"errors": says}, 400 if isinstance(error, Invalid) else STATUS_AND_EXIT_CODES[error.group][0])
            except RequestValidationError as error:
                return JSONResponse({"errors": [str(problem["msg"]) for problem in error.errors()]}, 400)

        return handled


router = APIRouter(prefix=PREFIX, route_class=FlinkRoute, include_in_schema=False)
Caller = Annotated[Face, Depends(face_of)]


async def _body(request: Request) -> Json:
    """A body as Flink reads it: a JSON object, `{}` where there is none."""
    data = await request.body()
    try:
        given = read_json(data) if data else {}
    except ValueError as error:
        raise shapes.no_body(str(error)) from error
    if not isinstance(given, dict):
        raise shapes.no_body("it is no object")
    return given


Given = Annotated[Json, Depends(_body)]


@router.get("/config")
def config() -> Json:
    """What a dashboard of Flink's would ask first."""
    features = dict.fromkeys(("web-submit", "web-cancel", "web-rescale", "web-history"), False)
    zone: Json = {"refresh-interval": 3000, "timezone-name": "UTC", "timezone-offset": 0}
    return {**zone, "flink-version": f"Tidemark {__version__}", "flink-revision": "", "features": features}


@router.get("/overview")
def overview(face: Caller) -> Json:
    """How many jobs are in which state; there are no slots."""
    states = [shapes.STATES[summary.state] for summary in face.ask(ListJobs())]
    ended = ("FINISHED", "CANCELED", "FAILED")
    counts = {
        "jobs-running": sum(state not in ended for state in states),
        **{shapes.counted(state): states.count(state) for state in ended},
    }
    slots = dict.fromkeys(("taskmanagers", "slots-total", "slots-available"), 0)
    return {**slots, **counts, "flink-version": f"Tidemark {__version__}", "flink-commit": ""}


@router.get("/jobs")
def jobs(face: Caller) -> Json:
    """Ids and states of all jobs."""
    return {"jobs": [{"id": shapes.job_id(summary.job.name), "status": shapes.STATES[summary.state]} for summary in face.ask(ListJobs())]}


@router.get("/jobs/overview")
def jobs_overview(face: Caller) -> Json:
    """All jobs, as `flink list` prints them."""
    return {"jobs": [shapes.listed(summary) for summary in face.ask(ListJobs())]}


@router.get("/jobs/{job}")
def job_detail(face: Caller, job: str) -> Json:
    """One job. It has no vertices: Flink's are operators of its own kind."""
    summary = _summary(face, job)
    listed = shapes.listed(summary)
    plan = {"jid": job, "name": summary.job.name, "type": "STREAMING", "nodes": []}
    about: Json = {"isStoppable": True, "job-type": "STREAMING", "maxParallelism": -1, "now": listed["last-modification"]}
    rest: Json = {"timestamps": shapes.timestamps(listed), "vertices": [], "status-counts": {}, "plan": plan, "pending-operators": 0}
    return {**{name: listed[name] for name in ("jid", "name", "state", "start-time", "end-time", "duration")}, **about, **rest}


@router.get("/jobs/{job}/status")
def job_status(face: Caller, job: str) -> Json:
    """The state alone."""
    return {"status": shapes.STATES[_summary(face, job).state]}


@router.get("/jobs/{job}/checkpoints")
def checkpoints(face: Caller, job: str) -> Json:
    """Its newest savepoints, in the shape of checkpoints."""
    taken = face.ask(ListSavepoints(_summary(face, job).job.name))
    counts = {"restored": 0, "total": len(taken), "in_progress": 0, "completed": len(taken), "failed": 0}
    shown = [shapes.completed(savepoint) for savepoint in taken[:NEWEST]]
    latest = {"completed": None, "savepoint": shown[0] if shown else None, "failed": None, "restored": None}
    return {"counts": counts, "summary": shapes.summed_up(shown), "latest": latest, "history": shown}


@router.post("/jobs/{job}/savepoints", status_code=202)
def trigger_savepoint(request: Request, face: Caller, job: str, given: Given) -> Json:
    """Takes a savepoint; to a directory that is named it is exported. With `cancel-job` the job is stopped with it."""
    name, directory = _summary(face, job).job.name, shapes.text(given, "target-directory")
    shapes.check_format(given)
    if given.get("cancel-job"):
        return _stopped(face, name, directory)
    begun = face.begin(Take(name, to=directory))
    if begun.operation is not None:
        return {"request-id": shapes.trigger(begun.operation.id)}
    savepoint = begun.answer
    assert savepoint is not None, "a savepoint that was taken is the answer"
    if directory:
        _placed(request)[savepoint.id] = savepoint.path
    return {"request-id": shapes.trigger(savepoint.id)}


@router.get("/jobs/{job}/savepoints/{request_id}")
def savepoint_status(request: Request, face: Caller, job: str, request_id: str) -> Json:
    """What came of a savepoint, or of a stop with one; an error is the answer where that failed."""
    _summary(face, job)
    subject = shapes.begun(request_id)
    if subject.startswith("sp-"):
        return shapes.done({"location": _placed(request).get(subject) or face.ask(ShowSavepoint(subject)).path})
    operation = face.ask(ShowOperation(subject))
    if operation.state is OperationState.RUNNING:
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    result = sound(operation).result
    return shapes.done({"location": face.ask(ShowSavepoint(result)).path if result.startswith("sp-") and "/" not in result else result})


@router.post("/jobs/{job}/stop", status_code=202)
def stop(face: Caller, job: str, given: Given) -> Json:
    """Stops a job at a batch boundary, with a savepoint."""
    shapes.check_format(given)
    if given.get("drain"):
        raise Unsupported("flink.drain", "Spark has no watermark that ends a stream, so a job cannot be drained", "Stop it without.")
    return _stopped(face, _summary(face, job).job.name, shapes.text(given, "targetDirectory"))


@router.patch("/jobs/{job}", status_code=202)
def cancel(face: Caller, job: str, mode: Annotated[str, Query()] = "cancel") -> Json:
    """Ends a job's run at once."""
    if mode != "cancel":
        raise Invalid("flink.mode", f"There is no mode {mode!r}", "Flink's client sends mode=cancel.")
    face.begin(Stop(_summary(face, job).job.name, at_once=True))
    return {}


@router.post("/savepoint-disposal", status_code=202)
def dispose(face: Caller, given: Given) -> Json:
    """Disposes of a savepoint by its path or id."""
    path = shapes.text(given, "savepoint-path")
    if not path:
        raise Invalid("flink.savepoint_path", "No savepoint is named", "Give its path: flink savepoint -d PATH.")
    outcome = do(face, Dispose((path,))).outcomes[0]
    if outcome.refusal is not None:
        raise outcome.refusal.error
    return {"request-id": shapes.trigger(DISPOSED)}


@router.get("/savepoint-disposal/{request_id}")
def disposal_status(face: Caller, request_id: str) -> Json:
    """A disposal is done when it has been answered."""
    if shapes.subject(request_id) != DISPOSED:
        raise shapes.no_trigger(request_id)
    return shapes.done({})


def _stopped(face: Face, job: JobName, directory: str) -> Json:
    if directory:
        hint = "Leave it out; 'flink savepoint JOB DIRECTORY' takes one there, 'export' copies one."
        raise Unsupported("flink.target_directory", "A stop's savepoint is kept in the workspace", hint)
    operation = face.begin(Stop(job)).operation
    assert operation is not None, "a stop is always an operation"
    return {"request-id": shapes.trigger(operation.id)}


def _placed(request: Request) -> dict[str, str]:
    """Where savepoints lie that were exported at once: no list knows them. The newest alone are kept."""
    places: dict[str, str] = request.app.state.__dict__.setdefault("flink_places", {})
    while len(places) > NEWEST:
        places.pop(next(iter(places)))
    return places


def _summary(face: Face, job: str) -> JobSummary:
    """The job by its id, or by its name; NotFound."""
    summary = next((summary for summary in face.ask(ListJobs()) if job in (shapes.job_id(summary.job.name), summary.job.name)), None)
    if summary is None:
        raise NotFound("job.not_found", f"There is no job {job}", "'flink list -a' shows all.")
    return summary
