"""The sinks of a restored savepoint: what is decided of each, and the log that its driver carries in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from pipelines.domain.delta_commits import BACK_FORMAT, Back
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.savepoints import Manifest, QueryImage, StoredFile
from pipelines.domain.sinks import BACK, FILE_SINKS, OWN, ROOT
from pipelines.savepoint import delta_tables, history, iceberg_sinks, iceberg_tables, layout, own_reads, own_tables, sinks
from pipelines.savepoint.history import History
from pipelines.savepoint.sink_places import Arguments, inside, moves_table, plain
from pipelines.savepoint.sinks import Choice, Decision
from pipelines.storage.protocol import Storage
from pipelines.words import formats

SINK_LOGS = ".sinks"


@dataclass(frozen=True)
class Brought:
    """The parent's data files, from its output directory `root` to the fork's, `to`: one of them is at a home."""

    root: str
    to: str
    files: tuple[StoredFile, ...]


@dataclass(frozen=True)
class RestoredSink:
    """One query's sink. Its log: the savepoint's where `as_it_is`, and the files `written` (name -> bytes) beside or instead."""

    image: QueryImage
    decision: Decision
    as_it_is: bool = False
    written: Mapping[str, bytes] = field(default_factory=dict)
    table: bool = False
    """Whether the savepoint's Delta table comes along."""
    brought: Brought | None = None
    """Files that are copied before the run begins, where its driver cannot link them."""

    to: str = ""
    """The directory that the fork's sink has instead of the parent's, of one whose log is carried; empty where its code alone knows it."""

    @property
    def logged(self) -> bool:
        """Whether there is a log, or a table, to carry."""
        return self.as_it_is or bool(self.written) or self.table


def of_branch(image: QueryImage, turned: iceberg_sinks.Turned) -> RestoredSink:
    """The sink of an Iceberg table, whose driver turns the branch."""
    return RestoredSink(image, turned.decision, written=turned.written)


def of_resume(manifest: Manifest) -> tuple[RestoredSink, ...]:
    """The same sinks again, each log as the savepoint has it."""
    return tuple(_resumed(manifest, image) for image in manifest.queries)


def for_resume(image: QueryImage) -> Decision:
    """The decision for a resume, with a look at its Delta or Iceberg table as that is now."""
    if iceberg_tables.is_table(image):
        return iceberg_sinks.resumed(image).decision
    return sinks.for_resume(image, delta_tables.hindrance(image) if sinks.is_table(image) else "")


def _resumed(manifest: Manifest, image: QueryImage) -> RestoredSink:
    if iceberg_tables.is_table(image):
        return of_branch(image, iceberg_sinks.resumed(image))
    decision = for_resume(image)
    if not sinks.is_table(image):
        sink = _as_it_was(manifest, image, decision, image.sink_path)
        return replace(sink, written={**sink.written, OWN: b""}) if sink.written else sink
    if decision.plan.action != "cut" or image.table is None:
        return RestoredSink(image, decision)
    back = Back(BACK_FORMAT, image.query_id, image.batch, image.table.version, image.table.version)
    return RestoredSink(image, decision, written={BACK: json.dumps(asdict(back)).encode()}, table=True)


def of_scratch(manifest: Manifest, arguments: Arguments) -> tuple[RestoredSink, ...]:
    """Where code that is rehearsed has what its sinks write to files of the job's own; nothing is carried there."""
    writers = [image for image in manifest.queries if image.sink.lower() in FILE_SINKS] if len(manifest.queries) > 1 else []
    plans = [(image, Decision(sinks.plan(image, "none", ""))) for image in writers]
    return tuple(RestoredSink(image, plan, to=history.own_place(image, arguments, manifest.job)) for image, plan in plans)


def of_fork(library: Storage, manifest: Manifest, arguments: Arguments, words: Mapping[str, str]) -> tuple[RestoredSink, ...]:
    """Sinks of the fork's own; Invalid (`fork.sink_choice`) for an unknown choice."""
    chosen = sinks.choices((image.query for image in manifest.queries), words)
    decided = (_forked(library, manifest, image, arguments, chosen[image.query]) for image in manifest.queries)
    begun = (_of_tables(manifest, sink, arguments) for sink in decided)
    return tuple(_for_readers(library, manifest, _without_strays(library, manifest, sink, arguments), arguments) for sink in begun)


def _of_tables(manifest: Manifest, sink: RestoredSink, arguments: Arguments) -> RestoredSink:
    decision = own_tables.forked(manifest.queries, sink.image, arguments, sink.decision)
    return sink if decision is sink.decision else RestoredSink(sink.image, decision)


def _without_strays(library: Storage, manifest: Manifest, sink: RestoredSink, arguments: Arguments) -> RestoredSink:
    """The sink, refused where its query reads what its job's own code puts into the job's output."""
    stray = own_reads.stray(library, manifest, sink.image, arguments)
    if not stray:
        return sink
    message = f"Query {sink.image.query} reads {stray}, in the output of {manifest.job}: a fork has an output of its own, without it"
    hint = "Give the directory that is read by its whole path in the arguments (a relative one is in the output): a fork reads it, too."
    return RestoredSink(sink.image, sinks.refused(sink.image, "restore.own_read", f"{message}.", hint))


