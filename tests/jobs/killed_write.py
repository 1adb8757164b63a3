"""Writes a batch into a database in a process of its own, which SIGKILL ends: `python -m tests.jobs.killed_write URL BATCH STEP`.

Step n is before the n-th statement; after the last one, the process ends by itself.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from tests.jobs.loading import script

COLUMNS, TABLE, SCHEMA = "post TEXT, views BIGINT", "counts", "here"


def rows(batch: int) -> list[tuple[str, int]]:
    return [(f"post-{place}", batch * 10 + place) for place in range(3)]


class Killed:
    """A connection, or a cursor of it, that does not survive its `step`-th statement."""

    def __init__(self, real: Any, steps: list[int]) -> None:
        self._real, self._steps = real, steps

    def _step(self) -> None:
        if not self._steps:
            os.kill(os.getpid(), signal.SIGKILL)
        self._steps.pop()

    def execute(self, *args: Any) -> Any:
        self._step()
        return self._real.execute(*args)

    def executemany(self, *args: Any) -> Any:
        self._step()
        return self._real.executemany(*args)

    def cursor(self) -> Killed:
        return Killed(self._real.cursor(), self._steps)

    def close(self) -> None:
        self._real.close()


def main(url: str, batch: int, step: int) -> None:
    helper = script("exactly_once")
    write, connect, steps = helper["write_batch"], helper["connect"], [0] * step
    write.__globals__["connect"] = lambda url: Killed(connect(url), steps)
    write(url, SCHEMA, TABLE, COLUMNS, "query-a", batch, rows(batch))
    if not steps:
        os.kill(os.getpid(), signal.SIGKILL)  # committed, and nobody was told


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
