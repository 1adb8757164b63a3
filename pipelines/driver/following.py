"""A run that follows another one in lock-step: what it refuses, and a gate for each of its queries."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.lockstep import QUERY, SOURCE, SPARK, UNREPEATABLE, Lead
from pipelines.domain.runs import LEAD
from pipelines.driver import inputs
from pipelines.driver.boundary import stream_state
from pipelines.driver.gate import Gate
from pipelines.driver.intercept import Asked
from pipelines.driver.lead import LeadQuery, lead_checkpoint
from pipelines.driver.records import say
from pipelines.driver.sinklog import newest

ASYNC = "asyncprogresstrackingenabled"
EXECUTION = "MicroBatchExecution"
KEEP_UP_S = 0.5
OLDEST_SPARK = (4, 3)
"""Whose stream gives up a batch of a query that is not active any more: without it a query that waits could not be ended."""


class Following:
    """The gates of one run. `on_failure` is called when a query can no longer follow, which is then `error`; `on_idle` with the id of one
    that waits for its leader, again and again."""

    def __init__(self, lead: Lead, on_failure: Callable[[], None], on_idle: Callable[[str], None]) -> None:
        self._lead = lead
        self._on_failure = on_failure
        self._on_idle = on_idle
        self._expected: dict[str, Path] = {}
        self._gates: list[Gate] = []
        self._leads: list[LeadQuery] = []
        self._held: set[str] = set()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self.error: Exception | None = None

    def prepare(self, writer: Any, request: Asked, name: str, checkpoint: Path | None) -> None:
        """Before a query starts: its batches follow each other at once. Raises Unsupported, by name, what cannot follow, and Conflict for
        a query that its leader does not have."""
        if checkpoint is None:
            raise Unsupported("lockstep.remote", f"The checkpoint of query {name} is not on a local disk.", "Follow in a local workspace.")
        _refuse_spark(writer._spark.version)
        if request.options.get(ASYNC, "").lower() == "true":
            raise Unsupported(QUERY, f"Query {name} tracks its progress asynchronously: its logs have gaps.", "Switch that off to follow.")
        _refuse_sources(name, writer._df)
        if not lead_checkpoint(self._lead, name).is_dir():
            message = f"{self._lead.job} has no query {name}, whose batches it could have."
            raise Conflict(QUERY, message, "Fork it without lock-step, or keep the names of the queries.")
        writer.trigger(processingTime="0 seconds")
        self._expected[name] = checkpoint

    def begun(self, execution: Any, name: str) -> None:
        """On the stream's own thread, before its first batch: from here on it plans nothing by itself. Nothing is raised."""
        checkpoint = self._expected.get(name)
        if checkpoint is None:
            return
        try:
            self._hold(execution, name, checkpoint)
        except Exception as error:  # noqa: BLE001  Spark swallows what a listener raises, and the query would run freely
            execution.state().set(stream_state(execution, "TERMINATED"))
            self._fail(error)
        self._held.add(name)

    def require_held(self, name: str, query: Any) -> None:
        """Ends a query that has started without its gate, and raises Unsupported."""
        if name not in self._held:
            query.stop()
            raise Unsupported(SPARK, f"Query {name} could not be held before its first batch.", "Run it without lock-step.")

    def close(self) -> None:
        """Ends all queries, those that wait for their leader too."""
        self._closed.set()
        with self._lock:
            for gate in self._gates:
                gate.close()

    def _hold(self, execution: Any, name: str, checkpoint: Path) -> None:
        lead = LeadQuery(self._lead, name, checkpoint.parent / LEAD / checkpoint.name)
        kind = execution.getClass().getSimpleName()
        if kind != EXECUTION:
            raise Unsupported(QUERY, f"Query {name} runs as {kind}, not in batches.", "Run it without lock-step.")
        if lead.until is not None and newest(checkpoint / "commits") >= lead.until:
            execution.state().set(stream_state(execution, "TERMINATED"))
            say(f"query {name} has its last batch, {lead.until}")
            return
        query_id = execution.id().toString()
        gate = Gate(name, execution, lead, self._fail, lambda: self._on_idle(query_id))
        gate.hold()
        with self._lock:
            self._gates.append(gate)
            self._leads.append(lead)
            if len(self._leads) == 1:
                threading.Thread(target=self._keep_up, name="lock-step ahead", daemon=True).start()
        if self._closed.is_set():
            gate.close()
        end = "on and on" if lead.until is None else f"until batch {lead.until}"
        say(f"query {name} follows {self._lead.job} in lock-step, {end}")

    def _keep_up(self) -> None:
        """Keeps what is ahead while a batch runs; where that fails, the gate finds out itself at its next batch."""
        while not self._closed.wait(KEEP_UP_S):
            for lead in tuple(self._leads):
                try:
                    lead.keep_up()
                except (OSError, Conflict) as error:
                    say(f"lock-step: what is ahead could not be kept: {error}")
                    return

    def _fail(self, error: Exception) -> None:
        self.error = self.error or error
        self._on_failure()


def _refuse_spark(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SPARK:
        raise Unsupported(SPARK, f"Spark {version} cannot run in lock-step: 4.3 is the first that can.", "Choose another runtime.")


def _refuse_sources(name: str, frame: Any) -> None:
    for source in inputs.names(frame):
        if source in UNREPEATABLE:
            message = f"Query {name} reads the source {source}: {UNREPEATABLE[source]}, so no offsets can be given to it."
            raise Unsupported(SOURCE, message, "Fork it without lock-step.")
    for path, how in inputs.cleaned(frame):
        message = f"Query {name} takes files away from {path} once it has read them (cleanSource={how}): a follower does not find them."
        raise Unsupported(SOURCE, message, "Switch cleanSource off in the job and in the fork.")
