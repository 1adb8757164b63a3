"""Carries stops through beside the supervisor: no job waits for the savepoint of another's stop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait

from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import StopWanted
from pipelines.workspace import stops
from pipelines.workspace.context import Context

AT_ONCE = 4
"""So many savepoints are taken side by side where many jobs stop; each is mostly waiting for a disk."""


class Stopper:
    """Takes the savepoints of stops in threads of its own; a job is in one of them at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pool = ThreadPoolExecutor(AT_ONCE, "stop")
        self._under_way: dict[JobName, Future[SavepointId | None]] = {}

    def finish(self, job: JobName, stop: StopWanted, *, with_savepoint: bool) -> None:
        """Carries a stop through: at once without a savepoint, else beside. Raises what the attempt before raised; the next call tries
        anew."""
        if not with_savepoint:
            stops.finish(self._context, job, stop, with_savepoint=False)
            return
        before = self._under_way.get(job)
        if before is None:
            self._under_way[job] = self._pool.submit(stops.finish, self._context, job, stop, with_savepoint=True)
        elif before.done():
            del self._under_way[job]
            before.result()

    def settle(self) -> None:
        """Waits for the savepoints that are under way."""
        wait(self._under_way.values())

    def close(self) -> None:
        """Waits as well; what was not begun is left to the next supervisor."""
        self._pool.shutdown(cancel_futures=True)
