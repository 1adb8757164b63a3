"""Sign-ins that were ended before their time: a file for each in `sign-outs/`, until its time has passed.

A file for each, and not one document, because two servers of a workspace write them, the active one and its standby: it is the one thing
that a standby writes, for whoever signs out there is out everywhere.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.bounds import Moment
from pipelines.domain.sessions import Session, TokenSession
from pipelines.storage.errors import typed_errors
from pipelines.storage.layout import SIGN_OUTS
from pipelines.workspace.context import Context

MOST = 10_000
"""More are kept of no workspace; beyond it those go that would have ended first."""


@dataclass(frozen=True)
class SignOut:
    """One file: until when its session's cookie would let in. Its name has that, too, and the digest of the session's id."""

    until_ms: Moment


class KeptSignOuts:
    """Those of a workspace, as the files say at each request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = context.layout.root / SIGN_OUTS

    def has(self, session: Session | TokenSession) -> bool:
        return self._file(session).is_file()

    def add(self, session: Session | TokenSession, now_ms: int) -> None:
        with typed_errors(str(self._folder)):
            self._prune(now_ms)
            self._context.files.write(self._file(session), SignOut(session.until_ms))

    def _file(self, session: Session | TokenSession) -> Path:
        return self._folder / f"{session.until_ms}-{hashlib.sha256(session.id.encode()).hexdigest()[:32]}.json"

    def _prune(self, now_ms: int) -> None:
        """Removes those whose time has passed, and the first of too many. Both servers may do that at once."""
        there = sorted((path for path in self._folder.glob("*-*.json")), key=_until_ms) if self._folder.is_dir() else []
        passed = [path for path in there if _until_ms(path) <= now_ms]
        for path in (*passed, *there[len(passed) : len(there) - MOST + 1]):
            with suppress(FileNotFoundError):
                path.unlink()


def _until_ms(path: Path) -> int:
    until = path.name.partition("-")[0]
    return int(until) if until.isdecimal() else 0
