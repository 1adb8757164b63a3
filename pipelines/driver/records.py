"""The records of a driver in its run folder: appended lines, and last the exit."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipelines.domain.ids import folder_of
from pipelines.domain.installed import INSTALLED_FILE, Installed
from pipelines.domain.log_levels import SET_FILE, LevelsSet
from pipelines.domain.masters import CLUSTER_FILE, Cluster
from pipelines.domain.plans import PLANS_FOLDER, QueryPlan
from pipelines.domain.runs import (
    EVENTS_FILE,
    EXIT_FILE,
    IDLE_FILE,
    PROGRESS_FILE,
    QUERIES_FILE,
    DriverEvent,
    Exit,
    QueryStarted,
)
from pipelines.driver import secret_values

Clock = Callable[[], int]
"""Milliseconds since the epoch."""


class Records:
    """The files of one run folder. A line is one `write` on an appending descriptor: a killed driver leaves whole lines."""

    def __init__(self, folder: Path, now_ms: Clock) -> None:
        self.folder = folder
        self.now_ms = now_ms
        self._last = threading.RLock()
        self._started: dict[str, QueryStarted] = {}
        self._installed: Installed | None = None

    def query(self, started: QueryStarted, *, goes_on: bool) -> None:
        """A query that a script starts again and again is noted once, but where it `goes_on` with a batch that was planned before: how long
        that has run is counted from this start."""
        before = self._started.get(started.query)
        if goes_on or before is None or before != replace(started, run_id=before.run_id, at_ms=before.at_ms):
            self._append(QUERIES_FILE, _line(started.as_json()))
        self._started[started.query] = started
        say(f"query {started.query} started (batches in {started.checkpoint})")

    def has_started(self, query: str) -> bool:
        """Whether the query came up in this run, also before its driver was begun again."""
        if query in self._started:
            return True
        path = self.folder / QUERIES_FILE
        return path.exists() and any(json.loads(line)["query"] == query for line in path.read_text().splitlines())

    def progress(self, event_json: str) -> None:
        """`event_json` is Spark's own compact JSON, kept as it is."""
        self._append(PROGRESS_FILE, event_json)

    def idle(self, query_id: str) -> None:
        """The query had no data left just now; Spark says so every ten seconds (`spark.sql.streaming.noDataProgressEventInterval`)."""
        self._append(IDLE_FILE, _line({"at_ms": self.now_ms(), "query_id": query_id}))

    def event(self, kind: str, message: str, query: str = "") -> None:
        """Something people should know: on the page (events.jsonl) and in driver.log."""
        message = secret_values.shown(message)
        self._append(EVENTS_FILE, _line(DriverEvent(kind, message, query, self.now_ms()).as_json()))
        say(f"{kind}: {message}")

    def plan(self, plan: QueryPlan) -> None:
        """Replaces the query's plan."""
        plan = replace(plan, nodes=tuple(replace(node, detail=secret_values.shown(node.detail)) for node in plan.nodes))
        (self.folder / PLANS_FOLDER).mkdir(exist_ok=True)
        replace_whole(self.folder / PLANS_FOLDER / f"{folder_of(plan.query)}.json", _line(plan.as_json()))

    def installed(self, installed: Installed) -> None:
        """Replaces what is known of what the run stands on."""
        if installed == self._installed:
            return
        self._installed = installed
        replace_whole(self.folder / INSTALLED_FILE, _line(asdict(installed)))

    def cluster(self, cluster: Cluster) -> None:
        """Replaces what is known of where the run's Spark is."""
        replace_whole(self.folder / CLUSTER_FILE, _line(asdict(cluster)))

    def log_levels(self, levels: LevelsSet) -> None:
        """Replaces what is known of levels that somebody changed."""
        replace_whole(self.folder / SET_FILE, _line(levels.as_json()))

    def begin_exit(self) -> None:
        """From here on only this thread writes the exit; any other that would waits for the end of the process."""
        self._last.acquire()

    def exit(self, ending: Exit) -> None:
        """The driver's last act."""
        self.begin_exit()
        replace_whole(self.folder / EXIT_FILE, _line(replace(ending, message=secret_values.shown(ending.message)).as_json()))

    def _append(self, name: str, line: str) -> None:
        data = line.replace("\n", " ").encode() + b"\n"
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(f"{name}: the disk took only a part of a line")
        finally:
            os.close(descriptor)


def say(text: str) -> None:
    """A line in driver.log, which is this process's stdout."""
    print(f"[tidemark] {text}", flush=True)


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def replace_whole(path: Path, text: str) -> None:
    """Written aside and renamed: whoever sees it sees all of it."""
    aside = path.with_name(f".{path.name}.tmp")
    with aside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
