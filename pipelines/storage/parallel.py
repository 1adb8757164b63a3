"""Work on many files at once that ends at the first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from pipelines.storage.protocol import Advance

T = TypeVar("T")
R = TypeVar("R")
ALONE_S = 0.02
"""In that time one thread reads a hundred small files of a local disk. Eight take longer: they pass the interpreter's lock around."""


class Halted(Exception):
    """Raised in work that still runs after other work failed; never leaves this module's callers."""


class Halt:
    """The first failure of some parallel work, and an end to the rest of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.cause: BaseException | None = None

    def at(self, cause: BaseException) -> None:
        """Remembers `cause` if it is the first."""
        with self._lock:
            if self.cause is None:
                self.cause = cause

    def check(self) -> None:
        """Raises `Halted` once something failed."""
        if self.cause is not None:
            raise Halted

    def watched(self, advance: Advance) -> Advance:
        """`advance` that also raises `Halted` in its caller after other work failed. What `advance` raises counts as such a failure."""

        def advancing(done: int) -> None:
            self.check()
            try:
                advance(done)
            except BaseException as cause:
                self.at(cause)
                raise

        return advancing


def each(work: Callable[[T], R], items: Iterable[T], threads: int, halt: Halt | None = None, *, alone_s: float = ALONE_S) -> list[R]:
    """`work` of each item in order, up to `threads` at the same time: one of them begins, the others where it is not done after `alone_s`.

    After the first failure no other item is begun; it is raised when those under way have ended.
    """
    todo, halt = list(items), halt or Halt()
    numbers = iter(range(len(todo)))  # its next is one step of the interpreter: no two threads get the same
    results: dict[int, R] = {}

    def take_turns() -> None:
        for number in numbers:
            results[number] = _guarded(work, todo[number], halt)

    _together(take_turns, min(threads, len(todo)), halt, alone_s)
    return [results[number] for number in range(len(todo))]


def _together(take_turns: Callable[[], None], threads: int, halt: Halt, alone_s: float) -> None:
    """Returns when all turns are taken. An error in this thread, Ctrl-C for one, ends the work as one in the others does."""
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        try:
            turns = [pool.submit(take_turns)]
            if wait(turns, alone_s).not_done:
                turns += [pool.submit(take_turns) for _ in range(threads - 1)]
            for turn in turns:
                turn.result()
        except BaseException as cause:
            halt.at(cause)
            if halt.cause is None or halt.cause is cause:
                raise
            raise halt.cause from None


def _guarded(work: Callable[[T], R], item: T, halt: Halt) -> R:
    halt.check()
    try:
        return work(item)
    except BaseException as cause:
        halt.at(cause)
        raise
