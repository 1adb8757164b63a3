"""The REST application: every question and change as a route, under the paths that begin with `/v1`; and `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline

from pipelines import __version__, verbs
from pipelines.api import bodies, failures, flink, logs, metrics, parameters, routes, server, stream
from pipelines.api.feed import Feed
from pipelines.api.idempotency import Once
from pipelines.api.shared_reads import ShareReads
from pipelines.domain.about import ServerRole
from pipelines.domain.audit import Record, unrecorded
from pipelines.storage.layout import Layout

if TYPE_CHECKING:
    from pipelines.verbs.face import Face

DESCRIPTION = """
Savepoints for Spark Structured Streaming: watch jobs, take savepoints, fork them with changed code, compare.

* Times are epoch milliseconds, durations milliseconds, sizes bytes, rates rows a second; each name says which (`_ms`, `bytes`).
* A POST says `Content-Type: application/json`, also where it has no body: a page of another site cannot send that. Without it is 415.
* Every call shows a token (`Authorization: Bearer`); one that its role does not allow is answered 403 (`access.role`).
* Any call may be answered 401 (no token that lets in), 403 (another site's page), 405 (not with this method), 408 (the request arrives too
  slowly), 413 (it is too large), 421 (this server has another name) or 503 (it has not started yet). A standby answers every change, and
  what asks for operations, with 503 (`server.standby`): its message names the server that has the workspace. An answer that nobody reads
  for a minute is broken off.
* `dry_run` (in the body; of a DELETE in the query) answers the plan that would run, with status 200, and changes nothing.
* A parameter or a field that a call does not have is refused (422), and the hint names those that it has.
* A refusal is a problem (RFC 9457, `application/problem+json`): beside `type`, `title`, `status`, `detail` and `instance` it has
  `"error": {"group", "code", "message", "hint"}`. Its group decides the status ([what they mean](problems)); programs look at the code.
* Calls that change something answer when the change is recorded; the supervisor carries it out. Watch the job, or the operation.
* A change that is sent with the header `Idempotency-Key` (any text, new for each change) may be sent again with it, for a day: it is
  answered as it was and not done again, also by a server that was started meanwhile. The key with another call is 422
  (`idempotency.other_call`).
* With `Prefer: respond-async` (RFC 7240) a change that takes its time answers 202 with its operation; `/operations/{id}/answer` has what
  came of it.
"""


def create_api(
    face: Face,
    layout: Layout | None = None,
    generation: Callable[[], int] | None = None,
    record: Record = unrecorded,
    role: ServerRole = ServerRole.ACTIVE,
    changes: Callable[[], int] | None = None,
) -> FastAPI:
    """REST over `face`; `layout` says which workspace that is (the face's own where it has one). `record` writes calls into the audit.

    `generation` answers another number once anything was written, `changes` (the same if not given) once more than figures of batches was;
    with them, reads of the same are answered once for all who ask.
    """
    api = FastAPIOffline(
        title="Tidemark",
        version=__version__,
        summary="Savepoints for Spark Structured Streaming",
        description=DESCRIPTION,
        openapi_tags=routes.tags(),
        generate_unique_id_function=_operation_id,
        dependencies=[Depends(bodies.json_only)],
    )
    api.state.face = face
    api.state.record = record
    api.state.role = role
    api.state.once = Once()
    api.state.feed = Feed(lambda: api.state.face, generation)
    api.state.layout = layout or getattr(face, "layout", None)
    for router in (server.router, stream.router, logs.router):
        api.include_router(router, prefix="/v1", dependencies=[Depends(parameters.known)])
    api.include_router(metrics.router)
    api.include_router(flink.router)
    routes.add(api, verbs.every())
    failures.answer_failures(api)
    if generation is not None:
        api.add_middleware(ShareReads, changes=changes or generation)
    return api


def _operation_id(route: APIRoute) -> str:
    """The declaration's `call`."""
    return route.name
