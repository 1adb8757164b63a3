"""Opens the workspace, its supervisor, REST and the pages' session together, for as long as a server runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard import session
from dashboard.reach import ONLY_HERE, Reach
from dashboard.readiness import Readiness
from dashboard.strangers import Strangers
from pipelines.domain.access import Access
from pipelines.domain.audit import unrecorded
from pipelines.domain.errors import Unavailable
from pipelines.domain.events import COMMAND, SUPERVISOR
from pipelines.verbs.face import do
from pipelines.verbs.system import StartExample

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_WORKSPACE = ROOT / "data" / "workspace"


@dataclass(frozen=True)
class Settings:
    """The settings of a server."""

    workspace: Path
    port: int
    example: bool = False
    reach: Reach = ONLY_HERE
    structured_log: bool = False
    """Whether the server's own log is JSON."""

    @property
    def url(self) -> str:
        """The URL to open in a browser."""
        return self.reach.url(self.port)


class Api:
    """The place of REST in the server's routes (`/api`; `/metrics`, where Prometheus looks): it exists once the workspace is open."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None
        self.access: Access | None = None
        """Whom the server lets in; nobody before."""
        self.reach = ONLY_HERE
        """Who can reach the server."""
        self.strangers = Strangers(unrecorded)
        """Who was not let in."""
        self.readiness = Readiness()

    async def refused(self, code: str, origin: str) -> None:
        """A request that nobody let in; see `Strangers.refused`."""
        await self.strangers.refused(code, origin)

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
    from pipelines.workspace.tokens import access_to, kept

    workspace = open_workspace(settings.workspace)
    try:
        workspace.background = True
        settings.reach.check_tokens(kept(workspace.context), workspace.context.now_ms())
        api.access, api.strangers = access_to(workspace.context), Strangers(workspace.record)
        api.app = create_api(workspace, generation=lambda: workspace.context.catalog.generation, record=workspace.record)
        supervisor = SupervisorLoop(workspace.acting(SUPERVISOR))
        supervisor.start()
        api.readiness.silence = supervisor.silence_s
        try:
            session.open_with(workspace, api.access, workspace.record)
            with announced(settings):
                if settings.example:
                    do(workspace.acting(COMMAND), StartExample())
                yield
        finally:
            session.open_with(None)
            api.readiness.silence = None
            supervisor.stop()
    finally:
        api.app = api.access = None
        api.strangers.end()
        workspace.close()


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Writes the server's address to `server.json` in the workspace, for the command line; removes the file at the end."""
    import psutil

    from pipelines.storage.layout import Layout

    path = Layout(settings.workspace).server_file
    reach = settings.reach
    document = {
        "url": reach.local_url(settings.port),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
        "address": settings.url,
        "certificate": reach.certificate,
        "encryption": reach.encryption,
        "open": reach.is_open,
    }
    _write_whole(path, document)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _write_whole(path: Path, document: dict[str, Any]) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(document) + "\n")
    aside.replace(path)
