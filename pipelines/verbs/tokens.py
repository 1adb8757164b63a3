"""Named tokens: who else is let in, in which role, until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import USUAL_DAYS, Role, Token
from pipelines.domain.errors import AlreadyExists, NotFound, Unavailable
from pipelines.domain.moments import DAY_MS
from pipelines.verbs.listing import Listed
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Change, Http, Question, argument, duration, named, option

NAME = "Name of a token."
LONGEST_MS = 3_650 * DAY_MS


@dataclass(frozen=True)
class TokenPlan:
    """What will be kept of a new token."""

    name: str
    role: Role
    expires_ms: int


@dataclass(frozen=True)
class NewToken:
    """A new token. `secret` is shown this once, and kept nowhere."""

    name: str
    role: Role
    expires_ms: int
    secret: str


@dataclass(frozen=True)
class ShownToken:
    """A named token as it is listed."""

    name: str
    role: Role
    created_ms: int
    expires_ms: int
    by: str


def shown(token: Token) -> ShownToken:
    """The token without its digest."""
    return ShownToken(token.name, token.role, token.created_ms, token.expires_ms, token.by)


@dataclass(frozen=True)
class CreateToken(Change[NewToken, TokenPlan]):
    """Create a named token. It is shown once: only its digest is kept. Events name whoever shows it by this name."""

    name: str = argument(NAME)
    for_role: Role = option("What whoever shows it may do.", flag="--role")
    expires_in_ms: int | None = duration(f"For how long it lets in: 12h, 30d; {USUAL_DAYS} days if not given.", "--expires")

    call, topic = "create_token", "system"
    role = Role.ADMIN
    http = Http("POST", "/tokens", 201)
    command, shell = "token create", "Prints the token."
    refuses = (AlreadyExists, Unavailable)
    makes_workspace = True
    shown_once = True


@dataclass(frozen=True)
class ListTokens(Listed, Question[Sequence[ShownToken]]):
    """List the named tokens, with their roles and when they expire."""

    for_role: Role | None = option("Only those of this role.", None, flag="--role", filters=Filter("role"))

    call, topic = "tokens", "system"
    role = Role.ADMIN
    http = Http("GET", "/tokens")
    command = "tokens"
    rows = Rows.of("name", "name", "role", "created_ms", "expires_ms")
    refuses = (Unavailable,)


@dataclass(frozen=True)
class RevokeToken(Change[None, ShownToken]):
    """Revoke a named token. Whoever shows it, and every browser that came with it, is let in no longer."""

    token: str = named(NAME)

    call, topic = "revoke_token", "system"
    role = Role.ADMIN
    http = Http("DELETE", "/tokens/{token}", 204)
    command = "token revoke"
    refuses = (NotFound, Unavailable)
