"""A webhook of the tests' own: a real HTTP server that keeps what it was sent, and fails or takes its time where a test says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook:
    """`statuses` are the answers to come, then 200; while `answering` is not set nobody gets one."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.bodies: list[dict[str, Any]] = []
        """Of what was accepted."""
        self.asked = 0
        self.statuses: list[int] = []
        self.answering = threading.Event()
        self.answering.set()

    @property
    def url(self) -> str:
        """As Apprise has it, with a secret."""
        return f"json://user:s3cr3t@127.0.0.1:{self.port}/hook-0f3a"

    @property
    def titles(self) -> list[str]:
        return [body["title"] for body in self.bodies]


@contextmanager
def webhook() -> Iterator[Webhook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hook.asked += 1
            hook.answering.wait()
            status = hook.statuses.pop(0) if hook.statuses else 200
            if status == 200:
                hook.bodies.append(body)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook = Webhook(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        hook.answering.set()
        server.shutdown()
        thread.join()
        server.server_close()
