"""Long work of jobs beside the supervisor's passes: no job waits for another's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pipelines.domain.ids import JobName


class Beside:
    """Does work in threads of its own, `at_once` pieces at a time; of a job one at a time."""

    def __init__(self, name: str, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(at_once, name)
        self._under_way: dict[JobName, Future[object]] = {}

    def begin(self, job: JobName, work: Callable[[], object]) -> None:
        """Begins the work. Raises what the attempt before raised; the next call tries anew."""
        before = self._under_way.get(job)
        if before is None:
            self._under_way[job] = self._pool.submit(work)
        elif before.done():
            del self._under_way[job]
            before.result()

    def settle(self) -> None:
        """Waits for what is under way."""
        wait(self._under_way.values())

    def close(self) -> None:
        """Waits as well; what was not begun is left to the next supervisor."""
        self._pool.shutdown(cancel_futures=True)
