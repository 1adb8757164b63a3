"""The routes of a sign-in: to the provider, back from it, and out again.

1. `begin` keeps state, nonce, code verifier and the address that one came to in a short-lived cookie, and leads to the provider. 2. `back`
checks what comes back against that cookie, and exchanges the code for an ID token. 3. The session's cookie is set by a page that then leads
on by itself: a strict cookie goes along where a page of our own leads, and not where another site does.
"""

from __future__ import annotations

import secrets
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from dashboard import cookies
from dashboard.oidc import places
from dashboard.oidc.places import BACK, BEGIN, OUT, TO, own_place
from dashboard.oidc.provider import Provider
from dashboard.sign_in import KEPT_NOWHERE, Link, outcome
from dashboard.strangers import ENTER
from pipelines.domain.access import Access
from pipelines.domain.audit import Call, Record, Result
from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError, Unauthenticated, Unavailable
from pipelines.domain.events import PAGE
from pipelines.domain.sessions import Session, TokenSession
from pipelines.domain.sign_ins import Admission, NoRole

LEAVE = "leave"
"""A sign-out, as the audit calls it."""


class Server(Protocol):
    """What a sign-in needs of the server; nothing of it is there before the workspace is open, and no provider where none was named."""

    access: Access | None
    record: Record
    provider: Provider | None
    admission: Admission | None

    async def refused(self, code: str, origin: str) -> None:
        """Counts a request that nobody let in."""


class Flow:
    """The three routes of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def routes(self) -> list[Route]:
        return [
            Route(BEGIN, self.begin, methods=["GET"]),
            Route(BACK, self.back, methods=["GET"]),
            Route(OUT, self.out, methods=["POST"]),
        ]

    async def begin(self, request: Request) -> Response:
        """Leads to the provider; what is kept of that is valid for ten minutes, in this browser."""
        provider, access = self._server.provider, self._server.access
        if provider is None or access is None:
            return _nothing_here(access)
        to = own_place(request.query_params.get(TO, ""))
        started = _with(request, {TO: to})
        try:
            answer = await provider.begin(started, _back(request))
        except Unavailable as error:
            return _failed(error, provider, to)
        answer.headers["set-cookie"] = cookies.begun(access, started.session, secure=_is_secure(request))
        answer.headers.update(KEPT_NOWHERE)
        return answer

    async def back(self, request: Request) -> Response:
        """Lets in who comes back from the provider, and leads to where he came to first."""
        provider, access, admission = self._server.provider, self._server.access, self._server.admission
        if provider is None or access is None or admission is None:
            return _nothing_here(access)
        kept = cookies.begun_by(access, request.headers.get("cookie", ""))
        to = own_place(str(kept.get(TO, "")))
        try:
            claims = await provider.claims(_with(request, kept))
            session = admission.session(claims, secrets.token_urlsafe(16), access.now_ms())
        except TidemarkError as error:
            await self._note_refusal(error, request)
            answer = _failed(error, provider, to)
        else:
            await self._note(ENTER, session.issuer, session.name, admission.identity(session.subject), request)
            answer = _led_on(to, session.name)
            answer.headers.append("set-cookie", cookies.of_session(access, session, secure=_is_secure(request)))
        answer.headers.append("set-cookie", cookies.begun(access, {}, secure=_is_secure(request)))
        return answer

    async def out(self, request: Request) -> Response:
        """Ends the session of this browser, at the server as well, and takes its cookie away, whichever way it came in."""
        provider, access = self._server.provider, self._server.access
        if access is None:
            return _nothing_here(access)
        session = cookies.session_in(access, request.headers.get("cookie", ""))
        issuer, kept = session.issuer if isinstance(session, Session) else "", ""
        if session is not None and (caller := access.signed_in(session)):
            kept = await _ended(access, session)
            await self._note(LEAVE, issuer, caller.acting(PAGE), caller.entered_as, request)
        links = [Link("/", "Sign in again"), *(await _farewell(provider) if issuer and provider else [])]
        answer = HTMLResponse(outcome("You are signed out", "This browser is let in no longer.", kept, links), headers=KEPT_NOWHERE)
        answer.headers.append("set-cookie", cookies.gone(access, secure=_is_secure(request)))
        return answer

    async def _note(self, verb: str, issuer: str, name: str, entered_as: str, request: Request) -> None:
        await self._write(Call(verb, issuer, Result.DONE, by=name, token=entered_as, origin=_origin(request)))

    async def _note_refusal(self, error: TidemarkError, request: Request) -> None:
        """Who is known has a line of his own; strangers are counted."""
        if isinstance(error, NoRole):
            refused = Call(ENTER, "", Result.REFUSED, error.code, by=error.name, token=error.identity, origin=_origin(request))
            return await self._write(refused)
        if isinstance(error, Unauthenticated):
            await self._server.refused(error.code, _origin(request))
        return None

    async def _write(self, call: Call) -> None:
        await run_in_threadpool(self._server.record, call)


async def _ended(access: Access, session: Session | TokenSession) -> str:
    """Ends the session; answers with why a copy of its cookie would count again after a restart, empty where it does not."""
    try:
        await run_in_threadpool(access.ended.add, session, access.now_ms())
    except TidemarkError as error:
        return f"A copy of its cookie counts again once the server was restarted, for this could not be kept: {error.message}"
    return ""


async def _farewell(provider: Provider) -> list[Link]:
    """The way to sign out of the provider, too; none where it says none, or is away."""
    try:
        place = await provider.farewell()
    except Unavailable:
        return []
    return [Link(place, f"Sign out of {provider.name}, too")] if place else []


def _led_on(to: str, name: str) -> Response:
    links = [Link(to, "Go on")]
    return HTMLResponse(outcome("You are signed in", f"As {name}.", "", links, leads_on=to), headers=KEPT_NOWHERE)


def _failed(error: TidemarkError, provider: Provider, to: str) -> Response:
    status = STATUS_AND_EXIT_CODES[error.group][0]
    links = [Link(places.begin(to), f"Sign in with {provider.name}"), Link(to, "Use a token")]
    return HTMLResponse(outcome("You are not signed in", error.message, error.hint, links, is_wrong=True), status, KEPT_NOWHERE)


def _nothing_here(access: Access | None) -> Response:
    if access is None:
        return PlainTextResponse("The workspace is not open yet. Try again in a moment.", 503, KEPT_NOWHERE)
    return PlainTextResponse("Nobody signs in to this server with a provider.", 404, KEPT_NOWHERE)


def _with(request: Request, session: dict[str, Any]) -> Request:
    """The request with a session of the sign-in's own, not Streamlit's: where Authlib keeps what it has to know again."""
    return Request({**request.scope, "session": session})


def _back(request: Request) -> str:
    """Where the provider leads back to: under the name by which the browser came, which the guard has looked at."""
    return f"{request.url.scheme}://{request.url.netloc}{BACK}"


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _origin(request: Request) -> str:
    return request.client.host if request.client else ""
