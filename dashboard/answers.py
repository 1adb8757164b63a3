"""Answers of the workspace that several browsers share: each asked for once in its time, by whoever comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

T = TypeVar("T")
MOST = 200


@dataclass
class _Slot:
    """One question: who asks it holds the lock, the others wait for the answer."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    at_ms: float = float("-inf")
    answer: Any = None
    asking: Future[Any] | None = None
    """An answer that is being found beside the pages."""


class Answers:
    """The newest answer to each of the last `MOST` questions. Safe for many threads."""

    def __init__(self) -> None:
        self._slots: dict[Hashable, _Slot] = {}
        self._turn = threading.Lock()

    def given(self, question: Hashable, ask: Callable[[], T], now_ms: float, age_ms: float) -> T:
        """The answer of the last `age_ms`, else what `ask` returns now. An error goes to the caller alone and is not kept."""
        slot = self._slot(question)
        with slot.turn:
            if now_ms - slot.at_ms > age_ms:
                slot.answer, slot.at_ms = ask(), now_ms
            return cast(T, slot.answer)

    def soon(self, question: Hashable, ask: Callable[[], T], now_ms: float, age_ms: float, wait_s: float) -> T | None:
        """As `given`, for slow answers: a call that starts `ask` waits at most `wait_s`, all others not at all. Returns the former answer
        until the new one is there, None where there is none. Raises an error of `ask` in the first call after it."""
        slot = self._slot(question)
        with slot.turn:
            first = slot.asking is None and now_ms - slot.at_ms > age_ms
            if first:
                slot.asking, slot.at_ms = beside(ask), now_ms
            asking = slot.asking
            if asking is not None and first and slot.answer is None:
                wait((asking,), wait_s)
            if asking is not None and asking.done():
                slot.asking = None
                if asking.exception() is not None:
                    slot.at_ms = float("-inf")
                slot.answer = asking.result()
            return cast("T | None", slot.answer)

    def _slot(self, question: Hashable) -> _Slot:
        with self._turn:
            slot = self._slots.pop(question, None) or _Slot()
            self._slots[question] = slot
            while len(self._slots) > MOST:
                del self._slots[next(iter(self._slots))]
            return slot


def beside(ask: Callable[[], T]) -> Future[T]:
    """Runs `ask` in a daemon thread, which does not delay the end of the server; returns its future."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001  whoever looks at the answer gets it
            answer.set_exception(error)

    threading.Thread(target=work, name="tidemark-asking", daemon=True).start()
    return answer
