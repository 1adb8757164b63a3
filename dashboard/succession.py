"""Succession: a standby serves reads of its own index, and the workspace itself from the moment that nobody else has it.

On one host the lock that DuckDB holds on the catalog's file tells at once that a server is gone: the kernel gives it back with the process.
Of a server on another host, and of one that lives and does nothing, the lease of the workspace tells it after its period.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from dashboard import assembly, session
from dashboard.strangers import Strangers
from pipelines.domain.about import ServerRole
from pipelines.domain.audit import Call
from pipelines.domain.errors import Unavailable
from pipelines.domain.workspace_leases import LOCKED
from pipelines.storage.layout import Layout

if TYPE_CHECKING:
    from pipelines.workspace.workspace import Workspace

TRIES_S = 0.25
"""How often it tries whether the workspace is free; a try takes 5 ms of the processor."""
FAREWELL_S = 10.0
"""Pages and calls that began before it took over read the standby's index for so long."""
TAKEN_OVER = "server.took_over"
log = logging.getLogger("tidemark.standby")


@contextmanager
def succeeding(settings: assembly.Settings, api: assembly.Api) -> Iterator[None]:
    """Serves the workspace at once where nobody else has it, and else as a standby until then."""
    with ExitStack() as parts:
        succession = Succession(settings, api, parts)
        succession.begin()
        try:
            yield
        finally:
            succession.end()


@dataclass(frozen=True)
class Reads:
    """A standby's own workspace: `serve` has questions to this server answered from it, `giving_way` gives what makes it follow nothing
    until the block ends, `follows_no_more` lets it grow old."""

    workspace: Workspace
    serve: Callable[[], None]
    giving_way: Callable[[], AbstractContextManager[Callable[[], None]]]
    follows_no_more: Callable[[], None]


class Succession:
    """One server's way from standby to active, in a thread; what it opens is closed with `parts`."""

    def __init__(self, settings: assembly.Settings, api: assembly.Api, parts: ExitStack) -> None:
        from pipelines.workspace.lease import Lease

        self._settings, self._api, self._parts = settings, api, parts
        self._standby = ExitStack()
        self._before = ""
        """Where the server that had the workspace answered."""
        self._lease = Lease(Layout(settings.workspace.resolve()))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="succession", daemon=True)

    def begin(self) -> None:
        """Serves at once where nobody has the workspace, else stands by. Raises what keeps the workspace from being opened."""
        workspace = self._opened()
        if workspace is not None:
            self._parts.enter_context(assembly.active(self._settings, self._api, workspace, assembly.rest_of))
            return
        self._reads = self._standby.enter_context(standing_by(self._settings, self._api))
        self._reads.serve()
        self._thread.start()

    def end(self) -> None:
        """Ends the wait; waits for a takeover that is under way."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _opened(self, once_locked: Callable[[], None] = lambda: None) -> Workspace | None:
        """The workspace, None while another process has it, and renews its lease."""
        from pipelines.workspace.opening import open_workspace

        try:
            return open_workspace(self._settings.workspace, standby=self._lease, once_locked=once_locked)
        except Unavailable as error:
            if error.code != LOCKED:
                raise
        return None

    def _work(self) -> None:
        """Tries until it is the active server or ended; what keeps a try from success is logged once."""
        complaint = ""
        with self._standby:
            heir = Heir(self._reads.workspace)
            while not self._ended.is_set():
                active = session.active()
                self._before = active or self._before
                try:
                    taken = self._take_over(heir, is_gone=not active)
                except Exception as error:
                    if str(error) != complaint:
                        complaint = str(error)
                        log.exception("the workspace could not be taken over; this server stands by")
                    self._reads.serve()
                    taken = None
                if taken is not None:
                    self._settle(taken)
                    return
                self._ended.wait(TRIES_S)

    def _take_over(self, heir: Heir, *, is_gone: bool) -> Workspace | None:
        """Opens the workspace as after any crash, and serves it; None while another process has it. Where the other server `is_gone` the
        standby's index gives way at once: beside a thread that reads on a busy machine the try alone takes seconds."""
        with self._reads.giving_way() as give_way:
            if is_gone:
                give_way()
            workspace = self._opened(give_way)
            if workspace is not None:
                settings = replace(self._settings, example=False)
                self._parts.enter_context(assembly.active(settings, self._api, workspace, heir.serving, takes_over=True))
        return workspace

    def _settle(self, workspace: Workspace) -> None:
        """Ends the standby's index once nobody reads it any more."""
        from pipelines.workspace import events

        self._reads.follows_no_more()
        url = self._settings.url
        message = f"{url} has taken the workspace over{f' from {self._before}' if self._before else ''}"
        events.say(workspace.context, TAKEN_OVER, None, url, message)
        self._ended.wait(FAREWELL_S)


class Heir:
    """REST of the workspace that this server may take over: made before that, which would take a second of it."""

    def __init__(self, workspace: Workspace) -> None:
        """`workspace` is the standby's, until there is the other."""
        from pipelines.api.app import create_api

        self._catalog = workspace.context.catalog
        self._rest = create_api(workspace, generation=self._generation)

    def serving(self, workspace: Workspace) -> ASGIApp:
        """It, over the workspace that was taken over."""
        self._catalog = workspace.context.catalog
        self._rest.state.face, self._rest.state.record = workspace, workspace.record
        return self._rest

    def _generation(self) -> int:
        return self._catalog.generation


@contextmanager
def standing_by(settings: assembly.Settings, api: assembly.Api) -> Iterator[Reads]:
    """An index of its own, kept up to date."""
    from pipelines.api.app import create_api
    from pipelines.client.servers import active_address
    from pipelines.supervisor.follower import FollowerLoop
    from pipelines.verbs.standby import Standby
    from pipelines.workspace.opening import open_standby
    from pipelines.workspace.tokens import access_to, kept

    active = partial(active_address, Layout(settings.workspace))
    with open_standby(settings.workspace, assembly.announcement(settings, api)) as workspace:
        context, face, follower = workspace.context, Standby(workspace, active), FollowerLoop(workspace)
        settings.reach.check_tokens(kept(context), context.now_ms(), signs_in=api.admission is not None)
        rest = create_api(face, workspace.layout, lambda: context.catalog.generation, _refused, ServerRole.STANDBY)

        def serve() -> None:
            api.access, api.strangers, api.app = access_to(context, api.admission), Strangers(_refused), rest
            api.record = _refused
            api.readiness.looks(follower.silence_s, is_standby=True)
            session.open_with(face, api.access, _refused, active)

        def follows_no_more() -> None:
            assembly.end_streams(rest)
            follower.stop()

        follower.start()
        try:
            yield Reads(workspace, serve, follower.giving_way, follows_no_more)
        finally:
            follower.stop()
            if api.app is rest:
                session.open_with(None)
                api.app = api.access = api.readiness.silence = None


def _refused(call: Call) -> None:
    """The audit is the active server's: whom a standby lets in or refuses is in its own log."""
    log.info("%s of %s by %s from %s: %s (%s)", call.verb, call.subject, call.by, call.origin, call.result, call.code)
