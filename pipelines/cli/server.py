"""Whether a server of a workspace runs, and where. A stale `server.json` is never believed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.client.wire import has_certificate
from pipelines.domain.bounds import Pid, Took
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.storage import documents
from pipelines.storage.errors import typed_errors
from pipelines.storage.layout import Layout

PING_SECONDS = 5.0
START_TOLERANCE_SECONDS = 2.0
"""A start time is the boot time plus ticks: it moves a little when the clock is set."""


@dataclass(frozen=True)
class Announcement:
    """`server.json`: where a server of the workspace answers, and its process."""

    url: str
    pid: Pid
    started: Took


def running_server(layout: Layout) -> str | None:
    """URL of the server that serves this workspace: its process lives and it answers for this very path. None if there is none."""
    announced = _announcement(layout.server_file)
    if announced is None or not _lives(announced.pid, announced.started):
        return None
    url = announced.url.rstrip("/")
    return url if _serves(url, layout.root) else None


def _announcement(path: Path) -> Announcement | None:
    """None where there is none; Unavailable where it is another user's."""
    try:
        with typed_errors(str(path)):
            return documents.decode(Announcement, path.read_bytes(), path.name)
    except (NotFound, Corrupt):
        return None


def _lives(pid: int, started: float) -> bool:
    import psutil

    try:
        created: float = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return False
    return abs(created - started) <= START_TOLERANCE_SECONDS


def _serves(url: str, workspace: Path) -> bool:
    import httpx

    try:
        answer = httpx.get(f"{url}/api/v1/ping", timeout=PING_SECONDS, trust_env=False, verify=has_certificate(url))
        body = answer.json()
    except (httpx.HTTPError, ValueError):
        return False
    return answer.is_success and body.get("name") == "tidemark" and body.get("workspace") in ("", str(workspace))
