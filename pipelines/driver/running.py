"""The streaming queries that have started in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.ids import QueryName
from pipelines.driver import failures
from pipelines.driver.failures import Failure


@dataclass(frozen=True)
class Running:
    """A query that was started in this process; it may have ended."""

    name: QueryName
    query: Any
    """PySpark's `StreamingQuery`."""

    @property
    def is_connected(self) -> bool:
        """Whether it runs on a Spark Connect server, whose JVM is out of reach."""
        return not hasattr(self.query, "_jsq")


class StartedQueries:
    """The queries of a run, in order of start. Of those that have ended their failures alone are kept: a script may start a query in a
    loop, for months, and each that is held holds its sessions and plans in the JVM, and a thread here."""

    def __init__(self, on_failed: Callable[[QueryName, Failure], None]) -> None:
        """`on_failed` is called once for each query that failed, when it is let go of."""
        self._on_failed = on_failed
        self._lock = threading.RLock()
        """The signal handler asks what has started, and may come in while the main thread holds it."""
        self._held: list[Running] = []
        self._failed: dict[QueryName, Failure] = {}
        self.are_any = False

    @property
    def held(self) -> tuple[Running, ...]:
        """Those that run, and those that have ended since the last `let_go`."""
        with self._lock:
            return tuple(self._held)

    def add(self, running: Running) -> None:
        with self._lock:
            self._held.append(running)
            self.are_any = True

    def let_go(self) -> Mapping[QueryName, Failure]:
        """Holds none of those that have ended any more; why those failed that did, since the run began, by name."""
        with self._lock:
            for running in [running for running in self._held if not running.query.isActive]:
                failure = failures.of_query(running.query)
                self._held.remove(running)
                if failure is not None:
                    self._failed[running.name] = failure
                    self._on_failed(running.name, failure)
            return dict(self._failed)
