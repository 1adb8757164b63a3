"""Whether the server does its work (`/readyz`): what a container's health check, Kubernetes or a load balancer asks, without a token.

A standby does its work when its index is up to date; `/readyz?active` asks for the server that takes changes. `/_stcore/health` says less:
that the process answers.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from pipelines.domain.errors import Unavailable

PATH = "/readyz"
SILENT_S = 60.0
"""A supervisor whose pass takes longer looks after no other job meanwhile."""
STARTING = "the workspace is not open yet"
UNATTENDED, UNREAD = "the supervisor has looked after no job", "the standby has read no file"
ONLY_READS = "a standby takes no changes"

Check = Callable[[], object]
Silence = Callable[[], float]
"""Seconds since the supervisor's last whole pass."""


class Readiness:
    """`silence` is None while no workspace is open; of a standby it is that of its index."""

    def __init__(self) -> None:
        self.silence: Silence | None = None
        self.check: Check = lambda: None
        self.is_standby = False

    def looks(self, silence: Silence, check: Check = lambda: None, *, is_standby: bool = False) -> None:
        """From now on it is as ready as what answers `silence`, and what raises in `check` while nothing may be changed."""
        self.silence, self.check, self.is_standby = silence, check, is_standby

    async def answer(self, request: Request) -> PlainTextResponse:
        """The route's endpoint: 200, or 503 with the reason."""
        why = self.why_not(active="active" in request.query_params)
        ready = "ready: standby" if self.is_standby else "ready"
        return PlainTextResponse(why or ready, 503 if why else 200, {"Cache-Control": "no-store"})

    def why_not(self, *, active: bool = False) -> str:
        """Empty where the server is ready; with `active`, for changes too."""
        if self.silence is None:
            return STARTING
        try:
            self.check()
        except Unavailable as error:
            return error.message
        silent = self.silence()
        if silent > SILENT_S:
            return f"{UNREAD if self.is_standby else UNATTENDED} for {silent:.0f} s"
        return ONLY_READS if active and self.is_standby else ""
