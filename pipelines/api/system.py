"""The workspace itself over REST: who answers, how all jobs are, the example, the catalog."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines import __version__
from pipelines.api.bodies import FaceNow, refusals
from pipelines.api.cursors import link_older
from pipelines.domain.about import About
from pipelines.domain.errors import AlreadyExists, Corrupt, Unavailable
from pipelines.domain.events import GROUPS, EventFilter
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import Event, Run
from pipelines.storage.layout import Layout

TAG = {"name": "system", "description": "The server and its workspace."}
router = APIRouter(tags=["system"])


@dataclass(frozen=True)
class Ping:
    """Who answers: `workspace` is the absolute path (empty where the face has none), `workspace_id` its id."""

    name: str
    version: str
    workspace: str
    workspace_id: str


@router.get("/ping", summary="Who is there", responses=refusals())
def ping(request: Request) -> Ping:
    """The server's name and version, and which workspace it serves. The command line asks this before it trusts a server."""
    layout: Layout | None = request.app.state.layout
    return Ping("tidemark", __version__, str(layout.root) if layout else "", _workspace_id(layout) if layout else "")


@router.get("/health", summary="How all jobs are", responses=refusals())
def health(
    face: FaceNow,
    span_ms: Annotated[int, Query(ge=60_000, le=31 * 86_400_000, description="How far back the small lines reach.")] = 900_000,
) -> Health:
    """The overview's key figures, with small lines over the last 15 minutes or the span asked for."""
    return face.health(span_ms=span_ms)


@router.get("/events", summary="List what happened", responses=refusals())
def events(
    face: FaceNow,
    request: Request,
    response: Response,
    job: Annotated[str, Query(description="Only those of this job.")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most this many events.")] = 200,
    kind: Annotated[str, Query(description=f"A kind (`run.failed`), its first word, or one of {', '.join(GROUPS)}, failures, other.")] = "",
    text: Annotated[str, Query(description="Words that all occur in the event.")] = "",
    actor: Annotated[str, Query(description="Who did it: page, command, REST, supervisor, driver, or who a call said it was by.")] = "",
    from_ms: Annotated[int | None, Query(description="Not before, epoch ms.")] = None,
    to_ms: Annotated[int | None, Query(description="Not after, epoch ms.")] = None,
    before: Annotated[str, Query(description="Go on after the list that said so in its header `Link`.")] = "",
) -> Sequence[Event]:
    """What happened in the workspace and who did it, newest first. Who calls says who it is in the header `X-Tidemark-Actor`.

    Where there may be older ones, the header `Link` (`rel="next"`) says where they are.
    """
    found = face.events(limit=limit, wanted=EventFilter(job, kind, text, actor, from_ms, to_ms, before))
    link_older(request, response, found, limit)
    return found


@router.post("/example", status_code=201, summary="Start the example", responses=refusals(AlreadyExists, Unavailable))
def start_example(face: FaceNow) -> Sequence[Run]:
    """Begins the event generator and the job `post_engagement`; those that already run are left alone."""
    return face.start_example()


@router.get("/about", summary="What the workspace and its server stand on", responses=refusals(Corrupt, Unavailable))
def about(face: FaceNow) -> About:
    """Runtimes that jobs run on, the workspace's storage, the server. Of credentials only whether they are there."""
    return face.about()


@router.post("/catalog/rebuild", summary="Rebuild the catalog", responses=refusals(Corrupt, Unavailable))
def rebuild_catalog(face: FaceNow) -> dict[str, int]:
    """Makes the index anew from the workspace's files; the answer is rows by table."""
    return face.rebuild_catalog()


def _workspace_id(layout: Layout) -> str:
    """The id that the workspace's own file says; empty where it says none."""
    if not layout.workspace_file.exists():
        return ""
    return str(json.loads(layout.workspace_file.read_bytes()).get("id", ""))
