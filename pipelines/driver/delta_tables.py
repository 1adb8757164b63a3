"""Gives a fork's query a Delta table of its own: the savepoint's version of its parent's, or an empty one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.domain.delta import DELTA, LOG
from pipelines.domain.delta_commits import Back
from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.run_specs import ANY_TABLE, RunSpec
from pipelines.domain.sinks import TABLE
from pipelines.driver import delta_back
from pipelines.driver.history import bring
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from pipelines.driver.sinks import local_path

CARRIED = "carried"
OWN = "tables"
"""In a fork's output: the tables that its driver names."""


def give_own(spec: RunSpec, records: Records, query: str, writer: Any, request: Asked, default_fs: str) -> Asked:
    """Replaces the path of a Delta writer by one in the fork's own output, where `spec.own_tables` says so; answers with what is asked for
    now."""
    taken = spec.own_tables.get(query, "")
    if not taken or request.format.lower() != DELTA or request.table or not request.path:
        return request
    if taken != ANY_TABLE and str(local_path(request.path, default_fs)) != taken:
        return request
    own = f"{spec.output}/{OWN}/{folder_of(query)}"
    writer.option("path", own)
    records.event("table.replaced", f"It writes to the Delta table {own}: its code says {request.path}, a table of its parent's.", query)
    return replace(request, options={**request.options, "path": own})


def carries(spec: RunSpec, query: str, request: Asked) -> bool:
    """Whether the query's part of the savepoint is a table that was not carried yet. Raises Unsupported (`sink.remote`)."""
    folder = spec.sink_logs.get(query, "")
    if "://" in folder and request.format.lower() == DELTA:
        message = f"The savepoint's Delta table of query {query} lies at {folder}: only one in a local folder can be carried."
        raise Unsupported("sink.remote", message, "Fork to a local workspace, or with its sink fresh.")
    return query in spec.sink_logs and _source(spec, query).is_dir()


def carry(spec: RunSpec, records: Records, query: str, request: Asked, default_fs: str, spark: Any) -> None:
    """Puts the savepoint's table where the query writes, whole or not at all; done again after a crash it ends the same. Where a job goes
    back in time its table is there, and becomes what the savepoint's is.

    1. Link the data files.
    2. Link the log into a folder beside it, begun anew if a crash left one.
    3. Give that its name: from here on the table is there.
    4. Delete the copy that was restored, after its name is gone, so that nothing is carried again.
    """
    source, sink = _source(spec, query), local_path(request.path, default_fs) if request.path else None
    if request.format.lower() != DELTA or request.table or sink is None:
        raise Unsupported(
            "sink.changed",
            f"Query {query} wrote to a Delta table in a folder until the savepoint, and would go on elsewhere ({request.format}).",
            "Let it write to a Delta table, or fork the savepoint with its sink fresh.",
        )
    log, back = sink / LOG, delta_back.asked(source.parent)
    if back is not None and back.folder not in ("", str(sink)):
        message = f"The savepoint's table is to become the one in {back.folder}, and query {query} writes to {sink}."
        raise Conflict("sink.changed", message, "Let its arguments name that folder.")
    if not log.exists():
        _begin(source, sink)  # 1 to 3
        records.event("sink.carried", f"{sink} begins with the savepoint's version of the Delta table.", query)
    elif back is not None:
        _go_back(spark, records, query, source, sink, back)
    elif not _is_ours(source / LOG, log):
        raise Conflict("sink.taken", f"Query {query} would go on in {sink}, where another Delta table is.", "Give the fork another folder.")
    carried = source.with_name(CARRIED)
    source.rename(carried)  # 4
    shutil.rmtree(carried)


def _begin(source: Path, sink: Path) -> None:
    _link((path for path in _files(source) if path.parts[0] != LOG), source, sink)  # 1
    aside = sink / f"{LOG}.tmp"
    if aside.exists():
        shutil.rmtree(aside)
    _link(_files(source / LOG), source / LOG, aside)  # 2
    aside.rename(sink / LOG)  # 3


def _go_back(spark: Any, records: Records, query: str, source: Path, sink: Path, back: Back) -> None:
    version = delta_back.go_back(spark, source, sink, back, records.now_ms())
    if version is not None:
        done = "became what its variant's is" if back.folder else "went back to what it was"
        message = f"{sink} {done} after batch {back.batch}, by its version {version}: rows of later batches are cut."
        records.event("sink.cut", message, query)


def _source(spec: RunSpec, query: str) -> Path:
    return Path(spec.sink_logs[query], TABLE)


def _files(folder: Path) -> Iterator[Path]:
    return (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _link(names: Iterator[Path], source: Path, target: Path) -> None:
    for name in list(names):
        bring(source / name, target / name)


def _is_ours(brought: Path, log: Path) -> bool:
    """Whether `log` was carried from `brought`, by the newest commit: it names a transaction's own id."""
    newest = max((path.name for path in brought.glob("*.json")), default="")
    return (log / newest).is_file() and (log / newest).read_bytes() == (brought / newest).read_bytes()
