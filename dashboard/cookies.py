"""The cookie of a browser that was let in: who it is of, signed with the workspace's key, so that a restarted server knows it again."""

from __future__ import annotations

import hashlib
from http.cookies import CookieError, SimpleCookie

from itsdangerous import BadData, URLSafeTimedSerializer

from pipelines.domain.access import Access, Caller

MAX_AGE_S = 90 * 86_400
"""A browser shows its token again after so long."""


def name_of(access: Access) -> str:
    """The cookie's name, another one for each workspace: browsers keep one jar for all ports of a machine."""
    return f"tidemark_{hashlib.sha256(f'cookie {access.key}'.encode()).hexdigest()[:12]}"


def made(access: Access, caller: Caller, *, secure: bool) -> str:
    """The value of `Set-Cookie` for a caller; only this server's own pages send it back, and no script reads it."""
    value = _serializer(access).dumps(caller.id)
    return f"{name_of(access)}={value}; Path=/; Max-Age={MAX_AGE_S}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"


def caller_of(access: Access, cookie: str | None) -> Caller | None:
    """The caller whom a cookie's value is of; None for one that is not ours, too old, or of somebody who is let in no longer."""
    if not cookie:
        return None
    try:
        caller_id = _serializer(access).loads(cookie, max_age=MAX_AGE_S)
    except BadData:
        return None
    return access.known(caller_id) if isinstance(caller_id, str) else None


def in_header(access: Access, header: str) -> str | None:
    """The cookie's value in a request's `Cookie` header."""
    try:
        cookie = SimpleCookie(header).get(name_of(access))
    except CookieError:
        return None
    return cookie.value if cookie else None


def _serializer(access: Access) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(access.key, salt="tidemark.cookie", signer_kwargs={"digest_method": hashlib.sha256})
