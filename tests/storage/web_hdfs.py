"""A gate before the WebHDFS of a real HDFS, whose DataNode gives up closing files that are created by it, or appended to, as one on a busy
machine does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

MESSAGE = "Unable to close file because the last block BP-1:blk_2_3 does not have enough number of replicas."
REFUSAL = json.dumps({"RemoteException": {"exception": "IOException", "javaClassName": "java.io.IOException", "message": MESSAGE}})


class Gate:
    """Each of the first `refusals` of an `operation` (CREATE, APPEND) leaves half of its bytes, and is refused; later ones go on to `web`,
    the NameNode's `http://host:port`."""

    def __init__(self, web: str, refusals: int, operation: str = "CREATE") -> None:
        self.refusals, self.sent = refusals, 0
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                length = int(self.headers["content-length"] or 0)
                if f"op={operation}" not in self.path:
                    self.answer(307, location=web + self.path)
                elif not length:
                    self.answer(307, location=f"http://{self.headers['host']}{self.path}")
                else:
                    gate.sent += 1
                    refused = gate.sent <= gate.refusals
                    data = self.rfile.read(length)
                    part = data[: length // 2] if refused else data
                    requests.request(self.command, web + self.path, data=part, timeout=30).raise_for_status()
                    self.answer(403 if refused else 201, REFUSAL if refused else "")

            def do_GET(self) -> None:
                self.answer(307, location=web + self.path)

            do_DELETE = do_GET
            do_POST = do_PUT

            def answer(self, status: int, body: str = "", location: str = "") -> None:
                self.send_response(status)
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *given: Any) -> None:
                """Nothing: tests look at what was created."""

        self.handler = Handler


@contextmanager
def serving(gate: Gate) -> Iterator[str]:
    """The gate's `http://host:port`, as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), gate.handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
