"""Gets a file sink ready for its query: nobody else's output, the savepoint's log carried in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.sinks import BATCH, LOG, OWN, ROOT
from pipelines.driver.history import History, lines_of
from pipelines.driver.records import Records
from pipelines.driver.sinklog import Carry, Mend, batch_files, checkpoint_facts, checksum, decide_carry, decide_mend, newest
from pipelines.hadoop.paths import SCHEMES, HadoopPath, Place

LOG_VERSION = 1
"""Of FileStreamSinkLog."""


def local_path(text: str, default_fs: str = "file:///") -> Path | None:
    """`text` as a local path, None where it lies elsewhere; a path without scheme lies where Hadoop's default does."""
    scheme = urlsplit(text).scheme
    if scheme == "file":
        return Path(os.path.normpath("/" + text.removeprefix("file:").lstrip("/")))
    if scheme == "" and urlsplit(default_fs).scheme == "file":
        return Path(os.path.abspath(text))
    return None


def place_or_none(text: str) -> Place | None:
    """`text` as a path of this machine, or one of a file system that the suites ran on; None where it lies elsewhere."""
    if urlsplit(text).scheme in SCHEMES:
        return HadoopPath(text.rstrip("/"))
    return local_path(text)


def place(text: str) -> Place:
    """The checkpoints or the sink log that a run was told of: these lie on this machine, or at a home."""
    known = place_or_none(text)
    return Path(text) if known is None else known


def remove(folder: Place) -> None:
    """With all that is in it."""
    if isinstance(folder, HadoopPath):
        folder.remove()
    else:
        shutil.rmtree(folder)


def refuse_taken(query: str, path: str, paths: Iterable[str]) -> None:
    """Raises Conflict where another job's file sink writes: sharing one drops rows without an error."""
    for taken in paths:
        own, other = _comparable(path), _comparable(taken)
        if own == other or own.startswith(other + "/"):
            raise Conflict(
                "sink.taken",
                f"Query {query} would write to {path}, where another job's file sink already writes ({taken}).",
                "Give the output directory as {output} in the job's arguments: it becomes the job's own directory.",
            )


def refuse_fleeting(query: str, path: str, output: str) -> None:
    """Raises Conflict for a path in a working directory that is this run's alone, since its job's output is not of this machine."""
    local = place_or_none(path)
    if isinstance(local, Path) and local.is_relative_to(Path.cwd()) and not local.is_relative_to(output):
        raise Conflict(
            "sink.relative",
            f"Query {query} would write to {path}, in this run's folder: the job's next run would have another one, without these rows.",
            "Give the output directory as {output} in the job's arguments, which is the job's own directory, or as a whole path.",
        )


def prepare(spec: RunSpec, records: Records, query: str, path: str, checkpoint: str, spark: Any) -> None:
    """The steps before a query starts whose file sink writes to `path`, of this machine unless it is a URL, in this order:

    1. refuse another job's directory, and one of this run alone;
    2. carry the savepoint's sink log in (`carry`), and note a batch in it that rewrote the state (`fill`);
    3. refuse a log that is not this query's (`refuse_ahead`).
    """
    refuse_taken(query, path, spec.taken_paths)
    refuse_fleeting(query, path, spec.output)
    sink, source, live = place_or_none(path), spec.sink_logs.get(query), place_or_none(checkpoint)
    if source is not None and (sink is None or live is None):
        raise Unsupported(
            "sink.remote",
            f"Query {query} writes to {path}: a savepoint's sink log can be carried only from and to this machine, S3 (s3a://) and HDFS.",
            "Restore the savepoint to a local workspace and output, or use a sink without a log (Delta, Kafka, foreachBatch).",
        )
    if sink is None or live is None:
        return
    if source is not None:
        log = place(source)
        carry(records, query, log, sink, live, spec.run)
        if (log / BATCH).exists():
            fill(records, query, sink / LOG, ends(log), spark)
    refuse_ahead(query, sink, live)


def go_back(spec: RunSpec, records: Records) -> None:
    """Puts the logs of file sinks that go back where they are, before a query of the run reads there; each is gone then, so that it is not
    put there again. One whose state is rewritten goes back to where it is, and waits for its query."""
    for query, folder in spec.sink_logs.items():
        log = place(folder)
        root = _root(log) if (log / OWN).exists() and not (log / BATCH).exists() else None
        if root is not None:
            carry(records, query, log, root, place(spec.checkpoints) / folder_of(query), spec.run)
            remove(log)


