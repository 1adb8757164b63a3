"""Pools: warm workers of one task, started on demand and ended when nobody has asked for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.domain.errors import Unavailable
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.workers.idle_timer import IdleTimer
from pipelines.workers.task import Task
from pipelines.workers.worker import Worker

IDLE_S = 60.0
"""A worker that nobody has asked for so long is ended."""
PATIENCE_S = 0.2
"""How soon who waits for a turn notices that it was cancelled."""


def _nothing_against(question: Any) -> None:
    return


class Pool:
    """Does the requests of a task, as many at once as it allows. Safe for several threads."""

    def __init__(self, task: Task, idle_s: float = IDLE_S) -> None:
        self.task = task
        self._turns = threading.Semaphore(task.most)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._working: set[Worker] = set()
        self._timer = IdleTimer(idle_s, self._end_idle)
        self._is_closed = False

    def do(self, request: Any, watch: Watch = UNWATCHED, asked: Callable[[Any], None] = _nothing_against) -> Any:
        """The answer of a worker; raises what `Worker.do` raises. `asked` is told the worker's questions."""
        with self._turn(watch), self._worker() as worker:
            return worker.do(request, watch, asked)

    def close(self) -> None:
        """Ends all workers, also in the middle of a request."""
        with self._lock:
            self._is_closed = True
            self._timer.stop()
            for worker in self._working:
                worker.kill()
        self._end_idle()

    @contextmanager
    def _turn(self, watch: Watch) -> Iterator[None]:
        while not self._turns.acquire(timeout=PATIENCE_S):
            watch.advance(0)
        try:
            yield
        finally:
            self._turns.release()

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        worker = self._taken()
        try:
            yield worker
        finally:
            self._put_back(worker)

    def _taken(self) -> Worker:
        with self._lock:
            if self._is_closed:
                raise Unavailable(f"{self.task.code}.closed", "The workspace is closed", "Start the server again.")
            self._timer.stop()
            worker = next((idle for idle in reversed(self._idle) if idle.alive), None) or Worker(self.task)
            if worker in self._idle:
                self._idle.remove(worker)
            self._working.add(worker)
            return worker

    def _put_back(self, worker: Worker) -> None:
        with self._lock:
            self._working.discard(worker)
            if worker.alive and not self._is_closed:
                self._idle.append(worker)
                self._timer.begin()
                return
        worker.end()

    def _end_idle(self) -> None:
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.end()
