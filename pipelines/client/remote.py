"""A running server as a `Face`: every question and every change is the REST call that its declaration says."""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Iterator
from copy import copy
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from pipelines.client.wire import PAUSES_S, Answer, Wire, path_of, unreachable
from pipelines.domain.errors import Unavailable
from pipelines.domain.operations import Operation, sound
from pipelines.storage.documents import plain
from pipelines.verbs.declaration import answer_type, default_of, parts, plan_type
from pipelines.verbs.face import follow
from pipelines.verbs.operations import ReadAnswer
from pipelines.verbs.verb import Asked, Begun, Change, Question

if TYPE_CHECKING:
    from pipelines.domain.updates import Update

TOKEN_VARIABLE = "TIDEMARK_TOKEN"
COMING_BACK = ("server.ending", "server.starting")
"""Refusals of a server that is being started again."""
A = TypeVar("A")
P = TypeVar("P")


class RemoteFace:
    """`Face` over the REST API of the server at `url`, which lets `token` in (`TIDEMARK_TOKEN` where none is given). `certificate` is the
    file of the one that it must show, where nobody else vouches for it.

    Raises what the server raised, and Unavailable where no server answers. A call whose connection is lost is sent again, a change with its
    key, so that it is done once. `servers.connect` finds the server of a workspace by itself.
    """

    def __init__(self, url: str, token: str = "", transport: Any = None, certificate: str = "") -> None:
        self._wire = Wire(url, token or os.environ.get(TOKEN_VARIABLE, ""), transport, certificate)

    def close(self) -> None:
        """Closes the connection."""
        self._wire.close()

    def acting(self, actor: str) -> RemoteFace:
        same = copy(self)
        same._wire = self._wire.acting(actor)
        return same

    def ask(self, question: Question[A]) -> A:
        answer: A = self._wire.read(answer_type(type(question)), self._call(question))
        return answer

    def plan(self, change: Change[A, P]) -> P:
        plan: P = self._wire.read(plan_type(type(change)), self._call(change, dry_run=True))
        return plan

    def begin(self, change: Change[A, P], key: str = "") -> Begun[A]:
        """As every face. With a `key` (visible ASCII without spaces) the same change begun again within a day is the one that it was then,
        also by another process: a task that is tried again. By itself each change has a key of its own."""
        answer = self._call(change, key=key or str(uuid.uuid4()))
        if answer.status == 202 and _is_operation(change):
            return Begun(change, self._wire.read(Operation, answer), warnings=answer.warnings)
        done = None if answer.status == 204 else self._wire.read(answer_type(type(change)), answer)
        return Begun(change, answer=done, warnings=answer.warnings)

    def answer(self, begun: Begun[A]) -> A:
        if begun.operation is None:
            return begun.answer  # type: ignore[return-value]
        ended = deque(follow(self, begun.operation.id, time.sleep), maxlen=1).pop()
        kind = answer_type(type(begun.change))
        if kind is Operation:
            return sound(ended)  # type: ignore[return-value]
        answer: A = self._wire.read(kind, self._call(ReadAnswer(ended.id)))
        return answer

    def watch(self, job: str = "", last: str = "") -> Iterator[Update]:
        """What changes, of a job or of all, as it happens and without end: first every job as it is now, or what came after the update
        with the id `last`. Goes on after a connection that is lost; raises what the server raises, and Unavailable where it is gone."""
        import httpx

        from pipelines.client.updates import updates

        path, tries = f"/jobs/{quote(job, safe='')}/stream" if job else "/stream", 0
        while True:
            try:
                with self._wire.stream(path, last) as lines:
                    tries = 0
                    for update in updates(lines):
                        last = update.id
                        yield update
            except httpx.TransportError as error:
                if tries == len(PAUSES_S):
                    raise unreachable(self._wire.url, error) from error
            except Unavailable as error:
                if error.code not in COMING_BACK or tries == len(PAUSES_S):
                    raise
            time.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
            tries += 1

    def _call(self, request: Asked[Any], *, dry_run: bool = False, key: str = "") -> Answer:
        kind = type(request)
        query, body = _given(request, "query"), _given(request, "body")
        has_body = kind.http.method in ("POST", "PATCH")
        if dry_run:
            (body if has_body else query)["dry_run"] = True
        at = path_of(kind.http.path, {part.name: getattr(request, part.name) for part in parts(kind, "path")})
        return self._wire.call(kind.http.method, at, query=query, body=plain(body) if has_body else None, key=key)


def _given(request: Asked[Any], place: str) -> dict[str, Any]:
    """The fields of a place that differ from their defaults."""
    values = ((part, getattr(request, part.name)) for part in parts(type(request), place))
    return {part.name: plain(value) for part, value in values if default_of(part) is MISSING or value != default_of(part)}


def _is_operation(change: Change[Any, Any]) -> bool:
    """Whether a 202 answers with the operation that the change works as; one that cancels an operation works as none."""
    return bool(change.kinds)
