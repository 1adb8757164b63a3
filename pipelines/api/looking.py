"""What is new in a workspace: looked at once for all who listen, and told as updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.domain.errors import Unavailable
from pipelines.domain.jobs import Event
from pipelines.domain.operations import OperationState
from pipelines.domain.updates import Gone, UpdateKind, telling
from pipelines.storage.documents import encode_line
from pipelines.verbs.face import Face
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.system import ListEvents

MOST_EVENTS = 200
"""Of more that happen between two looks the newest are told."""


@dataclass(frozen=True)
class Said:
    """An update without its place in a stream."""

    kind: UpdateKind
    job: str
    data: str


@dataclass
class Looking:
    """What was seen at the last look; each look answers what differs."""

    generation: Callable[[], int] | None
    jobs: Mapping[str, Said] = field(default_factory=dict)
    """Each job as it was then: what somebody who begins to listen is told first."""
    _telling: Mapping[str, object] = field(default_factory=dict)
    _operations: Mapping[str, object] = field(default_factory=dict)
    _events: frozenset[str] = frozenset()
    _last_event_ms: int | None = None
    _seen: int | None = None
    _is_running: bool = False

    def look(self, face: Face) -> list[Said]:
        """What is new; nothing where nothing was written since, and no operation runs. The first look tells nothing."""
        seen = self.generation() if self.generation else None
        if seen is not None and seen == self._seen and not self._is_running:
            return []
        is_first = self._last_event_ms is None
        told = [*self._of_jobs(face), *self._of_operations(face), *self._of_events(face)]
        self._seen = seen
        return [] if is_first else told

    def _of_jobs(self, face: Face) -> Iterator[Said]:
        summaries = {str(summary.job.name): summary for summary in face.ask(ListJobs())}
        told = {name: telling(summary) for name, summary in summaries.items()}
        changed = {name: summary for name, summary in summaries.items() if self._telling.get(name) != told[name]}
        new = {name: Said(UpdateKind.JOB, name, encode_line(summary)) for name, summary in changed.items()}
        gone = [name for name in self.jobs if name not in summaries]
        self.jobs = {name: new.get(name) or self.jobs[name] for name in summaries}
        self._telling = told
        yield from new.values()
        yield from (Said(UpdateKind.GONE, name, encode_line(Gone(name))) for name in gone)

    def _of_operations(self, face: Face) -> Iterator[Said]:
        """None of a standby, which knows of none."""
        try:
            operations = face.ask(ListOperations())
        except Unavailable as error:
            if error.code != "server.standby":
                raise
            return
        before, self._operations = self._operations, {operation.id: operation for operation in operations}
        self._is_running = any(operation.state is OperationState.RUNNING for operation in operations)
        for operation in reversed(operations):
            if before.get(operation.id) != operation:
                yield Said(UpdateKind.OPERATION, operation.job, encode_line(operation))

    def _of_events(self, face: Face) -> Iterator[Said]:
        """Those of the last moment that was seen are asked for again: others may have come in it."""
        events = face.ask(ListEvents(limit=MOST_EVENTS, from_ms=self._last_event_ms))
        new = [event for event in reversed(events) if event.cursor not in self._events]
        self._last_event_ms = max((event.at_ms for event in events), default=self._last_event_ms or 0)
        self._events = frozenset(event.cursor for event in events if event.at_ms == self._last_event_ms)
        yield from (Said(UpdateKind.EVENT, _job_of(event), encode_line(event)) for event in new)


def _job_of(event: Event) -> str:
    return str(event.job or "")
