"""A savepoint's state over REST. These routes stand before those of savepoints, whose names may be paths."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from pipelines.api.bodies import FaceNow, SavepointNamed, refusals
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.domain.states import StateQuery, StateRequest, StateRows, StateTable

TAG = {"name": "states", "description": "What a job remembers: the tables of a savepoint's state, read by Spark, asked with SQL."}
router = APIRouter(prefix="/savepoints", tags=["states"])


@router.get("/{savepoint:path}/states", summary="List a savepoint's state", responses=refusals(NotFound, Corrupt, Unsupported))
def states(face: FaceNow, savepoint: SavepointNamed) -> Sequence[StateTable]:
    """Every state store, side of a join and state variable, with what was read of it so far. No Spark is started."""
    return face.states(savepoint)


@router.post(
    "/{savepoint:path}/states/query",
    summary="Ask a table of state",
    responses=refusals(NotFound, Conflict, Corrupt, Unsupported, Unavailable),
)
def query_state(face: FaceNow, savepoint: SavepointNamed, query: StateQuery) -> StateRows:
    """A page of the rows that were read, filtered and sorted; or the answer to one SELECT over the view `state`. Times are epoch ms."""
    return face.query_state(savepoint, query)


@router.post(
    "/{savepoint:path}/states",
    status_code=202,
    summary="Read a table of state",
    responses=refusals(NotFound, Conflict, Corrupt, Unsupported, Unavailable),
)
def read_state(face: FaceNow, savepoint: SavepointNamed, request: StateRequest) -> Operation:
    """Spark reads one table, at most `limit` rows of it, and the rows are kept. Follow the operation; then ask them."""
    return face.read_state(savepoint, request)
