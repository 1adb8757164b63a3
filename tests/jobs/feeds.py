"""The feed over HTTP of the collection, served by a thread of this process; `trouble` says what goes wrong with each answer."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import ThreadingHTTPServer
from typing import Any

from tests.jobs.loading import script

START = "2026-01-01T00:00:00+00:00"
Trouble = Callable[[], str]


@contextmanager
def serving(files: int, trouble: Trouble | None = None, *, share: float = 0.0, keep: int = 0) -> Iterator[tuple[str, Any]]:
    """The feed's URL and the feed: `files` portions of twenty seconds, all there at once; what `trouble` names, or a seeded `share`."""
    module = script("http_feed")
    args = argparse.Namespace(seed=7, interval=20.0, files=files, rows=40, keep=keep, trouble=share, fast=True)
    feed = module["Feed"](args, datetime.fromisoformat(START))
    if trouble is not None:
        feed.trouble = trouble
    handler = type("Handler", (module["Handler"],), {"feed": feed})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/views", feed
        finally:
            server.shutdown()
            thread.join()
