"""Has jobs go back beside the passes: no other job waits for the copy of a savepoint."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.workspace import returns
from pipelines.workspace.context import Context

AT_ONCE = 2


class Returner:
    """Has jobs go back in threads of its own; a job is in one of them at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pool = ThreadPoolExecutor(AT_ONCE, "return")
        self._under_way: dict[JobName, Future[None]] = {}

    def begin(self, run: Run) -> None:
        """Has the job go back. Raises what the attempt before raised; the next call tries anew."""
        before = self._under_way.get(run.job)
        if before is None:
            self._under_way[run.job] = self._pool.submit(returns.go_back, self._context, run)
        elif before.done():
            del self._under_way[run.job]
            before.result()

    def settle(self) -> None:
        """Waits for the jobs that are going back."""
        wait(self._under_way.values())

    def close(self) -> None:
        """Waits as well; what was not begun is left to the next supervisor."""
        self._pool.shutdown(cancel_futures=True)
