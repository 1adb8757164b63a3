"""Answers of the workspace that several browsers share: each asked for once in its time, by whoever comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
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


class Answers:
    """The newest answer to each of the last `MOST` questions. Safe for many threads."""

    def __init__(self) -> None:
        self._slots: dict[Hashable, _Slot] = {}
        self._turn = threading.Lock()

    def given(self, question: Hashable, ask: Callable[[], T], now_ms: float, age_ms: float) -> T:
        """The answer from the last `age_ms`, else what `ask` says now; an error is nobody's answer but the asker's."""
        slot = self._slot(question)
        with slot.turn:
            if now_ms - slot.at_ms > age_ms:
                slot.answer, slot.at_ms = ask(), now_ms
            return cast(T, slot.answer)

    def _slot(self, question: Hashable) -> _Slot:
        with self._turn:
            slot = self._slots.pop(question, None) or _Slot()
            self._slots[question] = slot
            while len(self._slots) > MOST:
                del self._slots[next(iter(self._slots))]
            return slot
