"""Who may come in, and what of: roles, named tokens, the caller of a request."""

from __future__ import annotations

import enum
import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pipelines.domain.bounds import Moment
from pipelines.domain.errors import Forbidden, Invalid
from pipelines.domain.events import COMMAND, DRIVER, PAGE, REST, SUPERVISOR
from pipelines.domain.sessions import Ended, Session, SignOuts, TokenSession

USUAL_DAYS = 90
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_TAKEN = frozenset(word.casefold() for word in (PAGE, COMMAND, REST, SUPERVISOR, DRIVER))


class Role(enum.StrEnum):
    """What a caller may do; each role may all that those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    AUTHOR = "author"
    ADMIN = "admin"

    def allows(self, needed: Role) -> bool:
        """Whether who has this role may do what takes `needed`."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True)
class Caller:
    """Who a request is by. `name` is empty for the workspace's owner, who may say in whose name he acts."""

    name: str
    role: Role
    id: str = ""
    """What a cookie names him by: another one for a token of the same name that is made later."""
    identity: str = ""
    """Who it is for the audit, where his name does not say it: subject and issuer of who signed in with a provider."""

    @property
    def entered_as(self) -> str:
        """What let him in, as the audit has it: his token's name, or his identity."""
        return self.identity or self.name

    def permit(self, needed: Role) -> None:
        """Forbidden (`access.role`) where his role does not allow what takes `needed`."""
        if not self.role.allows(needed):
            raise Forbidden(
                "access.role",
                f"{_with_article(self.role)} may not do this; {_with_article(needed)} may",
                "Ask somebody with that role, or an admin for it: in a token (token create), or at the provider.",
            )

    def acting(self, actor: str) -> str:
        """Whom events name where he says that he acts as `actor`: his own name always stands in it."""
        if not self.name:
            return actor
        return self.name if actor.casefold() in _TAKEN else f"{self.name} for {actor}"


OWNER = Caller("", Role.ADMIN)
"""Whoever holds the workspace's key, or opens its files: nothing is kept from him."""
CALLER = "caller"
"""Where a request's ASGI scope says who it is by."""
STILL = "still"
"""Where it has the question (a `Still`) that an answer without an end asks as it goes on."""
Still: TypeAlias = Callable[[], Awaitable[bool]]
"""Answers whether what a request showed lets in its caller still."""


@dataclass(frozen=True)
class Token:
    """A named token as it is kept: its digest, never the token itself."""

    name: str
    role: Role
    digest: str
    created_ms: Moment
    expires_ms: Moment
    by: str
    """Who made it."""

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.role, self.digest[:16])


@dataclass(frozen=True)
class Tokens:
    """All named tokens of a workspace (`tokens.json`)."""

    tokens: tuple[Token, ...] = ()


class SignIns(Protocol):
    """Whom a provider's sign-in lets in (`sign_ins.Admission`)."""

    def caller(self, session: Session, now_ms: int) -> Caller | None:
        """Who this session is of; None once it lets nobody in."""


class Access:
    """Whom a server lets in: who shows the workspace's key, or a named token that is kept and has not expired; with `sign_ins`, who signed
    in with its provider, too."""

    def __init__(
        self,
        key: str,
        tokens: Callable[[], Sequence[Token]] = tuple,
        now_ms: Callable[[], int] = lambda: 0,
        sign_ins: SignIns | None = None,
        sign_outs: SignOuts | None = None,
    ) -> None:
        self.key, self.now_ms, self.ended = key, now_ms, Ended(sign_outs)
        self._kept, self._tokens, self._sign_ins = digest(key), tokens, sign_ins

    def caller(self, secret: str) -> Caller | None:
        """Who shows this token; None for one that lets nobody in."""
        if is_same(secret, self._kept):
            return OWNER
        return next((token.caller for token in self._valid() if is_same(secret, token.digest)), None)

    def signed_in(self, session: Session | TokenSession) -> Caller | None:
        """Who came in with a browser, by the session that its cookie has; None once it lets nobody in."""
        if isinstance(session, TokenSession):
            caller = self.known(session.token)
        else:
            caller = self._sign_ins.caller(session, self.now_ms()) if self._sign_ins else None
        return None if caller is None or self.ended.has(session) else caller

    def known(self, id: str) -> Caller | None:
        """The caller of this id, as long as he is let in; the owner's is empty."""
        return OWNER if not id else next((token.caller for token in self._valid() if token.caller.id == id), None)

    def _valid(self) -> list[Token]:
        now_ms = self.now_ms()
        return [token for token in self._tokens() if now_ms < token.expires_ms]


def digest(secret: str) -> str:
    """What is kept of a secret of 256 random bits: guessing it back takes 2^255 tries, so that a slow hash would add nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_same(secret: str, kept: str) -> bool:
    """Whether `kept` is the digest of `secret`; takes as long whichever character differs."""
    return hmac.compare_digest(digest(secret), kept)


def checked_name(name: str) -> str:
    """A token's name; Invalid (`token.name`) for one that events could take for something else."""
    if not _NAME.fullmatch(name) or name.casefold() in _TAKEN:
        raise Invalid(
            "token.name",
            f"{name!r} is no name of a token",
            f"Give up to 40 letters, digits, dots, dashes and underscores, and none of {', '.join(sorted(_TAKEN))}.",
        )
    return name


def _with_article(role: Role) -> str:
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role}"
