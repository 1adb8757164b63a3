"""Routes besides those of the declarations: the ping, and the disposal of one savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from pipelines import __version__
from pipelines.api.bodies import face_of, refusals
from pipelines.api.idempotency import ChangeRoute, Key
from pipelines.domain.about import ServerRole
from pipelines.domain.disposals import Disposal, DisposePlan
from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.json_text import read_json
from pipelines.storage.layout import Layout
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import Face, do
from pipelines.verbs.fork import SAVEPOINT

router = APIRouter(route_class=ChangeRoute)


@dataclass(frozen=True)
class Ping:
    """The answer of a ping: `workspace` is the absolute path (empty where the face has none), `workspace_id` its id, `role` which of the
    servers of that workspace it is."""

    name: str
    version: str
    workspace: str
    workspace_id: str
    role: ServerRole = ServerRole.ACTIVE


@router.get("/ping", tags=["system"], summary="Say that the server is up", responses=refusals())
def ping(request: Request) -> Ping:
    """The server's name and version, and which workspace it serves. The command line asks this before it trusts a server."""
    layout: Layout | None = request.app.state.layout
    role: ServerRole = request.app.state.role
    return Ping("tidemark", __version__, str(layout.root) if layout else "", workspace_id(layout) if layout else "", role)


@router.delete(
    "/savepoints/{savepoint:path}",
    tags=["savepoints"],
    summary="Dispose of a savepoint",
    responses=refusals(NotFound, Conflict, Unavailable),
)
def dispose(
    face: Annotated[Face, Depends(face_of)],
    savepoint: Annotated[str, Path(description=SAVEPOINT)],
    dry_run: Annotated[bool, Query(description="Answer what would be deleted, and delete nothing.")] = False,
    idempotency_key: Key = None,
) -> DisposePlan:
    """Deletes the savepoint; the answer is what was deleted. Refused while a fork in the making needs it."""
    change = Dispose((savepoint,))
    return _only(face.plan(change) if dry_run else do(face, change))


def _only(disposal: Disposal) -> DisposePlan:
    """The plan of the one savepoint; raises its refusal."""
    outcome = disposal.outcomes[0]
    if outcome.refusal is not None:
        raise outcome.refusal.error
    assert outcome.plan is not None, "what is not refused has a plan"
    return outcome.plan


def workspace_id(layout: Layout) -> str:
    """The id that the workspace's own file says; empty where it says none."""
    if not layout.workspace_file.exists():
        return ""
    return str(read_json(layout.workspace_file.read_bytes()).get("id", ""))
