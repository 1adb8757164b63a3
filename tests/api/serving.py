"""A face served over HTTP as the real server does it: the API mounted at `/api`, behind uvicorn, on a free port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from pipelines.api.app import create_api
from pipelines.storage.layout import Layout
from pipelines.verbs.face import Face


@contextmanager
def serving(face: Face, layout: Layout | None = None) -> Iterator[str]:
    """URL of a server of `face`, as long as the block lasts."""
    listening = socket.create_server(("127.0.0.1", 0))
    mounted = Starlette(routes=[Mount("/api", create_api(face, layout))])
    server = uvicorn.Server(uvicorn.Config(mounted, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
