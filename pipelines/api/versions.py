"""Versions and their tree over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.differences import Differences
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.experiments import Tree
from pipelines.domain.versions import Version

TAG = {"name": "versions", "description": "Frozen code, arguments and confs, and the tree of what grew from what."}
router = APIRouter(tags=["versions"])
PointNamed = Annotated[str, Query(description="A savepoint, a job (its present checkpoint), a run or a version.", min_length=1)]


@router.get("/versions/{version}", summary="Show a version", responses=refusals(NotFound, Corrupt))
def version(face: FaceNow, version: Annotated[str, Path(description="Id of a version.")]) -> Version:
    """One version: script, code, arguments, Spark confs, master and runtime."""
    return face.version(version)


@router.get("/tree", summary="The tree of versions", responses=refusals())
def tree(face: FaceNow) -> Tree:
    """All jobs with their runs, all savepoints, and which job began from which savepoint."""
    return face.tree()


@router.get("/differences", summary="What differs between two points", responses=refusals(NotFound, Corrupt, Unsupported, Unavailable))
def differences(face: FaceNow, a: PointNamed, b: PointNamed) -> Differences:
    """Code, arguments, confs, runtime, source offsets, watermarks, state and sinks of two savepoints, jobs, runs or versions."""
    return face.differences(a, b)
