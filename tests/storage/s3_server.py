"""A real S3 server for tests: moto's, in a process of its own that ends with the one that started it.

As a program it prints its URL and serves until its input closes: `python -m tests.storage.s3_server`. A line `away` on its input makes
it hang up on whoever asks, `back` makes it answer again, with all that it stored.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

BUCKET = "tidemark"
CONDITIONS = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"}
_CLIENTS: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class S3Address:
    """Where a server runs that has the bucket `BUCKET`, and does not mind who asks."""

    endpoint: str

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes every S3 client of a process talk to it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "nothing-secret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Until the test is over, S3 clients that are made talk to this server."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        forget_clients(monkeypatch)


@dataclass(frozen=True)
class S3Server(S3Address):
    """A server that was started here."""

    process: subprocess.Popen[str]

    def say(self, word: str) -> None:
        """`away` or `back`; it has come into effect when this returns."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == word

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that are made from here on ask once."""
    from pipelines.storage.s3.client import PATIENCE

    monkeypatch.setitem(PATIENCE, "retries", {"mode": "standard", "total_max_attempts": 1})
    forget_clients(monkeypatch)


def forget_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec keeps its clients, with the environment they were made in: those of this test are its own where that differs."""
    from pipelines.storage.s3.client import Client

    told = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(("AWS_", "FSSPEC_"))))
    monkeypatch.setattr(Client, "_cache", _CLIENTS.setdefault(told, {}))


@contextmanager
def serving(environment: Mapping[str, str] | None = None) -> Iterator[S3Server]:
    """A server of one's own, with more in its environment; it answers when the block begins, and is gone after it."""
    command = [sys.executable, "-m", "tests.storage.s3_server"]
    told = os.environ | (environment or {})
    with subprocess.Popen(command, cwd=ROOT, env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = S3Server(process.stdout.readline().strip(), process)
        try:
            assert server.endpoint.startswith("http://127.0.0.1:"), f"the S3 server ended: {process.poll()}"
            yield server
        finally:
            server.end()


def serve() -> None:
    """Makes the bucket, listens, says where, and serves until the input closes."""
    import logging
    import threading

    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.moto_server.werkzeug_app import create_backend_app
    from moto.s3.models import s3_backends
    from werkzeug.serving import WSGIRequestHandler, make_server

    away = threading.Event()
    one_by_one = threading.Lock()
    """moto looks whether a condition holds, and then writes: in between another may have written."""

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_expect_100(self) -> bool:
            return True  # `run_wsgi` answers 100 itself, and Hadoop's client takes a second one for the end

        def run_wsgi(self) -> None:
            if away.is_set():
                self.close_connection = True
            else:
                super().run_wsgi()

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(BUCKET, "us-east-1")
    moto = create_backend_app("s3")  # one that asks for which of all services a request is takes twice the time for it

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        if CONDITIONS.isdisjoint(environ) or environ["REQUEST_METHOD"] != "PUT":
            return moto(environ, start_response)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with one_by_one:
            return moto(environ, start_response)

    server = make_server("127.0.0.1", 0, application, True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    for word in map(str.strip, sys.stdin):
        away.set() if word == "away" else away.clear()
        print(word, flush=True)
    server.shutdown()


if __name__ == "__main__":
    serve()
