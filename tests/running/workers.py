"""How many workers a whole run has: more than there are cores, as a worker waits for a quarter of its time."""

from __future__ import annotations

import os

COUNT = "PYTEST_XDIST_WORKER_COUNT"
"""xdist's number of workers, in the environment of each."""
EACH_BYTES = 5 << 30
"""Memory that a worker may take: the Spark of the tests, the JVMs that it keeps, a cluster and a few drivers."""


def of_whole_run(cores: int, available_bytes: int) -> int:
    """Three for two cores, where there is memory for them."""
    return max(cores, min(cores * 3 // 2, available_bytes // EACH_BYTES))


def share(cores: int) -> float:
    """The part of a core that a worker has where there are more of them than cores: a second of it counts as much."""
    return min(1.0, cores / int(os.environ.get(COUNT, "1")))
