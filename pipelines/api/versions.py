"""Versions and their tree over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.experiments import Tree
from pipelines.domain.versions import Version

TAG = {"name": "versions", "description": "Frozen code, arguments and confs, and the tree of what grew from what."}
router = APIRouter(tags=["versions"])


@router.get("/versions/{version}", summary="Show a version", responses=refusals(NotFound, Corrupt))
def version(face: FaceNow, version: Annotated[str, Path(description="Id of a version.")]) -> Version:
    """One version: script, code, arguments, Spark confs, master and runtime."""
    return face.version(version)


@router.get("/tree", summary="The tree of versions", responses=refusals())
def tree(face: FaceNow) -> Tree:
    """All jobs with their runs, all savepoints, and which job began from which savepoint."""
    return face.tree()
