"""Watches attached jobs from outside: writes new batches and sizes into their run's files, and errors into events.

A look only reads; the supervisor's own thread writes its result. A remote storage is read in a thread beside it, so that a
slow one delays nobody; its next look begins when this one has answered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.catalog.connection import Kept, Reader
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import QueryName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import PROGRESS_FILE, Exit, QueryStarted, RunState
from pipelines.supervisor import outside
from pipelines.supervisor.outside import Batches
from pipelines.supervisor.sizes import Sampler, append, measure_each
from pipelines.workspace import events, ingestion, runs, sources
from pipelines.workspace.context import Context

LOST = {"checkpoint.not_found", "checkpoint.replaced"}
"""Errors after which there is nothing left to watch."""
log = logging.getLogger("tidemark.supervisor")


@dataclass(frozen=True)
class Pace:
    """How often a watcher lists jobs, looks at queries and measures sizes, in ms."""

    listing_ms: int = 1_000
    local_ms: int = 2_000
    remote_ms: int = 10_000
    local_sizes_ms: int = 10_000
    remote_sizes_ms: int = 120_000
    stalled_ms: int = 60_000
    """How long a look may take before an event tells of it."""


@dataclass(frozen=True)
class Observation:
    """Result of a look at all queries of a job."""

    batches: tuple[Batches, ...]
    errors: tuple[Exception, ...]
    sizes: dict[str, int] | None


@dataclass
class Watch:
    """An attached job under watch."""

    run: Run
    queries: tuple[QueryStarted, ...]
    seen: dict[QueryName, int]
    """The last batch of each query that is in `progress.jsonl`."""
    looked_ms: int = 0
    answer: Future[Observation] | None = None
    complaint: str = ""
    """The last error told of; the same error is told once."""
    remote: bool = field(init=False)

    def __post_init__(self) -> None:
        self.remote = any("://" in started.checkpoint for started in self.queries)


class Watcher:
    """Watches the attached jobs of one workspace; `tick` does what is due and never waits for a remote storage."""

    def __init__(self, context: Context, sampler: Sampler, pace: Pace | None = None) -> None:
        self._context = context
        self._sampler = sampler
        self._pace = pace or Pace()
        self._attached = Kept(context.catalog, _attached)
        self._watches: dict[RunId, Watch] = {}
        self._listed_ms = 0

    @property
    def runs(self) -> Sequence[Run]:
        """Those under watch."""
        return [watch.run for watch in self._watches.values()]

    def tick(self) -> None:
        now_ms = self._context.now_ms()
        if now_ms - self._listed_ms >= self._pace.listing_ms:
            self._listed_ms = now_ms
            self._list()
        for watch in self._watches.values():
            try:
                self._attend(watch, now_ms)
            except Exception as error:  # noqa: BLE001  whatever it is, the other jobs are looked at
                self._complain(watch, error)

    def _list(self) -> None:
        there = {run.id: run for run in self._attached.now()}
        for gone in self._watches.keys() - there.keys():
            self._sampler.drop(self._watches.pop(gone).run)
        for run in there.values():
            if run.id not in self._watches:
                self._watches[run.id] = self._watch(run)

    def _watch(self, run: Run) -> Watch:
        queries = tuple(sources.started_queries(self._context, run.job, run.id))
        seen = outside.last_batches(self._context.layout.run(run.job, run.id), [started.query for started in queries])
        return Watch(run, queries, seen)

    def _attend(self, watch: Watch, now_ms: int) -> None:
        every_ms = self._pace.remote_ms if watch.remote else self._pace.local_ms
        if watch.answer is None and now_ms - watch.looked_ms >= every_ms:
            watch.looked_ms = now_ms
            watch.answer = self._ask(watch)
        if watch.answer is None:
            return
        if not watch.answer.done():
            self._tell_stalled(watch, now_ms)
            return
        with self._context.trying(watch.run.job) as mine:
            if mine:
                answer, watch.answer = watch.answer, None
                self._take_in(watch, answer.result())

    def _ask(self, watch: Watch) -> Future[Observation]:
        sizes_ms = self._pace.remote_sizes_ms if watch.remote else self._pace.local_sizes_ms
        queries, seen, sizes = watch.queries, dict(watch.seen), self._sampler.due(watch.run, sizes_ms)
        answer: Future[Observation] = Future()
        if watch.remote:
            name = f"watch {watch.run.job}"
            threading.Thread(target=_answer, args=(answer, lambda: look(queries, seen, sizes)), name=name, daemon=True).start()
        else:
            _answer(answer, lambda: look(queries, seen, sizes))
        return answer

    def _take_in(self, watch: Watch, observation: Observation) -> None:
        """Writes an observation into the run's files and the catalog; nothing of a job that was forgotten meanwhile."""
        run = runs.find(self._context, watch.run.id)
        if run is None:
            return
        for batches in observation.batches:
            self._write(watch, batches)
        if observation.sizes is not None:
            self._sampler.note(run, observation.sizes)
        ingestion.follow(self._context, ingestion.of_run(self._context, run.job, run.id))
        self._judge(watch, run, observation.errors)

    def _write(self, watch: Watch, batches: Batches) -> None:
        """Appends new lines. A query whose newest batch is before the last seen was taken back, and is followed from there."""
        newest, seen = -1 if batches.newest is None else batches.newest, watch.seen[batches.query]
        if batches.lines:
            append(self._context.layout.run(watch.run.job, watch.run.id) / PROGRESS_FILE, batches.lines)
        elif newest < seen:
            message = f"{batches.query}: its newest committed batch is {newest}, after {seen} was seen: it was taken back from outside"
            events.say(self._context, "watch.rewound", watch.run.job, watch.run.id, message)
        watch.seen[batches.query] = newest

    def _judge(self, watch: Watch, run: Run, errors: Sequence[Exception]) -> None:
        """The job is failed while a checkpoint of it is lost, and watched again when it is back; other errors only become events."""
        lost = next((error for error in errors if isinstance(error, TidemarkError) and error.code in LOST), None)
        if lost is not None:
            self._lose(run, lost)
        elif errors:
            self._complain(watch, errors[0])
        else:
            watch.complaint = ""
            if run.state is RunState.FAILED:
                runs.update(self._context, run.id, state=RunState.WATCHED, exit=None, ended_ms=None)
                events.say(self._context, "watch.back", run.job, run.id, f"the checkpoint of {run.job} is there again")

    def _lose(self, run: Run, lost: TidemarkError) -> None:
        message = f"{lost.message}. {lost.hint}"
        if run.state is RunState.FAILED and run.exit is not None and run.exit.message == message:
            return
        now_ms = self._context.now_ms()
        ended = Exit("failed", None, lost.code, message, now_ms)
        runs.update(self._context, run.id, state=RunState.FAILED, exit=ended, ended_ms=now_ms)
        events.say(self._context, "watch.lost", run.job, run.id, message)

    def _tell_stalled(self, watch: Watch, now_ms: int) -> None:
        if now_ms - watch.looked_ms >= self._pace.stalled_ms:
            where = ", ".join(started.checkpoint for started in watch.queries)
            self._complain(watch, TimeoutError(f"{where} has not answered for {self._pace.stalled_ms // 1000} s"))

    def _complain(self, watch: Watch, error: Exception) -> None:
        message = f"{error.message}. {error.hint}" if isinstance(error, TidemarkError) else f"{type(error).__name__}: {error}"
        if watch.complaint != message:
            watch.complaint = message
            log.error("watching %s", watch.run.job, exc_info=error, extra={"job": watch.run.job})
            events.say(self._context, "watch.failed", watch.run.job, watch.run.id, message)


def _attached(reader: Reader) -> list[Run]:
    """The newest run of each attached job."""
    attached = [run_rows.newest(reader, job.name) for job in job_rows.listed(reader) if job.attached]
    return [run for run in attached if run is not None]


def look(queries: Sequence[QueryStarted], seen: dict[QueryName, int], sizes: bool) -> Observation:
    """Looks at every query; one that cannot be read does not keep the others from being read."""
    batches: list[Batches] = []
    errors: list[Exception] = []
    for started in queries:
        try:
            batches.append(outside.look(started, seen[started.query]))
        except Exception as error:  # noqa: BLE001  the watcher tells it
            errors.append(error)
    measured = measure_each(started.checkpoint for started in queries) if sizes and not errors else None
    return Observation(tuple(batches), tuple(errors), measured)


def _answer(answer: Future[Observation], look_now: Callable[[], Observation]) -> None:
    try:
        answer.set_result(look_now())
    except Exception as error:  # noqa: BLE001  whoever asks for the answer gets it
        answer.set_exception(error)
