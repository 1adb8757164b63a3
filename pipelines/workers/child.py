"""The side of a worker: reads requests as JSON lines, does them one after the other, ends with who started it."""

from __future__ import annotations

import json
import os
import queue
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from pipelines.domain.errors import Refusal, TidemarkError, Unavailable
from pipelines.workers.task import ADVANCE, ANSWER, ASK, REFUSAL, STEP

TOLD_EVERY_S = 0.05
"""How far the work is, is told no more often."""


class Caller:
    """Who asked: is told how far the work is, and answers what only they know. Safe for several threads."""

    def __init__(self, lines: queue.SimpleQueue[bytes], out: BinaryIO) -> None:
        self._lines, self._out = lines, out
        self._turn = threading.Lock()
        self._done = 0
        self._told = 0.0

    def step(self, step: str, total: int = 0) -> None:
        self._flush()
        self.write(STEP, [step, total])

    def advance(self, done: int) -> None:
        with self._turn:
            self._done += done
            is_due = time.monotonic() - self._told > TOLD_EVERY_S
        if is_due:
            self._flush()

    def ask(self, question: Any) -> None:
        """Waits until who asked has nothing against it; raises what they refuse it with."""
        self.write(ASK, question)
        refusal = json.loads(self._lines.get())
        if refusal is not None:
            raise Refusal(**refusal).error

    def end(self, kind: str, value: Any) -> None:
        """The last line of a request."""
        self._flush()
        self.write(kind, value)

    def write(self, kind: str, value: Any) -> None:
        line = json.dumps([kind, value]).encode() + b"\n"
        with self._turn:
            self._out.write(line)
            self._out.flush()

    def _flush(self) -> None:
        with self._turn:
            done, self._done, self._told = self._done, 0, time.monotonic()
        if done:
            self.write(ADVANCE, done)


def serve(do: Callable[[Any, Caller], Any]) -> None:
    """Does requests until nobody asks any more. The process may take as many bytes of memory as its first argument says."""
    _limit(resource.RLIMIT_DATA, int(sys.argv[1]))
    _limit(resource.RLIMIT_CORE, 0)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no line of ours
        threading.Thread(target=_read, args=(lines,), daemon=True).start()
        caller = Caller(lines, out)
        while True:
            _serve_one(do, json.loads(lines.get()), caller)


def _limit(kind: int, most: int) -> None:
    """Sets a limit of this process; a lower one that it was started with stays."""
    _, hard = resource.getrlimit(kind)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (least, least))


def _serve_one(do: Callable[[Any, Caller], Any], request: Any, caller: Caller) -> None:
    """One request; a process that has run out of memory once is not used again."""
    try:
        answer = do(request, caller)
    except MemoryError:
        caller.end(REFUSAL, {"group": Unavailable.group, "code": "memory", "message": "", "hint": ""})
        os._exit(1)
    except TidemarkError as error:
        caller.end(REFUSAL, error.as_json()["error"])
    except Exception as error:  # noqa: BLE001  who asked raises it again
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        caller.end(REFUSAL, {"group": "internal", "code": "internal", "message": message, "hint": "Look at the server's log."})
    else:
        caller.end(ANSWER, answer)


def _read(lines: queue.SimpleQueue[bytes]) -> None:
    """Reads as long as the one who started this process lives; its end ends this process in the middle of whatever it does."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)
