"""The REST application: every method of `Face` as a route, under the paths that begin with `/v1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline

from pipelines import __version__
from pipelines.api import (
    bodies,
    decisions,
    diagnoses,
    experiments,
    failures,
    jobs,
    operations,
    savepoints,
    spaces,
    states,
    system,
    versions,
)
from pipelines.storage.layout import Layout

if TYPE_CHECKING:
    from pipelines.workspace.face import Face

MODULES = (jobs, states, savepoints, experiments, decisions, versions, operations, diagnoses, spaces, system)
DESCRIPTION = """
Savepoints for Spark Structured Streaming: watch jobs, take savepoints, fork them with changed code, compare.

* Times are epoch milliseconds, durations milliseconds, sizes bytes, rates rows a second; each name says which (`_ms`, `bytes`).
* A POST says `Content-Type: application/json`, also where it has no body: a page of another site cannot send that.
* `dry_run` answers the plan that would run, with status 200, and changes nothing.
* A refusal is `{"error": {"group", "code", "message", "hint"}}`. Its group decides the status; programs look at the code.
* Calls that change something answer when the change is recorded; the supervisor carries it out. Watch the job, or the operation.
"""


def create_api(face: Face, layout: Layout | None = None) -> FastAPI:
    """REST over `face`; `layout` says which workspace that is (the face's own where it has one)."""
    bodies.refuse_unknown_fields()
    api = FastAPIOffline(
        title="Tidemark",
        version=__version__,
        summary="Savepoints for Spark Structured Streaming",
        description=DESCRIPTION,
        openapi_tags=[module.TAG for module in MODULES],
        generate_unique_id_function=_operation_id,
        dependencies=[Depends(bodies.json_only)],
    )
    api.state.face = face
    api.state.layout = layout or getattr(face, "layout", None)
    for module in MODULES:
        api.include_router(module.router, prefix="/v1")
    failures.answer_failures(api)
    return api


def _operation_id(route: APIRoute) -> str:
    """The handler's name, which is that of the method of `Face` it calls."""
    return route.name
