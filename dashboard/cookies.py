"""The cookies of a browser: who it was let in as, and the sign-in that it has begun. Signed with the workspace's key, so that a restarted
server knows them again."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, fields
from http.cookies import CookieError, SimpleCookie
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer

from pipelines.domain.access import Access, Caller
from pipelines.domain.sessions import Session, TokenSession, session_of

MAX_AGE_S = 90 * 86_400
"""A browser shows its token again after so long; a session has its own end."""
BEGUN_AGE_S = 600
"""A sign-in has to be finished within so long."""
_CALLER, _BEGUN = "tidemark.cookie", "tidemark.sign-in"
_OF_TOKEN = {field.name for field in fields(TokenSession)}


def name_of(access: Access) -> str:
    """The cookie's name, another one for each workspace: browsers keep one jar for all ports of a machine."""
    return f"tidemark_{hashlib.sha256(f'cookie {access.key}'.encode()).hexdigest()[:12]}"


def made(access: Access, caller: Caller, *, secure: bool) -> str:
    """The value of `Set-Cookie` for a token's caller; only this server's own pages send it back, and no script reads it."""
    session = TokenSession(secrets.token_urlsafe(16), caller.id, access.now_ms() + MAX_AGE_S * 1_000)
    return _strict(access, asdict(session), MAX_AGE_S, secure)


def of_session(access: Access, session: Session, *, secure: bool) -> str:
    """The value of `Set-Cookie` for who signed in with a provider."""
    return _strict(access, session.as_json(), max(0, session.until_ms - access.now_ms()) // 1_000, secure)


def gone(access: Access, *, secure: bool) -> str:
    """The value of `Set-Cookie` that takes the cookie away. Nothing is signed in it: an empty id would be the owner's."""
    return _as_set(name_of(access), "", "/", 0, "Strict", secure)


def caller_of(access: Access, cookie: str | None) -> Caller | None:
    """The caller whom a cookie's value is of; None for one that is not ours, too old, or of somebody who is let in no longer."""
    session = _session(access, cookie)
    return access.signed_in(session) if session else None


def in_header(access: Access, header: str) -> str | None:
    """The cookie's value in a request's `Cookie` header."""
    return _in_header(header, name_of(access))


def session_in(access: Access, header: str) -> Session | TokenSession | None:
    """The session in a request's `Cookie` header, ended or not."""
    return _session(access, in_header(access, header))


def begun(access: Access, content: Mapping[str, Any], *, secure: bool) -> str:
    """The value of `Set-Cookie` for a sign-in that was begun; an empty one takes it away. It is lax, for the provider's page leads back."""
    value = str(_serializer(access, _BEGUN).dumps(content)) if content else ""
    return _as_set(_begun_name(access), value, "/oidc", BEGUN_AGE_S if content else 0, "Lax", secure)


def begun_by(access: Access, header: str) -> dict[str, Any]:
    """What `begun` kept in the browser that sends this `Cookie` header; empty where that was nothing, or too long ago."""
    content = _read(access, _in_header(header, _begun_name(access)), _BEGUN, BEGUN_AGE_S)
    return content if isinstance(content, dict) else {}


def _session(access: Access, cookie: str | None) -> Session | TokenSession | None:
    content = _read(access, cookie, _CALLER, MAX_AGE_S)
    if not isinstance(content, dict):
        return None
    return TokenSession(**content) if content.keys() == _OF_TOKEN else session_of(content)


def _strict(access: Access, content: Any, age_s: int, secure: bool) -> str:
    return _as_set(name_of(access), str(_serializer(access, _CALLER).dumps(content)), "/", age_s, "Strict", secure)


def _as_set(name: str, value: str, path: str, age_s: int, same_site: str, secure: bool) -> str:
    return f"{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite={same_site}{'; Secure' if secure else ''}"


def _begun_name(access: Access) -> str:
    return f"{name_of(access)}_sign_in"


def _in_header(header: str, name: str) -> str | None:
    try:
        cookie = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return cookie.value if cookie else None


def _read(access: Access, cookie: str | None, salt: str, age_s: int) -> Any:
    """What a cookie's value says; None for one that is not ours or too old."""
    if not cookie:
        return None
    try:
        return _serializer(access, salt).loads(cookie, max_age=age_s)
    except BadData:
        return None


def _serializer(access: Access, salt: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(access.key, salt=salt, signer_kwargs={"digest_method": hashlib.sha256})
