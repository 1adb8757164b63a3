"""Work on many files at once that ends at the first failure."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
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


def each(
    work: Callable[[T], R], items: Iterable[T], threads: int, halt: Halt | None = None, *, alone_s: float = ALONE_S, brief: bool = False
) -> list[R]:
    """`work` of each item in order, up to `threads` at the same time: one of them begins, the others where it is not done after `alone_s`.

    The one is a thread of its own, so that a long item holds none of the others up; of `brief` ones, such as small files, this thread does
    what it can in `alone_s`. After the first failure no other item is begun; it is raised when those under way have ended.
    """
    todo, halt = list(items), halt or Halt()
    numbers = iter(range(len(todo)))  # its next is one step of the interpreter: no two threads get the same
    results: dict[int, R] = {}

    def take_turns(until_s: float = math.inf) -> None:
        for number in numbers:
            results[number] = _guarded(work, todo[number], halt)
            if time.monotonic() >= until_s:
                break

    with _ended_by_failure(halt):
        if brief or len(todo) < 2:
            take_turns(time.monotonic() + alone_s)
            alone_s = 0
        if len(results) < len(todo):
            _together(take_turns, min(threads, len(todo) - len(results)), alone_s)
    return [results[number] for number in range(len(todo))]


def _together(take_turns: Callable[[], None], threads: int, alone_s: float) -> None:
    """Returns when all turns are taken."""
    with ThreadPoolExecutor(threads) as pool:
        turns = [pool.submit(take_turns)]
        if wait(turns, alone_s).not_done:
            turns += [pool.submit(take_turns) for _ in range(threads - 1)]
        for turn in turns:
            turn.result()


@contextmanager
def _ended_by_failure(halt: Halt) -> Iterator[None]:
    """Raises the first failure. An error in this thread, Ctrl-C for one, ends the work as one in the others does."""
    try:
        yield
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
