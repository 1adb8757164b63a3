"""Reads that many ask for at once are answered once: dashboards and scripts of a whole team poll the same few addresses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.domain.access import CALLER, Caller

KEPT_SECONDS = 0.5
"""What an answer says of clocks and growing files is never older: as often as the supervisor looks."""
MOST_ANSWERS = 256
MOST_BYTES = 1024 * 1024
"""A larger answer goes to those who wait for it, and is not kept."""
ENDLESS = "/stream"
"""How the paths of answers end that have no end."""
Key = tuple[str, bytes, str, str, Caller | None]
"""Path, query, host, what the client accepts, and who asks: all that an answer depends on."""
State = tuple[int, int]
"""How many times the catalog was written, and how many changes were asked for: an answer of another state is not given."""


@dataclass(frozen=True)
class Answer:
    """An answer, there or under way."""

    state: State
    begun_s: float
    messages: asyncio.Task[list[Message]]


class ShareReads:
    """A GET is answered like the same one just before, where nothing has changed since that began (a pure ASGI middleware)."""

    def __init__(self, app: ASGIApp, generation: Callable[[], int]) -> None:
        self.app = app
        self._generation = generation
        self._changes = 0
        self._answers: dict[Key, Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(ENDLESS):
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._changing(scope, receive, send)
            return
        headers = Headers(scope=scope)
        key = (scope["path"], scope["query_string"], headers.get("host", ""), headers.get("accept", ""), scope.get(CALLER))
        answer = self._kept(key) or self._begun(key, scope)
        try:
            messages = await asyncio.shield(answer.messages)
        finally:
            if not _is_worth_keeping(answer.messages) and self._answers.get(key) is answer:
                del self._answers[key]
        for message in messages:
            await send(message)

    async def _changing(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What was read before a change, or beside it, is not what it is after it."""
        self._changes += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._changes += 1

    def _kept(self, key: Key) -> Answer | None:
        answer = self._answers.get(key)
        if answer is None or answer.state != self._state() or time.monotonic() - answer.begun_s > KEPT_SECONDS:
            return None
        return answer

    def _begun(self, key: Key, scope: Scope) -> Answer:
        answer = Answer(self._state(), time.monotonic(), asyncio.create_task(self._asked(scope)))
        self._answers.pop(key, None)
        self._answers[key] = answer
        for oldest in list(self._answers)[:-MOST_ANSWERS]:
            del self._answers[oldest]
        return answer

    def _state(self) -> State:
        return self._generation(), self._changes

    async def _asked(self, scope: Scope) -> list[Message]:
        """All that the application sends; whoever asked first may be gone before."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self.app(scope, _nothing_more, keep)
        return messages


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _is_worth_keeping(task: asyncio.Task[list[Message]]) -> bool:
    """Whether it is under way, or a whole answer of moderate size."""
    if not task.done():
        return True
    if task.cancelled() or task.exception() is not None:
        return False
    messages = task.result()
    return bool(messages) and messages[0].get("status") == 200 and sum(len(message.get("body", b"")) for message in messages) <= MOST_BYTES
