"""Opens the workspace, its supervisor, REST and the pages' session together, for as long as a server runs."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard import session
from dashboard.guard import LOOPBACK
from pipelines.domain.errors import Unavailable, Unsupported
from pipelines.domain.events import COMMAND, PAGE, SUPERVISOR
from pipelines.verbs.face import do
from pipelines.verbs.system import StartExample

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_WORKSPACE = ROOT / "data" / "workspace"


@dataclass(frozen=True)
class Settings:
    """The settings of a server."""

    workspace: Path
    url: str
    example: bool = False


class Api:
    """The place of REST in the server's routes (`/api`; `/metrics`, where Prometheus looks): it exists once the workspace is open."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is None:
            raise Unavailable("server.starting", "The workspace is not open yet.", "Try again in a moment.")
        await self.app(scope, receive, send)


@contextmanager
def assembled(settings: Settings, api: Api) -> Iterator[None]:
    """Opens everything, in the order in which each part needs the one before it; closes in reverse."""
    from pipelines.api.app import create_api
    from pipelines.supervisor.loop import SupervisorLoop
    from pipelines.workspace.opening import open_workspace

    workspace = open_workspace(settings.workspace)
    try:
        workspace.background = True
        api.app = create_api(workspace, generation=lambda: workspace.context.catalog.generation)
        supervisor = SupervisorLoop(workspace.acting(SUPERVISOR))
        supervisor.start()
        try:
            session.open_with(workspace.acting(PAGE))
            with announced(settings):
                if settings.example:
                    do(workspace.acting(COMMAND), StartExample())
                yield
        finally:
            session.open_with(None)
            supervisor.stop()
    finally:
        api.app = None
        workspace.close()


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Writes the server's address to `server.json` in the workspace, for the command line; removes the file at the end."""
    import psutil

    from pipelines.storage.layout import Layout

    path = Layout(settings.workspace).server_file
    document = {"url": settings.url, "pid": os.getpid(), "started": psutil.Process().create_time()}
    _write_whole(path, document)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _write_whole(path: Path, document: dict[str, Any]) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(document) + "\n")
    aside.replace(path)


def refuse_open_host(host: str) -> None:
    """Unsupported unless `host` is this machine alone: there is no access control, and whoever reaches the server runs code on it."""
    if is_loopback(host):
        return
    raise Unsupported(
        "server.no_access_control",
        f"Tidemark would be open to everybody who can reach {host or 'this machine'}: it has no access control, and its users run code.",
        "Serve on 127.0.0.1 and reach it from elsewhere through an SSH tunnel: ssh -L 8501:127.0.0.1:8501 <this machine>",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
