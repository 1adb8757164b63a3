"""Work on many files at once that ends at the first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from pipelines.storage.protocol import Advance

T = TypeVar("T")
R = TypeVar("R")


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


def each(work: Callable[[T], R], items: Iterable[T], threads: int, halt: Halt | None = None) -> list[R]:
    """`work` of each item in order, up to `threads` at the same time.

    After the first failure no other item is begun; it is raised when those under way have ended.
    """
    halt = halt or Halt()
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(_guarded, work, item, halt) for item in items]
        return _results(futures, halt)


def _guarded(work: Callable[[T], R], item: T, halt: Halt) -> R:
    halt.check()
    try:
        return work(item)
    except BaseException as cause:
        halt.at(cause)
        raise


def _results(futures: list[Future[R]], halt: Halt) -> list[R]:
    try:
        return [future.result() for future in futures]
    except BaseException as cause:
        halt.at(cause)
        for future in futures:
            future.cancel()
        if halt.cause is None or halt.cause is cause:
            raise
        raise halt.cause from None
