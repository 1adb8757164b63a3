"""Space over REST."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.domain.space import Space

TAG = {"name": "space", "description": "What savepoints take on disk."}
router = APIRouter(tags=["space"])


@router.get("/space", summary="What savepoints take on disk", responses=refusals(NotFound, Unavailable))
def space(face: FaceNow, job: Annotated[str, Query(description="Only those of this job.")] = "") -> Space:
    """Each savepoint's full size and what disposing of it alone would free; what all take together, and share."""
    return face.space(job)
