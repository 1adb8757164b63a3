"""Sessions of browsers that were ended before their time: whoever has a copy of such a cookie is let in no longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Session(Protocol):
    """What a browser's signed cookie says: whom it lets in, and until when."""

    @property
    def id(self) -> str: ...

    @property
    def until_ms(self) -> int: ...


@dataclass(frozen=True)
class TokenSession:
    """Of a browser that came in with a token."""

    id: str
    token: str
    """The id of the token's caller; empty for the owner's."""
    until_ms: int


class SignOuts(Protocol):
    """Sessions that were ended before their time, as the workspace keeps them."""

    def has(self, session: Session) -> bool: ...

    def add(self, session: Session, now_ms: int) -> None:
        """Keeps it until its time; raises what the storage raises."""


class Ended:
    """Which sessions were ended: by itself for as long as the server runs, and for good, and for every server of the workspace, where
    there are `sign_outs`."""

    def __init__(self, sign_outs: SignOuts | None = None) -> None:
        self.sign_outs = sign_outs
        self._until_ms: dict[str, int] = {}

    def has(self, session: Session) -> bool:
        return session.id in self._until_ms or (self.sign_outs is not None and self.sign_outs.has(session))

    def add(self, session: Session, now_ms: int) -> None:
        """Lets nobody in by this session any more, whoever has its cookie. Raises what keeping that raises; for this server it has ended
        all the same."""
        self._until_ms = {id: until_ms for id, until_ms in self._until_ms.items() if now_ms < until_ms} | {session.id: session.until_ms}
        if self.sign_outs is not None:
            self.sign_outs.add(session, now_ms)
