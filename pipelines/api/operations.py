"""Operations over REST: work that outlasts the call that asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.operations import Operation

TAG = {"name": "operations", "description": "Work that outlasts the call that asked for it: follow it, or cancel it."}
router = APIRouter(prefix="/operations", tags=["operations"])
OperationNamed = Annotated[str, Path(description="Id of an operation.")]


@router.get("", summary="List operations", responses=refusals())
def operations(face: FaceNow, running: Annotated[bool, Query(description="Only those under way.")] = False) -> Sequence[Operation]:
    """Operations, newest first."""
    return face.operations(running=running)


@router.get("/{operation}", summary="Show an operation", responses=refusals(NotFound))
def operation(face: FaceNow, operation: OperationNamed) -> Operation:
    """Where it stands: `running` with how far it is, `done` with its result, `failed` with its error, or `cancelled`."""
    return face.operation(operation)


@router.post("/{operation}/cancel", status_code=202, summary="Cancel an operation", responses=refusals(NotFound, Conflict))
def cancel(face: FaceNow, operation: OperationNamed) -> Operation:
    """Asks it to end; what it made is removed. The answer may still say `running`: follow it until it is `cancelled`."""
    return face.cancel(operation)
