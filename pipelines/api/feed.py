"""The feed: one look at the workspace for all listeners, a bounded queue for each, and what was told lately for those who come back."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from pipelines.api.looking import Looking, Said
from pipelines.domain.errors import Unavailable
from pipelines.verbs.face import Face

log = logging.getLogger("tidemark.stream")
EVERY_S, SHARE = 0.5, 10.0
"""How often it looks; it rests `SHARE` times as long as a look took."""
MOST_LISTENERS = 100
MOST_WAITING = 256
"""Who is so many updates behind is let go: he comes back, and is told what is now."""
MOST_KEPT = 1_000
LONGEST_S = 600.0
"""A stream ends after so long."""
AGAIN_S = 1.0
"""So often a stream that is told nothing asks whether its caller is let in still."""


@dataclass(frozen=True)
class Told:
    """An update at its place."""

    number: int
    said: Said


@dataclass(eq=False)
class Listener:
    """Who listens, to one job or (where that is empty) to all. None in its queue is the end."""

    job: str
    first: tuple[Told, ...] = ()
    """What he is told before what is in the queue."""
    queue: asyncio.Queue[Told | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING))

    def offer(self, told: Told) -> bool:
        """Puts an update in the queue if it is about his job; False where he is too far behind."""
        if self.job not in ("", told.said.job):
            return True
        if self.queue.full():
            return False
        self.queue.put_nowait(told)
        return True

    def end(self) -> None:
        """What waits is forgotten."""
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


class Feed:
    """Of one server; all in its event loop but the looks. It looks while somebody listens."""

    def __init__(self, face: Callable[[], Face], generation: Callable[[], int] | None) -> None:
        self._face, self._looking = face, Looking(generation)
        self._epoch = secrets.token_hex(4)
        """Places of another server, or of this one before it was started again, are none of this feed's."""
        self._number = 0
        self._kept: deque[Told] = deque(maxlen=MOST_KEPT)
        self._listeners: set[Listener] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._is_closed = False

    async def join(self, job: str, last: str) -> Listener:
        """A new listener, who is told what came after the place `last`; where that is not known, every job as it is now. Unavailable
        where too many listen (`stream.full`), and where the server ends (`server.ending`)."""
        self._admit()
        await self._look()
        self._admit()
        listener = Listener(job, tuple(told for told in self._missed(last) if job in ("", told.said.job)))
        self._listeners.add(listener)
        if self._work is None or self._work.done():
            self._loop = asyncio.get_running_loop()
            self._work = self._loop.create_task(self._follow())
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    def place(self, told: Told) -> str:
        """What a client shows as `Last-Event-ID`."""
        return f"{self._epoch}-{told.number}"

    def close(self) -> None:
        """Ends every stream, from whatever thread, or in a signal's handler."""
        self._is_closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        for listener in list(self._listeners):
            listener.end()

    def _admit(self) -> None:
        if self._is_closed:
            raise Unavailable("server.ending", "This server ends", "Connect again when it is back.")
        if len(self._listeners) >= MOST_LISTENERS:
            raise Unavailable("stream.full", f"{MOST_LISTENERS} listen already", "End another stream, or poll.")

    def _missed(self, last: str) -> Iterator[Told]:
        epoch, _, number = last.partition("-")
        oldest = self._kept[0].number if self._kept else self._number + 1
        if epoch == self._epoch and number.isdecimal() and oldest - 1 <= int(number[:20]) <= self._number:
            return (told for told in self._kept if told.number > int(number))
        return (Told(self._number, update) for update in self._looking.jobs.values())

    async def _follow(self) -> None:
        """Looks while somebody listens. A look that fails is logged, and ends the streams: whoever comes back is told why."""
        while self._listeners and not self._is_closed:
            began_s = time.monotonic()
            try:
                await self._look()
            except Exception:
                log.exception("the stream ends: the workspace could not be looked at")
                self._end()
                return
            await asyncio.sleep(max(EVERY_S, SHARE * (time.monotonic() - began_s)))

    async def _look(self) -> None:
        """Tells all listeners what is new; those who are too far behind are let go."""
        async with self._turn:
            for update in await run_in_threadpool(self._looking.look, self._face()):
                self._number += 1
                self._tell(Told(self._number, update))

    def _tell(self, told: Told) -> None:
        self._kept.append(told)
        for listener in list(self._listeners):
            if not listener.offer(told):
                self.leave(listener)
                listener.end()
