"""The names of the queries that should start: state belongs to a query by its name, so a renamed one would silently begin anew."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import QueryName, folder_of, plain_name, query_name
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import sinks
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records

MEMORY = "memory"
QUIET_S = 60.0
"""A script that has started no query for so long is taken to have started all of them."""


class GivenNames:
    """The names of the queries of this process. A query that starts again at the script's same checkpoint location is the same query,
    whatever it is called; one of the same name at another location is another. Runs before count: `before` has the location that the
    script gave each query of theirs (empty for none), `folders` the folders of checkpoints that are there."""

    def __init__(self, before: Mapping[str, str], folders: Collection[str]) -> None:
        self._before = before
        self._folders = folders
        self._locations: dict[QueryName, str] = {}
        """Name -> the location that the script gave its query; empty for none."""
        self._recalled: set[QueryName] = set()
        """Names of unnamed queries that were found by the location which they had in a run before."""

    def of(self, asked: str, location: str) -> QueryName:
        """The name of a query that is about to start, by the script's name and location for it (empty for none)."""
        again = next((name for name, known in self._locations.items() if location and known == location), None)
        if again is not None:
            return again
        name = self._kept(asked) if asked else QueryName("")
        recalled = self._recall(name, location)
        if recalled is not None:
            self._recalled.update(() if asked else (recalled,))
            return recalled
        if not asked:
            return self._next_in_order()
        elsewhere = location and self._locations.get(name, "") not in ("", location)
        return next(self._free(name, 1)) if elsewhere else name

    def note(self, name: QueryName, location: str) -> None:
        """The query has started."""
        self._locations[name] = location or self._locations.get(name, "")

    def started(self, name: QueryName) -> bool:
        return name in self._locations

    def _kept(self, asked: str) -> QueryName:
        """The script's name; where a checkpoint is there under what its folder was called before folders had names of their own, that."""
        name, plain = query_name(asked), QueryName(plain_name(asked))
        return plain if plain in self._folders and folder_of(name) not in self._folders else name

    def _recall(self, name: QueryName, location: str) -> QueryName | None:
        """The name that a query at this location had in a run before: one without a name of its own, or one of several of that name."""
        for known, place in self._before.items():
            its_own = not name or known == name or known.startswith(f"{name}-")
            if location and place == location and its_own:
                self._refuse_taken(QueryName(known), location)
                return QueryName(known)
        return None

    def _refuse_taken(self, name: QueryName, location: str) -> None:
        if name in self._locations:
            raise Conflict(
                "query.name",
                f"The query at {location} was called {name} in the run before, and another one has that name now.",
                "Give each query a queryName: those without one are called by their location, or by the order in which they start.",
            )

    def _next_in_order(self) -> QueryName:
        """`query-<order of start>`, not counting those that were recalled. First a name that a run before gave by order; one that it gave
        to a location, which is yet to start, only in a script whose locations are never the same."""
        names = self._free("query", len(self._locations) - len(self._recalled))
        candidates = [next(names) for _ in range(len(self._before) + 1)]
        by_order = (name for name in candidates if self._before.get(name) == "")
        other = (name for name in candidates if name not in self._before or not self._recalled)
        return next(chain(by_order, other))

    def _free(self, stem: str, first: int) -> Iterator[QueryName]:
        return (name for number in count(first) if (name := QueryName(f"{stem}-{number}")) not in self._locations)


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


def location_of(request: Asked, default_fs: str, output: str) -> str:
    """The script's own checkpoint location of a query, which is what Spark knows it by; of a table in memory its name is.

    The job's own output directory is `{output}` in it, as in the arguments: a fork has another one.
    """
    if not request.checkpoint or request.format == MEMORY:
        return ""
    local = sinks.local_path(request.checkpoint, default_fs)
    location = request.checkpoint.rstrip("/") if local is None else str(local)
    return location.replace(output, OUTPUT) if output and f"{location}/".startswith(f"{output}/") else location


def folders(spec: RunSpec) -> frozenset[str]:
    """The folders of the queries whose checkpoints are there, or whose state the run continues."""
    checkpoints = sinks.local_path(spec.checkpoints)
    there = (path.name for path in checkpoints.iterdir()) if checkpoints is not None and checkpoints.is_dir() else ()
    return frozenset((*there, *map(folder_of, spec.expected)))
