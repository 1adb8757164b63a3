"""Where a bisection takes the rows as of a batch from: the cheapest way that there is, and a fork that runs the batches again only else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipelines.catalog.judging import Rows
from pipelines.catalog.output_files import Options
from pipelines.checkpoint import sink_log
from pipelines.domain import states as tables
from pipelines.domain.bisections import Over, Way
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import StateTable
from pipelines.savepoint import states as state_tables
from pipelines.savepoint import written
from pipelines.savepoint.sink_places import plain
from pipelines.storage.addresses import open_storage
from pipelines.verbs.take import Take
from pipelines.workspace import compare, job_places, readings, states
from pipelines.workspace.bisections.forks import Forks
from pipelines.workspace.bisections.stretches import Stretch
from pipelines.workspace.compare import batches
from pipelines.workspace.context import Context
from pipelines.workspace.states import points as state_points
from pipelines.workspace.states.points import Held
from pipelines.workspace.tickets import Ticket


class Points(Protocol):
    """Rows as of a batch of a stretch."""

    forks: Forks

    def ready(self) -> frozenset[int]:
        """Batches whose rows are there without any run, besides both ends."""

    def at(self, batch: int, wrong: int, ticket: Ticket) -> tuple[Rows, Way]:
        """The rows as of `batch`, batches from `wrong` on being of no interest any more."""


@dataclass
class OutputPoints:
    """The data files that a query had written up to a batch, in the order of how cheap they are to find out."""

    context: Context
    stretch: Stretch
    last: tuple[str, ...]
    """All files of the last batch: what is no part of them was taken back since."""
    sink: str
    """Where the job writes now; empty where that is not where it wrote then."""
    forks: Forks
    options: Options = None
    """Of the job's sink."""
    forked: tuple[JobName, Manifest, str, int] | None = None
    """The fork that ran, the savepoint that it began from, its sink, and its last batch."""

    def ready(self) -> frozenset[int]:
        of_savepoints = {self.stretch.batch(manifest) for manifest in self.stretch.between}
        return frozenset(of_savepoints | self._in_log())

    def at(self, batch: int, wrong: int, ticket: Ticket) -> tuple[Rows, Way]:
        manifest = self.stretch.of_batch(batch)
        if manifest is not None:
            return self._rows(self._files(manifest)), Way.SAVEPOINT
        if batch in self._in_log() and (files := self._of_log(batch)) is not None:
            return self._rows(files), Way.LOG
        return self._rows(self._again(batch, wrong, ticket)), Way.WHAT_IF

    def _rows(self, files: tuple[str, ...]) -> Rows:
        return Rows(Over.OUTPUT.value, self.stretch.image(self.stretch.bad).sink.lower(), tuple(sorted(files)), self.last, self.options)

    def _files(self, manifest: Manifest) -> tuple[str, ...]:
        output = job_places.output_of(self.context, self.stretch.job)
        return written.files(self.context.shelf(manifest.id), manifest, self.stretch.image(manifest), output)

    def _in_log(self) -> frozenset[int]:
        if not self.sink:
            return frozenset()
        names = sink_log.names(open_storage(self.sink), sink_log.FOLDER)
        good, bad = self.stretch.batch(self.stretch.good), self.stretch.batch(self.stretch.bad)
        held = (batch for batch in range(good + 1, bad) if sink_log.holds(names, batch))
        return frozenset(batch for batch in held if names.newest is not None and batch <= names.newest)

    def _of_log(self, batch: int) -> tuple[str, ...] | None:
        """None where the job has gone another way since: its log has files that the last savepoint does not know."""
        try:
            files = tuple(map(plain, batches.files_until(self.sink, batch)))
        except (Corrupt, NotFound):
            return None
        return files if set(files) <= set(self.last) else None

    def _again(self, batch: int, wrong: int, ticket: Ticket) -> tuple[str, ...]:
        """The files of the savepoint before, and those that a fork of it wrote, run once for all batches up to `wrong`."""
        if self.forked is None or not self.stretch.batch(self.forked[1]) < batch <= self.forked[3]:
            base = self.stretch.before(batch)
            job = self.forks.run(base, wrong - 1, ticket)
            sink = compare.queries(self.context, job)[self.stretch.query].sink_path
            self.forked = (job, base, sink, wrong - 1)
        _, base, sink, _ = self.forked
        return (*self._files(base), *map(plain, batches.files_until(sink, batch)))


@dataclass
class StatePoints:
    """The rows of one table of state as of a batch, read by Spark from a savepoint of just that batch."""

    context: Context
    stretch: Stretch
    table: StateTable
    retained: frozenset[int]
    forks: Forks

    def ready(self) -> frozenset[int]:
        return frozenset({self.stretch.batch(manifest) for manifest in self.stretch.between} | self.retained)

    def at(self, batch: int, wrong: int, ticket: Ticket) -> tuple[Rows, Way]:
        manifest = self.stretch.of_batch(batch)
        if manifest is not None:
            held = Held(self.context.shelf(manifest.id), manifest, manifest.id)
            return self._read(held, self.context.layout.sandbox_folder(ticket.operation), ticket), Way.SAVEPOINT
        if batch in self.retained and (rows := self._retained(batch, ticket)) is not None:
            return rows, Way.RETAINED
        job = self.forks.run(self.stretch.before(batch), batch, ticket)
        return self._taken(Take(job), ticket), Way.WHAT_IF

    def _retained(self, batch: int, ticket: Ticket) -> Rows | None:
        """None where Spark has purged the batch meanwhile."""
        try:
            return self._taken(Take(self.stretch.job, {self.stretch.query: batch}), ticket)
        except (NotFound, Corrupt):
            return None

    def _taken(self, take: Take, ticket: Ticket) -> Rows:
        """Rows of a savepoint that is taken to be read, and that no list shows."""
        folder = self.context.layout.sandbox_folder(ticket.operation)
        folder.mkdir(parents=True)
        try:
            return self._read(state_points.taken(self.context, take, folder / "point", ticket), folder / "reading", ticket)
        finally:
            shutil.rmtree(folder)

    def _read(self, held: Held, folder: Path, ticket: Ticket) -> Rows:
        own = state_tables.tables(held.shelf, held.manifest)
        reading = states.whole(self.context, held, tables.chosen(own, self.table), folder, ticket)
        return Rows(Over.STATE.value, "parquet", tuple(readings.files(self.context, reading)))


def last_files(context: Context, whole: Stretch) -> tuple[str, ...]:
    """The data files of the last batch."""
    return written.files(context.shelf(whole.bad.id), whole.bad, whole.image(whole.bad), job_places.output_of(context, whole.job))
