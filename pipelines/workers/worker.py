"""A worker: one process that does the requests of a task one after the other, and is ended where it takes more than it may."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pipelines
from pipelines.domain.errors import Refusal, TidemarkError, Unavailable, refusal
from pipelines.domain.watch import Watch
from pipelines.workers.task import ADVANCE, ANSWER, ASK, STEP, Task

ROOT = Path(pipelines.__file__).resolve().parent.parent
POLL_S = 0.1
"""How soon it is noticed that nobody wants the answer any more."""
PIECE_BYTES = 1024 * 1024
LAST_WORDS = 500


class Worker:
    """One process. Whatever a request raises but a refusal of the work itself has ended it: `alive` says so."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._begun = bytearray()
        self._whole: deque[bytes] = deque()
        self._process = subprocess.Popen(
            [sys.executable, "-m", task.module, str(task.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kills the process, also while another thread waits for its answer, which then ends it."""
        self._process.kill()

    def end(self) -> None:
        """Kills the process; returns when it is gone, and nothing of it is left."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._log.close()

    def do(self, request: Any, watch: Watch, asked: Callable[[Any], None]) -> Any:
        """The answer to `request`; `asked` is told what the work asks on its way, and refuses it by raising.

        Raises what the work raised, Unavailable (`<code>.timeout`, `<code>.memory`, `<code>.ended`) where it took too much, and what
        `watch` and `asked` raise.
        """
        try:
            self._write(request)
            for kind, value in self._lines(watch):
                if kind == STEP:
                    watch.step(*value)
                elif kind == ADVANCE:
                    watch.advance(value)
                elif kind == ASK:
                    self._write(_outcome(asked, value))
                elif kind == ANSWER:
                    return value
                else:
                    raise self._refused(Refusal(**value))
        except BaseException as error:
            if not isinstance(error, Refused):
                self.end()
                raise
            raise error.error from None
        raise AssertionError("lines end with an answer, or raise")

    def _write(self, value: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(value).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _lines(self, watch: Watch) -> Iterator[tuple[str, Any]]:
        """What the process writes, until the time is over; nobody who has cancelled waits for the next line."""
        deadline = None if self._task.seconds is None else time.monotonic() + self._task.seconds
        while True:
            while self._whole:
                kind, value = json.loads(self._whole.popleft())
                yield kind, value
            if deadline is not None and time.monotonic() > deadline:
                raise self._refusal("timeout", f"took more than {self._task.seconds:g} s and was ended")
            self._read()
            watch.advance(0)

    def _read(self) -> None:
        """Some more of what the process writes, if it writes within a moment."""
        stdout = self._process.stdout
        assert stdout is not None
        ready = select.poll()
        ready.register(stdout, select.POLLIN)
        if not ready.poll(POLL_S * 1000):
            return
        piece = os.read(stdout.fileno(), PIECE_BYTES)
        if not piece:
            raise self._ended()
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._whole.append(bytes(self._begun) + end)
            self._begun.clear()
        self._begun += rest
        if len(self._begun) > self._task.answer_bytes:
            raise self._refusal("too_large", f"has an answer of more than {self._task.answer_bytes:,} bytes")

    def _refused(self, refused: Refusal) -> BaseException:
        """What to raise for a refusal of the work; where it ran out of memory the process is not used again."""
        return self._out_of_memory() if refused.code == "memory" else Refused(refused.error)

    def _out_of_memory(self) -> Unavailable:
        return self._refusal("memory", f"took more than {self._task.memory_bytes:,} bytes of memory and was ended")

    def _ended(self) -> Unavailable:
        """The process has ended by itself: mostly a library of it has got no more memory."""
        code = self._process.wait()
        self._log.seek(0)
        words = self._log.read()[-LAST_WORDS:].decode(errors="replace").strip()
        if "bad_alloc" in words or "MemoryError" in words or "Cannot allocate memory" in words:
            return self._out_of_memory()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return self._refusal("ended", f"has ended its process ({how}): {words or 'without a word'}")

    def _refusal(self, code: str, what: str) -> Unavailable:
        return Unavailable(f"{self._task.code}.{code}", f"{self._task.title} {what}", self._task.hint)


class Refused(Exception):
    """Carries the error of the work itself, after which the process is as good as before."""

    def __init__(self, error: TidemarkError) -> None:
        super().__init__(error.message)
        self.error = error


def _outcome(asked: Callable[[Any], None], value: Any) -> dict[str, str] | None:
    """None, or the refusal as JSON."""
    try:
        asked(value)
    except TidemarkError as error:
        return asdict(refusal(error))
    return None