def _for_readers(library: Storage, manifest: Manifest, sink: RestoredSink, arguments: Arguments) -> RestoredSink:
    """The sink with its directory in the fork; refused where another query has read what it wrote, and would not find that there."""
    if sink.image.sink.lower() not in FILE_SINKS or sink.decision.plan.action not in ("continue", "fresh") or len(manifest.queries) == 1:
        return sink
    is_fresh = sink.decision.plan.action == "fresh"
    to = "" if is_fresh else (sink.brought.to if sink.brought else history.own_place(sink.image, arguments, manifest.job))
    readers = [] if to else own_reads.readers(library, manifest, sink.image)
    if not readers:
        return replace(sink, to=to)
    message = f"Query {readers[0]} has read files that query {sink.image.query} wrote to {sink.image.sink_path}"
    why = "none of them would be in the fork's output" if is_fresh else "only the fork's code knows where its own output is"
    hint = f"Let the sink of {sink.image.query} continue." if is_fresh else f"Name the output in the arguments, within {OUTPUT}."
    return RestoredSink(sink.image, sinks.refused(sink.image, "restore.own_read", f"{message}: {why}.", hint))


def _forked(library: Storage, manifest: Manifest, image: QueryImage, arguments: Arguments, choice: Choice) -> RestoredSink:
    choice = choice if image.begun else Choice.FRESH
    if iceberg_tables.is_table(image):
        return of_branch(image, iceberg_sinks.forked(image, arguments, choice))
    decision = sinks.for_fork(image, arguments, choice)
    if sinks.is_table(image):
        continues = decision.plan.action == "continue"
        return RestoredSink(image, _sized(manifest, image, arguments, decision) if continues else decision, table=continues)
    match decision.plan.action:
        case "fresh":
            return RestoredSink(image, decision, written=history.empty_log(history.log_names(manifest, image), image.batch))
        case "continue":
            return _continued(library, manifest, image, decision, arguments)
    return RestoredSink(image, decision)


def _sized(manifest: Manifest, image: QueryImage, arguments: Arguments, decision: Decision) -> Decision:
    """With what a table costs whose folder the code alone knows: its driver links the files there, or copies them to another disk."""
    if not moves_table(image, arguments):
        return decision
    size = sum(file.bytes for file in manifest.files if file.path.startswith(f"{layout.table(image.query)}/"))
    message = f"{decision.plan.message} Its files are linked there; on another disk {formats.size(size)} are copied as the query starts."
    return replace(decision, plan=replace(decision.plan, message=message))


def _continued(library: Storage, manifest: Manifest, image: QueryImage, decision: Decision, arguments: Arguments) -> RestoredSink:
    if not history.log_names(manifest, image):
        return RestoredSink(image, _gone(image, "The savepoint holds no log of what the sink had written"))
    past = history.find(library, manifest, image, arguments.output)
    if past is None:
        return RestoredSink(
            image, _gone(image, f"The parent wrote to {image.sink_path}: only files of this machine, of S3 and of HDFS can be brought")
        )
    if past.gone:
        return RestoredSink(image, _lost(image, past))
    if "://" in past.root or "://" in arguments.own:
        return _brought(library, manifest, image, decision, arguments, past)
    if not past.moved:
        return _as_it_was(manifest, image, decision, past.root)
    moved = history.log_at(library, manifest, image, past.root)
    return RestoredSink(image, decision, written={**moved, ROOT: past.root.encode()})


def _brought(
    library: Storage, manifest: Manifest, image: QueryImage, decision: Decision, arguments: Arguments, past: History
) -> RestoredSink:
    """The log names the files where they are copied to, the same place below the fork's output as they have below the parent's."""
    if not arguments.own or not inside(image.sink_path, arguments.output):
        return RestoredSink(image, _gone(image, f"It is in {past.root}, and where the fork would write is known only within {OUTPUT}"))
    below = plain(image.sink_path).removeprefix(plain(arguments.output)).strip("/")
    to = f"{arguments.own}/{below}" if below else arguments.own
    written = {**history.log_at(library, manifest, image, to), ROOT: to.encode()}
    plan = replace(decision.plan, message=decision.plan.message.replace("are linked into", "are copied into"))
    return RestoredSink(image, replace(decision, plan=plan), written=written, brought=Brought(past.root, to, past.there))


def _as_it_was(manifest: Manifest, image: QueryImage, decision: Decision, root: str) -> RestoredSink:
    if not image.begun and decision.plan.action == "cut":
        return RestoredSink(image, decision, written={ROOT: root.encode()})
    if not history.log_names(manifest, image):
        return RestoredSink(image, decision)
    return RestoredSink(image, decision, as_it_is=True, written={ROOT: root.encode()})


def _lost(image: QueryImage, past: History) -> Decision:
    return _gone(image, f"{past.gone} of the {past.files} files with the rows up to batch {image.batch} are not in {past.root} any more")


def _gone(image: QueryImage, why: str) -> Decision:
    return sinks.refused(image, "restore.history_gone", f"The fork cannot continue its parent's output. {why}.", sinks.FRESH)
