"""Opens the workspace, its supervisor, REST and the pages' session together, for as long as a server runs."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard import session
from dashboard.oidc.bearer import Bearers
from dashboard.oidc.provider import Provider
from dashboard.oidc.settings import Oidc
from dashboard.reach import ONLY_HERE, Reach
from dashboard.readiness import Readiness
from dashboard.strangers import ENTER, Strangers
from pipelines.api.push.settings import NOWHERE, Chosen
from pipelines.domain.access import Access, Caller
from pipelines.domain.audit import Call, Record, Result, unrecorded
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Unavailable
from pipelines.domain.events import COMMAND, PAGE, SUPERVISOR
from pipelines.domain.sign_ins import Admission
from pipelines.storage.layout import Layout
from pipelines.verbs.face import do
from pipelines.verbs.system import StartExample

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pipelines.workspace.workspace import Workspace

    Rest: TypeAlias = Callable[[Workspace], ASGIApp]
    """Makes REST of a workspace."""

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_WORKSPACE = ROOT / "data" / "workspace"
LAST_WORDS_S = 1.0
"""So long a server waits for its log before it ends: that may be on the disk that hangs."""


@dataclass(frozen=True)
class Settings:
    """The settings of a server."""

    workspace: Path
    port: int
    example: bool = False
    reach: Reach = ONLY_HERE
    structured_log: bool = False
    """Whether the server's own log is JSON."""
    receivers: Chosen = NOWHERE
    """Where metrics are pushed to, while this server has the workspace."""

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
        self.record: Record = unrecorded
        """Writes sign-ins into the audit."""
        self.provider: Provider | None = None
        """What people sign in with, besides tokens."""
        self.admission: Admission | None = None
        """Whom it lets in."""
        self.bearers: Bearers | None = None
        """Whom its tokens let in over REST; None where none of them does."""
        self.readiness = Readiness()

    @property
    def provider_name(self) -> str:
        """What pages call the provider; empty where there is none."""
        return self.provider.name if self.provider else ""

    def signs_in(self, oidc: Oidc | None) -> None:
        """From now on people sign in with this provider; with tokens alone where there is none."""
        self.provider = Provider(oidc) if oidc else None
        self.admission = oidc.admission if oidc else None
        self.bearers = Bearers(self.provider, oidc.audience) if self.provider and oidc and oidc.audience else None

    async def entered(self, caller: Caller, origin: str) -> None:
        """A browser came in with a token."""
        call = Call(ENTER, "", Result.DONE, by=caller.acting(PAGE), token=caller.entered_as, origin=origin)
        await run_in_threadpool(self.record, call)

    async def refused(self, code: str, origin: str) -> None:
        """A request that nobody let in; see `Strangers.refused`."""
        await self.strangers.refused(code, origin)

    def leave(self) -> None:
        """The server is about to end: streams that have no end do."""
        if self.app is not None:
            end_streams(self.app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is None:
            raise Unavailable("server.starting", "The workspace is not open yet.", "Try again in a moment.")
        await self.app(scope, receive, send)


def end_streams(rest: ASGIApp) -> None:
    """Ends the streams of a REST application; whoever listened connects again."""
    rest.state.feed.close()  # type: ignore[attr-defined]


@contextmanager
def assembled(settings: Settings, api: Api) -> Iterator[None]:
    """Opens the workspace and serves it for as long as the server runs."""
    from pipelines.workspace.opening import open_workspace

    with active(settings, api, open_workspace(settings.workspace), rest_of):
        yield


def rest_of(workspace: Workspace) -> ASGIApp:
    """REST of a workspace that this process has; it takes a second to make."""
    from pipelines.api.app import create_api

    catalog = workspace.context.catalog
    return create_api(workspace, generation=lambda: catalog.generation, record=workspace.record, changes=lambda: catalog.changes)


@contextmanager
def active(settings: Settings, api: Api, workspace: Workspace, rest: Rest, *, takes_over: bool = False) -> Iterator[None]:
    """Serves a workspace that this process has, in the order in which each part needs the one before it; closes it, too. It answers before
    the supervisor's first pass, which takes the processor that somebody who `takes_over` has too little of."""
    from pipelines.api.push.pushing import pushing
    from pipelines.api.server import workspace_id
    from pipelines.supervisor.loop import SupervisorLoop
    from pipelines.workspace.pushes import note
    from pipelines.workspace.tokens import access_to, kept

    try:
        workspace.background = True
        settings.reach.check_tokens(kept(workspace.context), workspace.context.now_ms(), signs_in=api.admission is not None)
        api.access, api.strangers = access_to(workspace.context, api.admission), Strangers(workspace.record)
        api.record = workspace.record
        check, lease = workspace.context.files.check, workspace.context.lease
        if lease is not None:
            lease.ends_with(_end)
        supervisor = SupervisorLoop(workspace.acting(SUPERVISOR), check=check, takes_over=takes_over)
        try:
            api.app = rest(workspace)
            api.readiness.looks(supervisor.silence_s, check)
            session.open_with(workspace, api.access, workspace.record)
            supervisor.start()
            acting = workspace.acting(SUPERVISOR)
            with pushing(settings.receivers, acting, workspace_id(acting.layout), partial(note, acting.context)), announced(settings, api):
                if settings.example:
                    do(workspace.acting(COMMAND), StartExample())
                yield
        finally:
            session.open_with(None)
            api.readiness.silence = None
            supervisor.stop()
    finally:
        api.app = api.access = None
        api.record = unrecorded
        api.strangers.end()
        workspace.close()


def _end(why: str) -> None:
    """Ends this process at once, so that it writes nothing more: what it was just doing, too, where another server has the workspace, or is
    about to. Drivers go on."""
    from pipelines.workspace.lease import say_beside

    say_beside(logging.CRITICAL, f"{why}; this server ends, drivers go on").join(LAST_WORDS_S)
    os._exit(STATUS_AND_EXIT_CODES["unavailable"][1])


@contextmanager
def announced(settings: Settings, api: Api) -> Iterator[None]:
    """Writes the server's address to `server.json` in the workspace, for the command line; removes the file at the end."""
    path = Layout(settings.workspace).server_file
    _write_whole(path, announcement(settings, api))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def announcement(settings: Settings, api: Api) -> dict[str, Any]:
    """What a server says of itself: where it answers, its process, and the host of both."""
    import psutil

    from pipelines.storage import hosts

    reach = settings.reach
    return {
        "url": reach.local_url(settings.port),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
        "address": settings.url,
        "certificate": reach.certificate,
        "encryption": reach.encryption,
        "open": reach.is_open,
        "provider": api.provider_name,
        "host": asdict(hosts.here()),
    }


def _write_whole(path: Path, document: dict[str, Any]) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(document) + "\n")
    aside.replace(path)
