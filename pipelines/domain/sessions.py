"""Sessions of browsers, as their signed cookies say them, and which of them were ended before their time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Session:
    """Somebody who signed in, as his browser's cookie has it."""

    id: str
    issuer: str
    client: str
    """The client id that he signed in to."""
    subject: str
    """The provider's own id of him, the one thing that never changes."""
    name: str
    value: str
    """Of the claim that names roles, the value that let him in; empty for the default role."""
    until_ms: int

    def as_json(self) -> dict[str, Any]:
        """What the cookie says."""
        return asdict(self)


def session_of(content: Mapping[str, Any]) -> Session | None:
    """The session that a cookie says; None for one that another Tidemark wrote."""
    try:
        return Session(**content)
    except TypeError:
        return None


@dataclass(frozen=True)
class TokenSession:
    """Of a browser that came in with a token."""

    id: str
    token: str
    """The id of the token's caller; empty for the owner's."""
    until_ms: int


class SignOuts(Protocol):
    """Sessions that were ended before their time, as the workspace keeps them."""

    def has(self, session: Session | TokenSession) -> bool: ...

    def add(self, session: Session | TokenSession, now_ms: int) -> None:
        """Keeps it until its time; raises what the storage raises."""


class Ended:
    """Which sessions were ended: by itself for as long as the server runs, and for good, and for every server of the workspace, where
    there are `sign_outs`."""

    def __init__(self, sign_outs: SignOuts | None = None) -> None:
        self.sign_outs = sign_outs
        self._until_ms: dict[str, int] = {}

    def has(self, session: Session | TokenSession) -> bool:
        return session.id in self._until_ms or (self.sign_outs is not None and self.sign_outs.has(session))

    def add(self, session: Session | TokenSession, now_ms: int) -> None:
        """Lets nobody in by this session any more, whoever has its cookie. Raises what keeping that raises; for this server it has ended
        all the same."""
        self._until_ms = {id: until_ms for id, until_ms in self._until_ms.items() if now_ms < until_ms} | {session.id: session.until_ms}
        if self.sign_outs is not None:
            self.sign_outs.add(session, now_ms)
