"""Decisions on variants over REST: promote, drop, undrop."""

from __future__ import annotations

from fastapi import APIRouter, Response

from pipelines.api.bodies import FaceNow, JobNamed, planned, refusals
from pipelines.domain.decisions import DropPlan, PromotePlan, UndropPlan
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.domain.requests import DropRequest, PromoteRequest, UndropRequest

TAG = {"name": "decisions", "description": "What becomes of a variant: its parent goes on with its version, or it is dropped."}
router = APIRouter(prefix="/jobs", tags=["decisions"])
REFUSALS = refusals(NotFound, Conflict, Corrupt, Unsupported, Unavailable)


@router.post(
    "/{job}/promote",
    status_code=202,
    summary="Promote a variant",
    responses={**REFUSALS, **planned(PromotePlan)},
)
def promote(face: FaceNow, job: JobNamed, request: PromoteRequest, response: Response) -> Operation | PromotePlan:
    """The job that this one was forked from is stopped with a savepoint and goes on with this one's version, on its own present state or
    from the savepoint they parted at. Follow the operation; its result is the run's id."""
    if request.dry_run:
        response.status_code = 200
    return face.promote(job, request)


@router.post(
    "/{job}/drop",
    status_code=202,
    summary="Drop a variant",
    responses={**REFUSALS, **planned(DropPlan)},
)
def drop(face: FaceNow, job: JobNamed, request: DropRequest, response: Response) -> Operation | DropPlan:
    """Ends a fork and marks it as dropped in its experiment. Its savepoints and its output stay; `undrop` takes it back."""
    if request.dry_run:
        response.status_code = 200
    return face.drop(job, request)


@router.post("/{job}/undrop", summary="Undrop a variant", responses=REFUSALS)
def undrop(face: FaceNow, job: JobNamed, request: UndropRequest) -> UndropPlan:
    """Takes the mark from a dropped variant and resumes it where the drop ended it; answers with what was done, a dry run with what would
    be."""
    return face.undrop(job, request)
