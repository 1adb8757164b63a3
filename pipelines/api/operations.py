"""Operations over REST: work that outlasts the call that asked for it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.errors import NotFound
from pipelines.domain.jobs import Operation

TAG = {"name": "operations", "description": "Work that outlasts the call that asked for it."}
router = APIRouter(prefix="/operations", tags=["operations"])


@router.get("/{operation}", summary="Show an operation", responses=refusals(NotFound))
def operation(face: FaceNow, operation: Annotated[str, Path(description="Id of an operation.")]) -> Operation:
    """Where it stands: `running`, `done` with its result, or `failed` with its error."""
    return face.operation(operation)
