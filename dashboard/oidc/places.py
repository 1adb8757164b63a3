"""Addresses of a sign-in, and the one that it leads back to: a page of this server, and nothing else."""

from __future__ import annotations

from urllib.parse import quote

from starlette.types import Scope

BEGIN, BACK, OUT = "/oidc/sign-in", "/oidc/callback", "/sign-out"
TO = "to"
LONGEST = 1_500
"""It goes along in a cookie, of which a browser keeps 4096 bytes."""


def own_place(place: str) -> str:
    """`place`, where it is an address on this server as a browser reads it; else the first page."""
    is_plain = place.isascii() and place.isprintable() and " " not in place and "\\" not in place and len(place) <= LONGEST
    return place if is_plain and place.startswith("/") and not place.startswith("//") else "/"


def begin(to: str) -> str:
    """The address that begins a sign-in, which leads to `to` in the end."""
    return f"{BEGIN}?{TO}={quote(to, safe='')}"


def place_of(scope: Scope) -> str:
    """The address of a request, without the server."""
    query = scope["query_string"].decode("latin-1")
    return own_place(f"{quote(scope['path'])}{f'?{query}' if query else ''}")
