"""Who watches work that takes long: told each step and every piece of it, and able to end it by raising."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Both calls may come from several threads; what they raise (a cancel) ends the work, which then removes what it made."""

    def step(self, step: str, total: int = 0) -> None:
        """A step begins, of `total` bytes."""
        ...

    def advance(self, done: int) -> None:
        """`done` more bytes of it."""
        ...


class Unwatched:
    """Nobody watches."""

    def step(self, step: str, total: int = 0) -> None:
        return

    def advance(self, done: int) -> None:
        return


UNWATCHED = Unwatched()
