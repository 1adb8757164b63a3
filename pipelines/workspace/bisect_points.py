"""Where a bisection takes the rows as of a batch from: the cheapest way that there is, and a fork that runs the batches again only else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from pipelines.catalog.judging import Rows
from pipelines.checkpoint import sink_log
from pipelines.domain import states as tables
from pipelines.domain.bisections import Over, Way
from pipelines.domain.errors import Conflict, Corrupt, NotFound
from pipelines.domain.ids import JobName, QueryName, SavepointId
from pipelines.domain.lockstep import GONE
from pipelines.domain.savepoints import Manifest, QueryImage, Reason
from pipelines.domain.states import StateTable
from pipelines.savepoint import leads, written
from pipelines.savepoint import states as state_tables
from pipelines.savepoint.leads import Line
from pipelines.savepoint.sinks import plain
from pipelines.storage.addresses import open_storage
from pipelines.verbs.fork import Variant
from pipelines.verbs.take import Take
from pipelines.workspace import compare, compare_batches, forks, homes, readings, savepoints, states, what_ifs
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

KEEPS = {"spark.sql.streaming.fileSink.log.deletion": "false"}
"""So that the sink's log of a fork tells its batches apart for as long as it is asked."""


@dataclass(frozen=True)
class Stretch:
    """What is bisected: a query between two savepoints, and its savepoints in between, on the same line."""

    good: Manifest
    bad: Manifest
    query: QueryName
    line: Line | None
    """The batches that Spark still knows; None where their offsets are gone."""
    checkpoints: str
    between: tuple[Manifest, ...] = ()

    @property
    def job(self) -> JobName:
        return self.bad.job

    @property
    def every(self) -> tuple[Manifest, ...]:
        return (self.good, *self.between, self.bad)

    def image(self, manifest: Manifest) -> QueryImage:
        return next(image for image in manifest.queries if image.query == self.query)

    def batch(self, manifest: Manifest) -> int:
        return self.image(manifest).batch

    def of_batch(self, batch: int) -> Manifest | None:
        return next((manifest for manifest in self.every if self.batch(manifest) == batch), None)

    def before(self, batch: int) -> Manifest:
        """The newest savepoint of an earlier batch."""
        return max((manifest for manifest in self.every if self.batch(manifest) < batch), key=self.batch)


class Points(Protocol):
    """Rows as of a batch of a stretch."""

    def ready(self) -> frozenset[int]:
        """Batches whose rows are there without any run, besides both ends."""

    def at(self, batch: int, wrong: int, ticket: Ticket) -> tuple[Rows, Way]:
        """The rows as of `batch`, batches from `wrong` on being of no interest any more."""

    def close(self) -> None:
        """Removes what was made for it."""


@dataclass
class OutputPoints:
    """The data files that a query had written up to a batch, in the order of how cheap they are to find out."""

    context: Context
    stretch: Stretch
    last: tuple[str, ...]
    """All files of the last batch: what is no part of them was taken back since."""
    sink: str
    """Where the job writes now; empty where that is not where it wrote then."""
    forked: tuple[JobName, Manifest, str, int] | None = None
    """The fork that ran, the savepoint that it began from, its sink, and its last batch."""
    begun: list[JobName] = field(default_factory=list)

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

    def close(self) -> None:
        for job in self.begun:
            what_ifs.remove(self.context, job)

    def _rows(self, files: tuple[str, ...]) -> Rows:
        return Rows(Over.OUTPUT.value, self.stretch.image(self.stretch.bad).sink.lower(), tuple(sorted(files)), self.last)

    def _files(self, manifest: Manifest) -> tuple[str, ...]:
        output = str(self.context.layout.output(self.stretch.job))
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
            files = tuple(map(plain, compare_batches.files_until(self.sink, batch)))
        except (Corrupt, NotFound):
            return None
        return files if set(files) <= set(self.last) else None

    def _again(self, batch: int, wrong: int, ticket: Ticket) -> tuple[str, ...]:
        """The files of the savepoint before, and those that a fork of it wrote, run once for all batches up to `wrong`."""
        if self.forked is None or not self.stretch.batch(self.forked[1]) < batch <= self.forked[3]:
            base = self.stretch.before(batch)
            job = run_again(self.context, self.stretch, base, wrong - 1, ticket, self.begun)
            sink = compare.queries(self.context, job)[self.stretch.query].sink_path
            self.forked = (job, base, sink, wrong - 1)
        _, base, sink, _ = self.forked
        return (*self._files(base), *map(plain, compare_batches.files_until(sink, batch)))


