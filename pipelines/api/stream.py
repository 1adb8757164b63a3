"""Server-sent events: jobs, events and operations as they change, over `/stream`, and those of one job over `/jobs/{job}/stream`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Header, Path, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from pipelines.api import feed
from pipelines.api.bodies import face_of, refusals
from pipelines.api.feed import Feed, Listener, Told
from pipelines.domain.access import STILL, Still
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.verbs.face import Face
from pipelines.verbs.forget import JOB
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.system import ListEvents

LONGEST_PLACE = 100
KINDS = "`job` (a row of `GET /jobs`), `gone` (`job`), `event` (a row of `GET /events`) and `operation` (a row of `GET /operations`)"
router = APIRouter()
Last = Annotated[
    str,
    Header(
        alias="Last-Event-ID", max_length=LONGEST_PLACE, description="The id of the last update that was received: it goes on after it."
    ),
]
Asking: TypeAlias = Annotated[Face, Depends(face_of)]


async def _to_all(request: Request, face: Asking, last_event_id: Last = "") -> AsyncIterator[Listener]:
    await _permitted(face, ListEvents(limit=1))
    async for listener in _listening(request, "", last_event_id):
        yield listener


async def _to_one(
    request: Request, face: Asking, job: Annotated[str, Path(description=JOB)], last_event_id: Last = ""
) -> AsyncIterator[Listener]:
    await _permitted(face, ShowJob(job))
    async for listener in _listening(request, job, last_event_id):
        yield listener


@router.get(
    "/stream",
    tags=["system"],
    summary="Follow what changes, as server-sent events",
    response_class=EventSourceResponse,
    responses=refusals(Unavailable),
    description=f"Updates as they happen: {KINDS}. First every job as it is now; with `Last-Event-ID` what came after that. A "
    "comment every 15 s says that the stream lives. It ends after ten minutes, where the client is too slow (connect again), "
    "and within a second once the caller is let in no longer.",
)
async def stream(request: Request, listener: Annotated[Listener, Depends(_to_all)]) -> AsyncIterable[ServerSentEvent]:
    async for update in _updates(request.app.state.feed, listener, request.scope[STILL]):
        yield update


@router.get(
    "/jobs/{job}/stream",
    tags=["jobs"],
    summary="Follow what changes of a job, as server-sent events",
    response_class=EventSourceResponse,
    responses=refusals(NotFound, Unavailable),
    description=f"Like `/stream`, of one job alone: {KINDS}.",
)
async def job_stream(request: Request, listener: Annotated[Listener, Depends(_to_one)]) -> AsyncIterable[ServerSentEvent]:
    async for update in _updates(request.app.state.feed, listener, request.scope[STILL]):
        yield update


async def _permitted(face: Face, question: ListEvents | ShowJob) -> None:
    """Asks for some of what the stream shows: whoever may not is refused as there, and a job that is not there is not found."""
    await run_in_threadpool(face.ask, question)


async def _listening(request: Request, job: str, last: str) -> AsyncIterator[Listener]:
    own: Feed = request.app.state.feed
    listener = await own.join(job, last)
    try:
        yield listener
    finally:
        own.leave(listener)


async def _updates(own: Feed, listener: Listener, still: Still) -> AsyncIterator[ServerSentEvent]:
    """What the listener is told, until it or its time ends, or its caller is let in no longer. The time ends the wait alone: what is being
    sent goes out whole."""
    until_s = asyncio.get_running_loop().time() + feed.LONGEST_S
    for told in listener.first:
        yield _sent(own, told)
    while (later := await _next(listener, until_s, still)) is not None:
        yield _sent(own, later)


async def _next(listener: Listener, until_s: float, still: Still) -> Told | None:
    """What the listener is told next; None at the end of it, of its time (of the loop's clock), and once its caller is let in no longer,
    which is asked before each update and every `AGAIN_S`."""
    clock = asyncio.get_running_loop().time
    while clock() < until_s:
        try:
            async with asyncio.timeout_at(min(until_s, clock() + feed.AGAIN_S)):
                told = await listener.queue.get()
        except TimeoutError:
            if not await still():
                return None
        else:
            return told if await still() else None
    return None


def _sent(own: Feed, told: Told) -> ServerSentEvent:
    return ServerSentEvent(event=told.said.kind, id=own.place(told), raw_data=told.said.data)
