"""The names of the queries that should start: state belongs to a query by its name, so a renamed one would silently begin anew."""

from __future__ import annotations

import threading
from itertools import count

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import QueryName, query_name
from pipelines.domain.runs import RunSpec
from pipelines.driver.records import Records

QUIET_S = 60.0
"""A script that has started no query for so long is taken to have started all of them."""


class GivenNames:
    """The names of the queries of this process. A query that starts again at the script's same checkpoint location is the same query,
    whatever it is called; one of the same name at another location is another."""

    def __init__(self) -> None:
        self._locations: dict[QueryName, str] = {}
        """Name -> the location that the script gave its query; empty for none."""

    def of(self, asked: str, location: str) -> QueryName:
        """The name of a query that is about to start, by the script's name and location for it (empty for none)."""
        again = next((name for name, known in self._locations.items() if location and known == location), None)
        if again is not None:
            return again
        if not asked:
            return self._free("query", len(self._locations))
        name = query_name(asked)
        elsewhere = location and self._locations.get(name, "") not in ("", location)
        return self._free(name, 1) if elsewhere else name

    def note(self, name: QueryName, location: str) -> None:
        """The query has started."""
        self._locations[name] = location or self._locations.get(name, "")

    def started(self, name: QueryName) -> bool:
        return name in self._locations

    def _free(self, stem: str, first: int) -> QueryName:
        return next(name for number in count(first) if (name := QueryName(f"{stem}-{number}")) not in self._locations)


class ExpectedQueries:
    """Refuses unexpected queries, and reports expected ones that never started."""

    def __init__(self, spec: RunSpec, records: Records, quiet_s: float = QUIET_S) -> None:
        self._expected = frozenset(query_name(name) for name in spec.expected)
        self._new = frozenset(query_name(name) for name in spec.new_queries)
        self._missing = set(self._expected)
        self._records = records
        self._quiet_s = quiet_s
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def refuse(self, query: str) -> None:
        """Raises Conflict (`query.unexpected`) for a query without state in a run that continues state."""
        if not self._expected or query in self._expected | self._new:
            return
        raise Conflict(
            "query.unexpected",
            f"Query {query} has no state here; the state is of {', '.join(sorted(self._expected))}.",
            "Give it the name that it had, with queryName. Where that name was guessed when its job was attached, mend it "
            f"(rename-query) and fork a new savepoint. If it is meant to begin anew, without its state, say so: --new-query {query}.",
        )

    def note(self, query: str) -> None:
        """`query` has started."""
        with self._lock:
            self._missing.discard(query_name(query))
            self._cancel()
            if self._missing:
                self._timer = threading.Timer(self._quiet_s, self.all_started)
                self._timer.daemon = True
                self._timer.start()

    def all_started(self) -> None:
        """Writes an event for each query whose state is unused, once no further query will start."""
        with self._lock:
            self._cancel()
            left, self._missing = sorted(self._missing), set()
        for query in left:
            message = "It has not started, so its state is not used: the script no longer starts it, or under another name."
            self._records.event("query.left_behind", message, query)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