@dataclass
class StatePoints:
    """The rows of one table of state as of a batch, read by Spark from a savepoint of just that batch."""

    context: Context
    stretch: Stretch
    table: StateTable
    retained: frozenset[int]
    begun: list[JobName] = field(default_factory=list)
    taken: list[SavepointId] = field(default_factory=list)

    def ready(self) -> frozenset[int]:
        return frozenset({self.stretch.batch(manifest) for manifest in self.stretch.between} | self.retained)

    def at(self, batch: int, wrong: int, ticket: Ticket) -> tuple[Rows, Way]:
        manifest = self.stretch.of_batch(batch)
        if manifest is not None:
            return self._read(manifest, ticket), Way.SAVEPOINT
        if batch in self.retained and (rows := self._retained(batch, ticket)) is not None:
            return rows, Way.RETAINED
        job = run_again(self.context, self.stretch, self.stretch.before(batch), batch, ticket, self.begun)
        return self._read(self._taken(job, Take(job, label=f"batch {batch} again"), ticket), ticket), Way.WHAT_IF

    def close(self) -> None:
        for savepoint in self.taken:
            savepoints.dispose(self.context, savepoint)
        for job in self.begun:
            what_ifs.remove(self.context, job)

    def _retained(self, batch: int, ticket: Ticket) -> Rows | None:
        """None where Spark has purged the batch meanwhile."""
        take = Take(self.stretch.job, {self.stretch.query: batch}, label=f"batch {batch}, for a bisection")
        try:
            manifest = self._taken(self.stretch.job, take, ticket)
        except (NotFound, Corrupt):
            return None
        self.taken.append(manifest.id)
        return self._read(manifest, ticket)

    def _taken(self, job: JobName, take: Take, ticket: Ticket) -> Manifest:
        taken = savepoints.taken(self.context, job, take, Reason.MANUAL, ticket)
        return savepoints.manifest(self.context, taken.id)

    def _read(self, manifest: Manifest, ticket: Ticket) -> Rows:
        own = state_tables.tables(self.context.shelf(manifest.id), manifest)
        table = tables.chosen(own, self.table)
        reading = states.whole(self.context, manifest, table, ticket)
        return Rows(Over.STATE.value, "parquet", tuple(readings.files(self.context, reading)))


def run_again(context: Context, stretch: Stretch, base: Manifest, until: int, ticket: Ticket, begun: list[JobName]) -> JobName:
    """A fork of `base` that ran the job's own code up to batch `until`, noted in `begun` before it begins. Raises Conflict where the code
    changed in between (`bisect.versions`) or failed (`bisect.failed`), or the batches are gone (`lockstep.gone`)."""
    _require_one_version(stretch, base, until)
    if stretch.line is None or until not in stretch.line.times_ms:
        message = f"Batch {until} of query {stretch.query} can be neither looked up nor run again: its offsets are gone."
        raise Conflict(GONE, message, "Choose savepoints that are newer, or nearer to each other.")
    name = JobName(context.new_id("bisect"))
    variant = Variant(name=name, sinks={"*": "fresh"}, conf={**base.version.conf, **KEEPS}, until_ms=stretch.line.times_ms[until])
    fork = forks.plan_variant(context, base, variant)
    begun.append(name)
    what_ifs.begin(context, fork, ticket)
    following = fork.plan.lock_step
    failure = what_ifs.ended(context, name, following.ready if following else {}, ticket, "running batches again")
    if failure:
        raise Conflict("bisect.failed", f"The job's code failed when its batches were run again: {failure}", f"See its log: {name}.")
    return name


def _require_one_version(stretch: Stretch, base: Manifest, until: int) -> None:
    after = min((manifest for manifest in stretch.every if stretch.batch(manifest) >= until), key=stretch.batch)
    if after.version.id != base.version.id:
        message = f"The code of {stretch.job} changed between batches {stretch.batch(base)} and {stretch.batch(after)}"
        hint = "Its batches cannot be run again as they were. Bisect between savepoints of one version."
        raise Conflict("bisect.versions", message, hint)


def last_files(context: Context, whole: Stretch) -> tuple[str, ...]:
    """The data files of the last batch."""
    return written.files(context.shelf(whole.bad.id), whole.bad, whole.image(whole.bad), str(context.layout.output(whole.job)))


def stretch(context: Context, job: JobName, good: Manifest, bad: Manifest, query: QueryName, checkpoints: str) -> Stretch:
    """The stretch with the savepoints in between that are on its line: all of them where Spark still knows its batches, else none."""
    whole = Stretch(good, bad, query, None, checkpoints)
    try:
        line = leads.line(whole.image(good), checkpoints)
    except Conflict:
        return whole
    between = [
        savepoints.manifest(context, savepoint.id)
        for savepoint in homes.reachable(context, savepoints.newest_first(context, job))
        if any(_on(line, image) and _inside(whole, image) for image in savepoint.queries if image.query == query)
    ]
    return replace(whole, line=line, between=tuple({whole.batch(manifest): manifest for manifest in between}.values()))


def _on(line: Line, image: QueryImage) -> bool:
    return line.times_ms.get(image.batch) == image.batch_timestamp_ms


def _inside(whole: Stretch, image: QueryImage) -> bool:
    return whole.batch(whole.good) < image.batch < whole.batch(whole.bad)
