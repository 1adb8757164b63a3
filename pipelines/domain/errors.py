"""Errors, grouped by what a caller can do about them.

Every error carries a stable `code` (for programs), a message (for people) and a `hint` (the next step). `STATUS_AND_EXIT_CODES` is the one
table that gives each group its HTTP status and its exit code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class TidemarkError(Exception):
    """The base of everything Tidemark raises on purpose."""

    group = "internal"

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, Any]:
        """The body that REST answers and `--json` prints."""
        return {"error": {"group": self.group, "code": self.code, "message": self.message, "hint": self.hint}}


class Invalid(TidemarkError):
    """The request itself is wrong; change it."""

    group = "invalid"


class NotFound(TidemarkError):
    """What was named does not exist."""

    group = "not_found"


class AlreadyExists(TidemarkError):
    """The name is taken; choose another."""

    group = "already_exists"


class Conflict(TidemarkError):
    """It cannot be done in the present state; wait, or change the state first."""

    group = "conflict"


class Incompatible(TidemarkError):
    """The two things do not fit together (code and state, two versions)."""

    group = "incompatible"


class Corrupt(TidemarkError):
    """A file is damaged or missing; restore it or use another savepoint."""

    group = "corrupt"


class Unsupported(TidemarkError):
    """Tidemark (this version of it) does not do this, or the format is newer than it reads."""

    group = "unsupported"


class Unauthenticated(TidemarkError):
    """Nobody knows who asks; show a token."""

    group = "unauthenticated"


class Forbidden(TidemarkError):
    """The role of who asks does not allow it; somebody whose role does can do it."""

    group = "forbidden"


class Unavailable(TidemarkError):
    """Something outside is away or full; try again when it is back."""

    group = "unavailable"


class Different(TidemarkError):
    """A command that compares for CI found a difference, and ends with this code; no call answers it."""

    group = "different"


@dataclass(frozen=True)
class Refusal:
    """The parts of an error, as a plan or an outcome carries it."""

    group: str
    code: str
    message: str
    hint: str

    @property
    def error(self) -> TidemarkError:
        return GROUPS.get(self.group, TidemarkError)(self.code, self.message, self.hint)


def refusal(error: TidemarkError) -> Refusal:
    return Refusal(error.group, error.code, error.message, error.hint)


GROUPS: dict[str, type[TidemarkError]] = {
    kind.group: kind
    for kind in (
        *(Invalid, NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable),
        *(Unauthenticated, Forbidden, Different),
    )
}

STATUS_AND_EXIT_CODES: dict[str, tuple[int, int]] = {
    "invalid": (422, 2),
    "not_found": (404, 3),
    "already_exists": (409, 4),
    "conflict": (409, 5),
    "incompatible": (409, 6),
    "corrupt": (500, 7),
    "unsupported": (501, 8),
    "unavailable": (503, 9),
    "unauthenticated": (401, 10),
    "forbidden": (403, 11),
    "different": (409, 12),
    "internal": (500, 1),
}
"""Error group -> (HTTP status, exit code)."""


def meaning(group: str) -> str:
    """What a group of errors means: its error's docstring."""
    if group == TidemarkError.group:
        return "Something failed that was begun, or that nobody expected."
    return (GROUPS[group].__doc__ or "").strip()


def from_json(body: dict[str, Any]) -> TidemarkError:
    """The error that `as_json` described, in its own class."""
    error = body["error"]
    return GROUPS.get(error["group"], TidemarkError)(error["code"], error["message"], error.get("hint", ""))
