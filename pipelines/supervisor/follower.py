"""The follower of a standby: brings its own index up to what the files say, again and again, and writes nothing else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.supervision import run_state
from pipelines.supervisor import facts
from pipelines.workspace import freed, ingestion, rebuild
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable
from pipelines.workspace.workspace import Workspace

INTERVAL_S = 0.5
SHARE = 0.1
"""At most this share of a core reads documents: of a large workspace they are read less often. Live runs are read at every pass."""
log = logging.getLogger("tidemark.standby")


class BrokenOff(Exception):
    """A pass has given way to who takes the workspace over."""


class Follower:
    """Reads the files of one workspace that another server has. A pass in which it is to give way raises BrokenOff."""

    def __init__(self, context: Context, gives_way: Callable[[], bool] = lambda: False) -> None:
        self._context = context
        self._gives_way = gives_way
        self._next_s = 0.0
        self._begins: freed.Begins = {}

    def tick(self) -> None:
        """One pass: all documents, where that is due; then what is new in the files of live runs."""
        began_s = time.monotonic()
        if began_s >= self._next_s:
            rebuild.bring_up(self._context, self._changed, self._keep_on)
            ingestion.follow(self._context, ingestion.everything(self._context))
            self._let_go()
            self._next_s = began_s + (time.monotonic() - began_s) / SHARE
        else:
            self._follow_live()

    def _keep_on(self) -> None:
        if self._gives_way():
            raise BrokenOff

    def _let_go(self) -> None:
        """Of what the active server has freed."""
        with self._context.catalog.reading() as reader:
            ran = run_rows.listed(reader)
        for run in ran:
            if run.state.current:
                freed.forget(self._context, run, self._begins)
        freed.forget_events(self._context, self._begins)

    def _follow_live(self) -> None:
        with self._context.catalog.reading() as reader:
            live = run_rows.live(reader)
        ingestion.workspace_events(self._context)
        ingestion.follow(self._context, [source for run in live for source in ingestion.of_run(self._context, run.job, run.id)])
        seen = readable(lambda run: rebuild.seen_run(self._context, run.job, run.id), live, [])
        with self._context.catalog.reading() as reader:
            known = {run.id: run for run in run_rows.live(reader)}  # as the lines just read have left them
        changed = list(self._changed(known, seen))
        if changed:
            with self._context.catalog.writing() as writer:
                run_rows.save(writer, changed)

    def _changed(self, known: Mapping[RunId, Run], seen: Sequence[Run]) -> Iterable[Run]:
        """Those that the files and processes show otherwise than they are `known`; what their queries have said of Spark stays."""
        for run in seen:
            before = known.get(run.id, run)
            now = replace(self._now(run), spark_version=before.spark_version, ui_url=before.ui_url)
            if now != known.get(run.id):
                yield now

    def _now(self, run: Run) -> Run:
        """A run that has not ended, with the state that the supervisor of the active server gives it."""
        if run.state not in (RunState.WANTED, RunState.STARTING):
            return run
        try:
            wanted = self._context.files.wanted(run.job)
            seen, _ = facts.look(self._context, run)
        except TidemarkError:
            return run  # of a document that is damaged, or gone meanwhile: the active server says it
        return replace(run, state=run_state(wanted, seen, self._context.now_ms()))


class FollowerLoop:
    """A thread that ticks every `interval` seconds."""

    def __init__(self, workspace: Workspace, interval: float = INTERVAL_S) -> None:
        self._follower = Follower(workspace.context, lambda: self._rests)
        self._interval = interval
        self._ended = threading.Event()
        self._rests = False
        self._thread = threading.Thread(target=self._work, name="follower", daemon=True)
        self._passed_s = time.monotonic()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the pass that it is in."""
        self._ended.set()
        self._thread.join()

    @contextmanager
    def giving_way(self) -> Iterator[Callable[[], None]]:
        """Gives what makes it rest until the block ends: no pass is begun, and one that reads documents ends. The processor, and Python's
        one lock, are for who takes the workspace over."""

        def rest() -> None:
            self._rests = True

        try:
            yield rest
        finally:
            self._rests = False

    def silence_s(self) -> float:
        """Seconds since its last pass that nothing broke off, or since it was made."""
        return time.monotonic() - self._passed_s

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                if not self._rests:
                    self._follower.tick()
                    self._passed_s = time.monotonic()
            except BrokenOff:
                pass
            except Exception:
                log.exception("a pass failed")
            self._ended.wait(self._interval)
