"""The outermost middleware: only requests to this server's own names, changes only from its own pages, none of them in a frame.

Without it a page anywhere on the web could reach a server on the loopback address: by a name that it points there (DNS
rebinding), or by posting to `localhost` from the reader's browser.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.reach import Reach, is_loopback
from pipelines.api import problems
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.texts import shown_in_line

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


FRAMED_BY_NOBODY = ((b"content-security-policy", b"frame-ancestors 'none'"), (b"x-frame-options", b"DENY"))
"""In another site's frame somebody would click what is under a picture of something else."""


class Guard:
    """Refuses a foreign Host (421), what comes past the proxy that encrypts (403), and on a websocket or on anything but a read what
    another site's page sends (403)."""

    def __init__(self, app: ASGIApp, *, reach: Callable[[], Reach]) -> None:
        self._app = app
        self._reach = reach

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refusal = refused(scope, self._reach())
        if refusal is not None:
            return await _refuse(refusal, scope, receive, _unframed(send))
        if scope["type"] == "http" and _leads_nowhere(scope["path"]):
            nowhere = NotFound(
                "request.no_such_path", f"there is no {scope['method']} {shown_in_line(scope['path'])}", "/api/docs lists all calls."
            )
            return await problems.answer(nowhere, scope["path"])(scope, receive, _unframed(send))
        return await self._app(scope, receive, _unframed(send))


def refused(scope: Scope, reach: Reach) -> tuple[int, str, str] | None:
    """HTTP status, error code and message of why this request is not let in, or None."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "").lower()
    if _hostname(host) not in reach.hosts:
        return 421, "server.foreign_host", f"This server does not answer to the name {_hostname(host) or '(none)'}."
    if reach.proxy and _is_plain(scope):
        return 403, "server.not_encrypted", "This server is reached through its proxy, encrypted."
    changes = scope["type"] == "websocket" or scope["method"] not in _READS
    if changes and _is_foreign(headers, host):
        return 403, "server.foreign_origin", "This request came from another site's page."
    return None


def _leads_nowhere(path: str) -> bool:
    """Whether no call can have this path: Streamlit and Starlette refuse it in their own words, where programs read problems."""
    is_call = path.startswith(("/api/", "/flink/"))
    return is_call and (any(character < " " for character in path) or ".." in re.split(r"[/\\]", path))


def _is_plain(scope: Scope) -> bool:
    """Whether this came unencrypted, and not from this machine."""
    client = (scope.get("client") or ("",))[0]
    return scope.get("scheme") not in ("https", "wss") and not is_loopback(client)


def _is_foreign(headers: Mapping[str, str], host: str) -> bool:
    """Whether another site's page sends this: a browser says its origin, and of what has none whether it comes from another site."""
    origin = headers.get("origin")
    if origin is not None and urllib.parse.urlsplit(origin).netloc.lower() != host:
        return True
    return headers.get("sec-fetch-site", "").lower() in ("cross-site", "same-site")


def _unframed(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *FRAMED_BY_NOBODY]}
        await send(message)

    return sent


def _hostname(host: str) -> str:
    try:
        return urllib.parse.urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def _refuse(refusal: tuple[int, str, str], scope: Scope, receive: Receive, send: Send) -> None:
    status, code, message = refusal
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    error = Invalid(code, message, "Open the address that the server printed when it started.")
    await problems.answer(error, scope["path"], status)(scope, receive, send)
