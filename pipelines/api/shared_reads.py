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
"""So old what an answer says of clocks and growing files may be: as often as the supervisor looks."""
STALE_SECONDS = 1.5
"""Up to this age an answer is given while another one is made beside: who asks often does not wait."""
MOST_ANSWERS = 256
MOST_BYTES = 4 * 1024 * 1024
"""A larger answer (of more than a thousand jobs) goes to those who wait for it, and is not kept."""
MOST_BYTES_IN_ALL = 64 * 1024 * 1024
STREAMED = ("/stream", "/logs/file")
"""How the paths of answers end that have no end, or are too long to hold."""
Key = tuple[str, bytes, str, str, Caller | None]
"""Path, query, host, what the client accepts, and who asks: all that an answer depends on."""
State = tuple[int, int]
"""How many times more than figures was written, and how many changes were asked for: an answer of another state is not given."""


@dataclass(frozen=True)
class Answer:
    """An answer, there or under way."""

    state: State
    begun_s: float
    messages: asyncio.Task[list[Message]]

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.begun_s

    @property
    def bytes(self) -> int:
        """0 while it is under way."""
        return _bytes(self.messages.result()) if self.is_whole else 0

    @property
    def is_whole(self) -> bool:
        """Whether it is there, and no failure."""
        return self.messages.done() and not self.messages.cancelled() and self.messages.exception() is None


class ShareReads:
    """A GET is answered like the same one just before, where nothing but figures has changed since that began (a pure ASGI middleware)."""

    def __init__(self, app: ASGIApp, changes: Callable[[], int]) -> None:
        self.app = app
        self._written = changes
        self._changes = 0
        self._answers: dict[Key, Answer] = {}
        self._newer: dict[Key, Answer] = {}
        """Those that are made beside the older ones that are given."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(STREAMED):
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._changing(scope, receive, send)
            return
        headers = Headers(scope=scope)
        key = (scope["path"], scope["query_string"], headers.get("host", ""), headers.get("accept", ""), scope.get(CALLER))
        answer = self._kept(key, scope) or self._begun(key, scope)
        try:
            messages = answer.messages.result() if answer.is_whole else await asyncio.shield(answer.messages)
        finally:
            if not _is_worth_keeping(answer.messages) and self._answers.get(key) is answer:
                del self._answers[key]
            self._make_room()
        for message in messages:
            await send(message)

    async def _changing(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What was read before a change, or beside it, is not what it is after it."""
        self._changes += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._changes += 1

    def _kept(self, key: Key, scope: Scope) -> Answer | None:
        """The answer that is there, or under way, if it is not too old; one that grows old is made anew beside."""
        answer = self._answers.get(key)
        if answer is None or answer.state != self._state():
            return None
        if answer.age_s <= KEPT_SECONDS:
            return answer
        if answer.age_s > STALE_SECONDS or not answer.is_whole:
            return None
        newer = self._newer.get(key)
        if newer is None or newer.state != answer.state:
            self._newer[key] = newer = self._made(scope)
            newer.messages.add_done_callback(lambda _: self._take_over(key, newer))
        return answer

    def _take_over(self, key: Key, newer: Answer) -> None:
        """Gives the newer answer from now on, where it is the one that was waited for."""
        if self._newer.get(key) is not newer:
            return
        del self._newer[key]
        if _is_worth_keeping(newer.messages):
            self._keep(key, newer)
        else:
            self._answers.pop(key, None)

    def _begun(self, key: Key, scope: Scope) -> Answer:
        answer = self._made(scope)
        self._newer.pop(key, None)
        self._keep(key, answer)
        return answer

    def _made(self, scope: Scope) -> Answer:
        return Answer(self._state(), time.monotonic(), asyncio.create_task(self._asked(scope)))

    def _keep(self, key: Key, answer: Answer) -> None:
        self._answers.pop(key, None)
        self._answers[key] = answer
        self._make_room()

    def _make_room(self) -> None:
        """Of the older answers those stay for which there is room."""
        room = MOST_BYTES_IN_ALL
        for at, (name, kept) in enumerate(reversed(list(self._answers.items()))):
            room -= kept.bytes
            if at >= MOST_ANSWERS or (room < 0 and at):
                del self._answers[name]

    def _state(self) -> State:
        return self._written(), self._changes

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
    return bool(messages) and messages[0].get("status") == 200 and _bytes(messages) <= MOST_BYTES


def _bytes(messages: list[Message]) -> int:
    return sum(len(message.get("body", b"")) for message in messages)
