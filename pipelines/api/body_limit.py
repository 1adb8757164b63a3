"""The size of a request's body: refused as soon as it is known, before it is in memory."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16 * 1024 * 1024
"""More than the longest script takes, however it is escaped."""
TOO_LARGE = HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes")


class LimitBody:
    """Answers 413 where a body says that it is too large, or proves to be (a pure ASGI middleware inside of who answers failures)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated, seen = Headers(scope=scope).get("content-length", ""), 0

        async def counted() -> Message:
            nonlocal seen
            if stated.isdecimal() and int(stated[:20]) > MOST_BYTES:
                raise TOO_LARGE
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MOST_BYTES:
                raise TOO_LARGE
            return message

        await self.app(scope, counted, send)
