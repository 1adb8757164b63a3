"""The doctor over REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from pipelines.api.bodies import FaceNow, refusals
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import NotFound, Unavailable, Unsupported

TAG = {"name": "diagnosis", "description": "What is damaged, what depends on it, what can still be restored."}
router = APIRouter(tags=["diagnosis"])


@router.get("/diagnosis", summary="Look for damage", responses=refusals(NotFound, Unsupported, Unavailable))
def diagnose(
    face: FaceNow,
    subject: Annotated[str, Query(min_length=1, description="A job, a savepoint, or the path or URL of a checkpoint.")],
) -> Sequence[Diagnosis]:
    """Reads a checkpoint file by file, live or in a savepoint: one diagnosis a query. Damage is an answer (`findings`), not an error."""
    return face.diagnose(subject)
