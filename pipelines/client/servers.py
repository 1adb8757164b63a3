"""The running server of a workspace: where it answers, and a token to show it. A stale `server.json` is never believed.

One of another host is reached where others are meant to reach it: its address on loopback is somebody else's here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from pipelines.client.remote import TOKEN_VARIABLE, RemoteFace
from pipelines.client.wire import bearer, verification
from pipelines.domain.bounds import Pid, Took
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, from_json
from pipelines.domain.hosts import Host, Place
from pipelines.storage import documents, hosts, keys
from pipelines.storage.errors import typed_errors
from pipelines.storage.layout import Layout

DEFAULT_WORKSPACE = Path(__file__).resolve().parents[2] / "data" / "workspace"
WORKSPACE_VARIABLE = "TIDEMARK_WORKSPACE"
PING_SECONDS = 5.0
START_TOLERANCE_SECONDS = 2.0
"""A start time is the boot time plus ticks: it moves a little when the clock is set."""


@dataclass(frozen=True)
class Announcement:
    """`server.json`: where a server of the workspace answers, and its process."""

    url: str
    pid: Pid
    started: Took
    address: str = ""
    """What people open, where that is another URL."""
    certificate: str = ""
    """The file of its own certificate: the one that this machine believes."""
    open: bool = False
    """Whether others than its own host are meant to reach it."""
    host: Host | None = None
    """Where it runs."""

    @property
    def public(self) -> str:
        """Where people reach it."""
        return (self.address or self.url).rstrip("/")


@dataclass(frozen=True)
class Running:
    """A server that answers: its URL, and a token to show it (`TIDEMARK_TOKEN`, else the key of the workspace)."""

    url: str
    token: str
    certificate: str = ""
    """The file of the certificate that it must show; empty where those of the machine vouch for it, or none is needed."""
    public: str = ""
    """What people open, where that is another URL."""

    @property
    def address(self) -> str:
        """What to open in a browser: the server exchanges the token in it for a cookie."""
        return entry(self.public or self.url, self.token)


def entry(url: str, token: str) -> str:
    """The address of the server at `url` with the token in it."""
    return f"{url}/?{urlencode({'token': token})}"


def connect(workspace: Path | str | None = None) -> RemoteFace:
    """The running server of a workspace (that of `TIDEMARK_WORKSPACE`, or `data/workspace`); Unavailable where none runs."""
    root = Path(workspace or os.environ.get(WORKSPACE_VARIABLE) or DEFAULT_WORKSPACE).expanduser().resolve()
    running = running_server(Layout(root))
    if running is None:
        raise not_running(root)
    return RemoteFace(running.url, running.token, certificate=running.certificate)


def not_running(workspace: Path) -> Unavailable:
    """The error of a workspace that no server serves."""
    return Unavailable("server.not_running", f"no server of {workspace} runs", "Start one: python3 -m dashboard")


def running_server(layout: Layout) -> Running | None:
    """The server that serves this workspace: its process lives, as far as this host can tell, and it answers for this very path. None if
    there is none, or none that this host reaches. Raises Unauthenticated where the token that is shown lets nobody in."""
    announced = _reached(_announcement(layout.server_file))
    if announced is None:
        return None
    token = os.environ.get(TOKEN_VARIABLE) or keys.read_key(layout.key_file)
    running = Running(announced.url.rstrip("/"), token, announced.certificate, announced.address.rstrip("/"))
    return running if _serves(running, layout.root) else None


def active_address(layout: Layout) -> str:
    """What to open to reach the server that has this workspace, or, where that has no address for others, on which host it is; empty where
    none has said it, or its process is gone. Whether one of another host still lives cannot be told here."""
    announced = _announcement(layout.server_file)
    if announced is None:
        return ""
    if hosts.place(announced.host) is Place.ELSEWHERE:
        return announced.public if announced.open else f"the server on {announced.host.name if announced.host else 'another host'}"
    return announced.public if _lives(announced) else ""


def _reached(announced: Announcement | None) -> Announcement | None:
    """As this host reaches it; None for one that is gone, and for one of another host that nobody else is meant to reach: what answers at
    its address here would be shown the workspace's key."""
    if announced is None:
        return None
    if hosts.place(announced.host) is not Place.ELSEWHERE:
        return announced if _lives(announced) else None
    if not announced.open:
        return None
    certificate = announced.certificate if os.access(announced.certificate, os.R_OK) else ""
    return replace(announced, url=announced.public, certificate=certificate)


def _announcement(path: Path) -> Announcement | None:
    """None where there is none; Unavailable where it is another user's."""
    try:
        with typed_errors(str(path)):
            return documents.decode(Announcement, path.read_bytes(), path.name)
    except (NotFound, Corrupt):
        return None


def _lives(announced: Announcement) -> bool:
    """Of this host, or of this host before it was booted anew."""
    import psutil

    if hosts.place(announced.host) is not Place.HERE:
        return False
    try:
        created: float = psutil.Process(announced.pid).create_time()
    except psutil.NoSuchProcess:
        return False
    return abs(created - announced.started) <= START_TOLERANCE_SECONDS


def _serves(running: Running, workspace: Path) -> bool:
    """Whether it answers for this very path. Raises Unauthenticated where it does not let the token in: it is the workspace's all the same,
    for its process lives."""
    import httpx

    try:
        answer = httpx.get(
            f"{running.url}/api/v1/ping",
            headers=bearer(running.token),
            timeout=PING_SECONDS,
            trust_env=False,
            verify=verification(running.url, running.certificate),
        )
        body = answer.json()
    except (httpx.HTTPError, ValueError):
        return False
    if answer.status_code == 401 and isinstance(body.get("error"), dict):
        raise from_json(body)
    return answer.is_success and body.get("name") == "tidemark" and body.get("workspace") in ("", str(workspace))
