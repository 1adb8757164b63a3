"""Idempotency keys (IETF draft httpapi-idempotency-key-header): a change that is sent again with its key is answered as it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from pipelines.api import problems
from pipelines.domain import idempotency
from pipelines.domain.about import ServerRole
from pipelines.domain.access import CALLER, Caller
from pipelines.domain.errors import Forbidden, TidemarkError, Unauthenticated, Unavailable
from pipelines.domain.idempotency import KEY, LONGEST_KEY, KeptCall
from pipelines.storage.idempotency import KeptCalls
from pipelines.verbs.verb import WARNINGS_HEADER

HEADER = "Idempotency-Key"
WAITS_S = 30.0
"""A retry waits so long for the first call's answer; then it is told that this is under way."""
BEGAN_NOTHING = (Unavailable, Unauthenticated, Forbidden)
"""Whoever is refused so is meant to try again: the answer is not kept."""
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Key = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="A text of the caller's own for this change (a UUID): sent again with it, the call is answered as it was.",
        min_length=1,
        max_length=LONGEST_KEY,
        pattern=f"^{KEY.pattern}$",
    ),
]
"""The parameter of a route that is a change."""


class ChangeRoute(APIRoute):
    """A route that takes a key where it changes something; its function has `shown_once` where the answer is not to be kept."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()
        shown_once = getattr(self.endpoint, "shown_once", False)

        async def handled(request: Request) -> Response:
            key = idempotency.key_of(request.headers.get(HEADER, ""))
            calls = _calls(request) if key and request.method != "GET" else None
            if calls is None:
                return await answer(request)
            once: Once = request.app.state.once
            return await once(calls, key, request, answer, shown_once=shown_once)

        return handled


def _calls(request: Request) -> KeptCalls | None:
    """What the workspace keeps. None where there is no workspace, or it is another server's: that one refuses every change."""
    state = request.app.state
    is_kept = state.layout is not None and state.role is ServerRole.ACTIVE and CALLER in request.scope
    return _kept_in(state.layout.idempotency) if is_kept else None


@cache
def _kept_in(folder: Path) -> KeptCalls:
    return KeptCalls(folder)


@dataclass(frozen=True)
class UnderWay:
    """A call that has begun and is not answered yet."""

    fingerprint: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Once:
    """Does each call once, whoever sends it again and when. Of calls with one key one is under way at a time."""

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock = clock
        self._under_way: dict[tuple[int, str], UnderWay] = {}

    async def __call__(self, calls: KeptCalls, key: str, request: Request, answer: Handler, *, shown_once: bool) -> Response:
        """The answer, the first time or again; raises what `KeptCall.repeated` raises, and Conflict while the first is under way."""
        name = idempotency.name(_sender(request.scope[CALLER]), key)
        target = f"{request.scope['path']}?{request.scope['query_string'].decode('latin-1')}"
        call = UnderWay(idempotency.fingerprint(request.method, target, await request.body()))
        place = (id(calls), name)
        while (before := self._under_way.get(place)) is not None:
            await self._ended(before, call.fingerprint)
        self._under_way[place] = call
        try:
            kept = await run_in_threadpool(calls.find, name, self._clock())
            if kept is not None:
                return _again(kept.repeated(call.fingerprint))
            return await self._done(calls, name, KeptCall(call.fingerprint, self._clock()), request, answer, shown_once=shown_once)
        finally:
            del self._under_way[place]
            call.ended.set()

    async def _ended(self, before: UnderWay, fingerprint: str) -> None:
        if before.fingerprint != fingerprint:
            raise idempotency.other_call()
        try:
            async with asyncio.timeout(WAITS_S):
                await before.ended.wait()
        except TimeoutError:
            raise idempotency.under_way() from None

    async def _done(self, calls: KeptCalls, name: str, call: KeptCall, request: Request, answer: Handler, *, shown_once: bool) -> Response:
        """Does it. 1. That it begins is on disk. 2. It is done. 3. Its answer is on disk. A kill between leaves what nobody knows."""
        await run_in_threadpool(calls.begin, name, call)  # 1
        try:
            response = await answer(request)  # 2
        except (RequestValidationError, HTTPException, *BEGAN_NOTHING):
            await run_in_threadpool(calls.forget, name)
            raise
        except TidemarkError as error:
            response = problems.answer(error, request.scope["path"])
        except Exception:
            failed = problems.answer(problems.unexpected(), request.scope["path"])
            await run_in_threadpool(calls.keep, name, _with(call, failed, shown_once=False))
            raise
        await run_in_threadpool(calls.keep, name, _with(call, response, shown_once=shown_once))  # 3
        return response


def _sender(caller: Caller) -> str:
    """Who sends a key, for all that he sends; a token that is made anew is another one."""
    return caller.identity or f"{caller.name} {caller.id}"


def _with(call: KeptCall, response: Response, *, shown_once: bool) -> KeptCall:
    is_refusal = response.status_code >= 400
    media_type, warnings = (response.headers.get(name, "") for name in ("content-type", WARNINGS_HEADER))
    once = shown_once and not is_refusal
    return call.answered(response.status_code, media_type, bytes(response.body), shown_once=once, warnings=warnings)


def _again(kept: KeptCall) -> Response:
    headers = {"content-type": kept.media_type, WARNINGS_HEADER: kept.warnings}
    return Response(kept.body.encode(), kept.status, {name: value for name, value in headers.items() if value})
