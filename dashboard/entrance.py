"""The middleware that lets nobody in without a token: no page, REST call, file, metric or websocket. The scope notes who asks.

A program shows its token as `Authorization: Bearer`: a named one, or one that the provider issued where that is set up. A browser comes
with `?token=` in a page's address, once: it is exchanged for a cookie that no script reads and no other site's page sends, and leaves the
address at once. Who signs in with a provider gets one, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard import cookies, readiness
from dashboard.oidc import places
from dashboard.oidc.bearer import Bearers
from dashboard.sign_in import KEPT_NOWHERE, Link, page
from pipelines.api import problems
from pipelines.domain.access import CALLER, STILL, Access, Caller
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Forbidden, TidemarkError, Unauthenticated, Unavailable

OPEN = frozenset({"/_stcore/health", readiness.PATH})
"""Whether the server is up, and does its work: what a supervisor of processes asks without a token, and which says no more than that."""
SIGNING_IN = frozenset({("GET", places.BEGIN), ("GET", places.BACK), ("POST", places.OUT)})
"""How people come in and go, where there is a provider; and how who came in with a token goes."""
FOR_PROGRAMS = ("/api", "/flink", "/metrics", "/_stcore", "/media", "/download", "/assets", "/static", "/component")
"""Addresses below these are no pages: no token is read from them, and who has none gets no page to type it in."""
_TOKEN = "token"


class Entrance:
    """Lets in whom `access` knows; `access` answers None while no workspace is open."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Callable[[], Access | None],
        entered: Callable[[Caller, str], Awaitable[None]],
        refused: Callable[[str, str], Awaitable[None]],
        provider: Callable[[], str] = str,
        bearers: Callable[[], Bearers | None] = lambda: None,
    ) -> None:
        """`entered` is told of each browser that exchanges a token for a cookie: who, and its address; `refused` of each request that
        nothing lets in: the error's code, and the client's address. `provider` answers what people sign in with; empty where that is
        tokens alone. `bearers` is whom tokens of that provider let in."""
        self._app = app
        self._access = access
        self._entered, self._refused = entered, refused
        self._provider, self._bearers = provider, bearers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN:
            return await self._app(scope, receive, send)
        if scope["type"] == "http" and (scope["method"], scope["path"]) in SIGNING_IN:
            return await self._app(scope, receive, send)
        access = self._access()
        if access is None:
            return await self._refuse(
                Unavailable("server.starting", "The workspace is not open yet.", "Try again in a moment."), scope, receive, send
            )
        try:
            exchanged, caller = _exchanged(access, scope), await self._caller(access, scope)
        except TidemarkError as error:
            if isinstance(error, Unauthenticated | Forbidden):
                await self._refused(error.code, _origin(scope))
            return await self._refuse(error, scope, receive, send)
        if exchanged is not None:
            entering, answer = exchanged
            await self._entered(entering, _origin(scope))
            return await answer(scope, receive, send)
        if caller is None:
            nobody = NOBODY if _bearer(Headers(scope=scope)) is None else WRONG
            await self._refused(nobody.code, _origin(scope))
            return await self._refuse(nobody, scope, receive, send)
        return await self._app({**scope, CALLER: caller, STILL: partial(self._is_still, scope, caller)}, receive, send)

    async def _caller(self, access: Access, scope: Scope) -> Caller | None:
        """Who shows a token or a cookie that lets in."""
        return shown_by(access, Headers(scope=scope)) or await self._of_provider(access, scope)

    async def _is_still(self, scope: Scope, caller: Caller) -> bool:
        """Whether the request would be let in now as the same caller, in the same role. Where that cannot be told it is not: whoever
        asks again is told why."""
        access = self._access()
        try:
            return access is not None and await self._caller(access, scope) == caller
        except TidemarkError:
            return False

    async def _of_provider(self, access: Access, scope: Scope) -> Caller | None:
        """Who shows a token that the provider issued, to what is for programs. Raises what `Bearers.caller` raises."""
        bearers, token = self._bearers(), _bearer(Headers(scope=scope))
        if bearers is None or not token or scope["type"] != "http" or not scope["path"].startswith(FOR_PROGRAMS):
            return None
        return await bearers.caller(token, access.now_ms())

    async def _refuse(self, error: TidemarkError, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": error.message})
            return
        await _answer(error, scope, self._provider())(scope, receive, send)


_HINT = "In a shell of its owner, python -m pipelines address prints the address with one; a call shows it as Authorization: Bearer."
NOBODY = Unauthenticated("access.token", "This server lets nobody in without a token.", _HINT)
WRONG = Unauthenticated("access.token", "The token that was shown lets nobody in: it is unknown, has expired or was revoked.", _HINT)


def shown_by(access: Access, headers: Mapping[str, str]) -> Caller | None:
    """Who sends these headers (names in lower case): by the token that they show, else by the cookie. Raises what the reading of the
    named tokens raises."""
    token = _bearer(headers)
    if token is not None:
        return access.caller(token)
    return cookies.caller_of(access, cookies.in_header(access, headers.get("cookie", "")))


def _bearer(headers: Mapping[str, str]) -> str | None:
    """The token that a program shows; None where it shows none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _exchanged(access: Access, scope: Scope) -> tuple[Caller, Response] | None:
    """Who comes with a page's address with a right token in it, and the answer: the cookie, and the same address without it."""
    if not _is_page(scope):
        return None
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    caller = next((access.caller(value) for name, value in pairs if name == _TOKEN), None)
    if caller is None:
        return None
    rest = urlencode([(name, value) for name, value in pairs if name != _TOKEN])
    path = scope["path"].lstrip("/\\")  # after two slashes comes another site
    place = f"/{quote(path)}{f'?{rest}' if rest else ''}"
    cookie = cookies.made(access, caller, secure=scope["scheme"] == "https")
    return caller, RedirectResponse(place, 303, {**KEPT_NOWHERE, "Set-Cookie": cookie})


def _origin(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _is_page(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] == "GET" and not scope["path"].startswith(FOR_PROGRAMS)


def _answer(error: TidemarkError, scope: Scope, provider: str) -> Response:
    status = STATUS_AND_EXIT_CODES[error.group][0]
    headers = {**KEPT_NOWHERE, **({"WWW-Authenticate": 'Bearer realm="Tidemark"'} if status == 401 else {})}
    if status == 401 and _is_page(scope):
        came_from_elsewhere = Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")
        was_wrong = f"{_TOKEN}=" in scope["query_string"].decode("latin-1")
        signs_in = Link(places.begin(places.place_of(scope)), f"Sign in with {provider}") if provider else None
        return HTMLResponse(page(again=came_from_elsewhere, wrong=was_wrong, provider=signs_in), status, headers)
    return problems.answer(error, scope["path"], headers=headers)
