"""Whether the server does its work (`/readyz`): what a container's health check, Kubernetes or a load balancer asks, without a token.

`/_stcore/health` says less: that the process answers.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse

PATH = "/readyz"
SILENT_S = 60.0
"""A supervisor whose pass takes longer looks after no other job meanwhile."""
STARTING = "the workspace is not open yet"

Silence = Callable[[], float]
"""Seconds since the supervisor's last whole pass."""


class Readiness:
    """`silence` is None while no workspace is open."""

    def __init__(self) -> None:
        self.silence: Silence | None = None

    async def answer(self, _request: Request) -> PlainTextResponse:
        """The route's endpoint: 200, or 503 with the reason."""
        why = self.why_not()
        return PlainTextResponse(why or "ready", 503 if why else 200, {"Cache-Control": "no-store"})

    def why_not(self) -> str:
        """Empty where the server is ready."""
        if self.silence is None:
            return STARTING
        silent = self.silence()
        return f"the supervisor has looked after no job for {silent:.0f} s" if silent > SILENT_S else ""
