"""A face served over HTTP as the real server does it: the API mounted at `/api`, behind uvicorn, on a free port."""

from __future__ import annotations

import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines import verbs
from pipelines.api.app import create_api
from pipelines.api.feed import Feed
from pipelines.domain.access import CALLER, OWNER, STILL
from pipelines.storage.layout import Layout
from pipelines.verbs.face import Face

_IDLE: defaultdict[tuple[type, ...], list[FastAPI]] = defaultdict(list)
"""Applications that serve no face now, by the verbs they have: making one takes longer than most tests that need it."""


def as_owner(app: ASGIApp) -> ASGIApp:
    """`app` behind an entrance that lets everybody in as the owner."""

    async def enter(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, CALLER: OWNER, STILL: still}, receive, send)

    async def still() -> bool:
        return True

    return enter


@contextmanager
def serving(face: Face, layout: Layout | None = None) -> Iterator[str]:
    """URL of a server of `face`, as long as the block lasts."""
    idle = _IDLE[verbs.every()]
    api = idle.pop() if idle else create_api(face)
    api.state.face, api.state.layout = face, layout or getattr(face, "layout", None)
    api.state.feed = Feed(lambda: face, None)
    listening = socket.create_server(("127.0.0.1", 0))
    mounted = as_owner(Starlette(routes=[Mount("/api", api), Route("/flink/v1/{path:path}", api)]))
    server = uvicorn.Server(uvicorn.Config(mounted, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        idle.append(api)
