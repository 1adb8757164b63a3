"""The threads that a script starts: they may start queries, too, and Python ends a script no earlier than them."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from pipelines.driver.intercept import Asked, Launch, Start

POLL_S = 0.1
WORKER = ("concurrent.futures.thread", "_worker")
"""Where an idle thread of a `ThreadPoolExecutor` is: it waits for work within C."""
ASKING = ("py4j.clientserver", "send_command")
"""Where a thread is that waits for Spark's answer."""
AT_WORK = 0.02
"""Of the clock's time, on a machine that others keep busy."""


class ScriptThreads:
    """Those that have begun since this was made, and the first one, which every script has."""

    def __init__(self) -> None:
        self._before = frozenset(threading.enumerate()) - {threading.main_thread()}

    def __contains__(self, thread: threading.Thread | None) -> bool:
        return thread not in self._before

    def wait(self, enough: threading.Event) -> None:
        """Called on the first: returns once Python would end, as no other is at work that is no daemon; or when `enough` is set."""
        while not enough.is_set() and any(map(self._keeps_python, threading.enumerate())):
            enough.wait(POLL_S)

    def _keeps_python(self, thread: threading.Thread) -> bool:
        """A worker of a pool that has nothing to do lives until Python ends, and does not keep it from that."""
        if thread.daemon or thread not in self or thread is threading.main_thread():
            return False
        frame = sys._current_frames().get(thread.ident or 0)
        return frame is None or _place(frame) != WORKER


class Idleness:
    """For how long a script has done nothing: what it computes, and what it asks Spark, may take long on a busy machine."""

    def __init__(self) -> None:
        self._looked_s, self._worked_s = time.monotonic(), time.process_time()
        self._since_s = self._looked_s

    def seconds(self) -> float:
        """Up to now; it is told apart between two calls, which should be a second or so."""
        looked_s, worked_s = time.monotonic(), time.process_time()
        busy = worked_s - self._worked_s > AT_WORK * (looked_s - self._looked_s) or any(map(_asks_spark, sys._current_frames().values()))
        self._looked_s, self._worked_s = looked_s, worked_s
        if busy:
            self._since_s = looked_s
        return looked_s - self._since_s


def in_turn(start: Start, lock: threading.RLock) -> Start:
    """`start` for one query after the other, whichever threads they come from: names go by the order of starts."""

    def started(writer: Any, request: Asked, launch: Launch) -> Any:
        with lock:
            return start(writer, request, launch)

    return started


def _asks_spark(frame: FrameType | None) -> bool:
    while frame is not None:
        if _place(frame) == ASKING:
            return True
        frame = frame.f_back
    return False


def _place(frame: FrameType) -> tuple[str, str]:
    """The module and the function."""
    return frame.f_globals.get("__name__", ""), frame.f_code.co_name
