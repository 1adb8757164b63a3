"""Experiments and comparisons over REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.experiments import Comparison, Experiment
from pipelines.domain.intervals import Interval
from pipelines.domain.requests import CompareRequest, ExperimentRequest

TAG = {"name": "experiments", "description": "Forks of one savepoint, and the comparison of two jobs' outputs."}
router = APIRouter(tags=["experiments"])


@router.get("/experiments", summary="List experiments", responses=refusals())
def experiments(face: FaceNow) -> Sequence[Experiment]:
    """Experiments, newest first."""
    return face.experiments()


@router.post(
    "/experiments",
    status_code=201,
    summary="Start an experiment",
    responses=refusals(NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable),
)
def start_experiment(face: FaceNow, request: ExperimentRequest) -> Experiment:
    """Forks one savepoint several times at once; `with_parent` compares the savepoint's own job too."""
    return face.start_experiment(request)


@router.get("/experiments/{experiment}", summary="Show an experiment", responses=refusals(NotFound))
def experiment(face: FaceNow, experiment: Annotated[str, Path(description="Id of an experiment.")]) -> Experiment:
    """One experiment: its savepoint and its jobs."""
    return face.experiment(experiment)


@router.post(
    "/compare", summary="Compare two jobs' outputs", responses=refusals(NotFound, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
)
def compare(face: FaceNow, request: CompareRequest) -> Comparison:
    """Compares row for row up to the event time that both reached: equal, only in A, only in B, changed, with examples. Changes nothing."""
    return face.compare(request)


@router.get("/intervals", summary="Compare two jobs' metrics", responses=refusals(NotFound))
def intervals(
    face: FaceNow,
    a: Annotated[str, Query(description="Name of a job.")],
    b: Annotated[str, Query(description="Name of another job.")],
    query: Annotated[str, Query(description="A query of both; the first that both have if empty.")] = "",
) -> Sequence[Interval]:
    """How far B's batch time, rate and state are from A's on the same events: medians, the difference and its 95 % interval, in words."""
    return face.intervals(a, b, query)