def carry(records: Records, query: str, source: Place, sink: Place, checkpoint: Place, run: str) -> None:
    """Puts the savepoint's sink log into `sink`, whole or not at all; done again after a crash it ends the same.

    1. For a fork, link the data files that the log names into `sink`; those that are there already stay.
    2. Copy the entries with their checksums to `_spark_metadata.tmp-<run>` (begun anew if a crash left one), a fork's naming its own files.
    3. A log that is there belongs to batches after the savepoint: set it aside as `_spark_metadata.before-<run>`. If that
       exists already, an earlier start of this run got past this step, and the log is our own copy: drop it.
    4. Rename the copy to `_spark_metadata`. A crash before this leaves no log, and the next start begins at 1.
    """
    log = sink / LOG
    decision = decide_carry(ends(source), newest(checkpoint / "offsets"), newest(log) if log.is_dir() else None)
    if decision is Carry.NOTHING:
        return
    copy, before = sink / f"{LOG}.tmp-{run}", sink / f"{LOG}.before-{run}"
    root = _root(source)
    _refuse_elsewhere(query, root, sink)
    past = _moved(root, sink)
    missing = past.bring(lines_of(_entries(source))) if past is not None else 0
    if past is not None and missing:
        raise _history_gone(query, missing, past.root)
    _copy_log(source, copy, past)
    if decision is Carry.REPLACE and before.exists():
        remove(log)
    elif decision is Carry.REPLACE:
        log.rename(str(before))
    copy.rename(str(log))
    if newest(log) < 0:
        records.event("sink.anew", f"{sink} begins anew, as it was before the query's first batch: what it held is set aside.", query)
        return
    if root is None:
        records.event("sink.fresh", f"{sink} begins after batch {newest(log)}, with none of the rows up to it.", query)
        return
    done = f"in {sink} was cut back to batch" if str(root) == str(sink) else f"was carried from {root} into {sink}, up to batch"
    records.event("sink.carried", f"The output {done} {newest(log)}.", query)


def refuse_ahead(query: str, sink: Place, checkpoint: Place) -> None:
    """Raises Conflict where the sink's log is not this query's."""
    facts, log = checkpoint_facts(checkpoint), sink / LOG
    if decide_mend(facts, newest(log)) is Mend.REFUSE:
        raise Conflict(
            "sink.ahead",
            f"{sink} holds batches up to {newest(log)}, query {query}'s checkpoint has planned up to {facts.planned}: "
            "Spark would silently drop what the query writes until it passes them.",
            "Write to another directory ({output}), or resume from a savepoint that carries this sink's log.",
        )


def ends(source: Place) -> int:
    """The batch that a savepoint's sink log stands for: its newest, or the one after it that a rewriting of the state wrote."""
    rewritten = source / BATCH
    return int(rewritten.read_text()) if rewritten.exists() else newest(source)


def fill(records: Records, query: str, log: Place, batch: int, spark: Any) -> None:
    """Adds an entry without files for `batch`, where the log ends just before: rewriting the state was that batch, and no sink saw it.

    Without it Spark's next compaction fails, or no reader finds the batch (BATCH_METADATA_NOT_FOUND). Spark itself adds it, because
    only the session knows whether that batch is compacted (CompactibleFileStreamLog.add).
    """
    if newest(log) != batch - 1:
        return
    jvm = spark._jvm
    package = jvm.org.apache.spark.sql.execution.streaming.sinks
    entries = spark.sparkContext._gateway.new_array(package.SinkFileStatus, 0)
    url = f"file:{log}" if isinstance(log, Path) else str(log)
    sink_log = package.FileStreamSinkLog(LOG_VERSION, spark._jsparkSession, url, jvm.scala.Option.empty())
    if not sink_log.add(batch, entries):
        raise Conflict("sink.taken", f"Batch {batch} is in {log} already.", "Resume the job again.")
    records.event("sink.filled", f"Batch {batch}, which rewrote the state of query {query}, was noted in {log}: it has no rows.", query)


def _refuse_elsewhere(query: str, root: Place | None, sink: Place) -> None:
    """Raises Unsupported (`sink.remote`) where the output that goes on lies at a home, and the query writes to another directory."""
    if root is not None and root != sink and (isinstance(root, HadoopPath) or isinstance(sink, HadoopPath)):
        message = f"Query {query} writes to {sink}, and the output that it continues was brought to {root}."
        raise Unsupported("sink.remote", message, "Write to the same place below {output} as before, or fork with the sink fresh.")


def _moved(root: Place | None, sink: Place) -> History | None:
    """The history that moves from `root` into another directory of this machine; at a home the server has copied it there already."""
    return History(root, sink) if isinstance(root, Path) and isinstance(sink, Path) and root != sink else None


def _root(source: Place) -> Place | None:
    """The directory with the files that the log names; None for a log that names none."""
    file = source / ROOT
    return place_or_none(file.read_text()) if file.exists() else None


def _history_gone(query: str, missing: int, root: Path) -> Conflict:
    return Conflict(
        "sink.history_gone",
        f"{missing} of the files with the rows that query {query} had written until the savepoint are gone from {root}: "
        "its output would lack those rows.",
        "Put the files back and resume the job, or fork the savepoint with its sink fresh: the output then holds only new rows.",
    )


def _entries(log: Place) -> list[Place]:
    return [path for paths in batch_files(log).values() for path in paths]


def _copy_log(source: Place, target: Place, past: History | None) -> None:
    """Checksums are of a local file system, and beside each entry that keeps its content there."""
    if target.exists():
        remove(target)
    target.mkdir(parents=True)
    for entry in _entries(source):
        if past is not None:
            (target / entry.name).write_bytes("\n".join(map(past.entry, entry.read_text().splitlines())).encode())
            continue
        (target / entry.name).write_bytes(entry.read_bytes())
        if isinstance(target, Path) and checksum(entry).exists():
            (target / checksum(entry).name).write_bytes(checksum(entry).read_bytes())


def _comparable(path: str) -> str:
    local = local_path(path)
    return str(local) if local is not None else path.rstrip("/")
