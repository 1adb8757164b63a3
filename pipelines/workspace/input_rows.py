"""The input rows of a failed batch: its sources' logs are copied aside, and Spark reads there what the batch reads of each source."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipelines.checkpoint import commits, logs, offsets
from pipelines.domain.errors import Conflict, Unavailable, Unsupported
from pipelines.domain.input_rows import RESULT_FILE, TASK_FILE, InputRows, InputsRead, InputTask, SourceTask
from pipelines.domain.lockstep import UNREPEATABLE
from pipelines.domain.restarts import FailedBatch
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import LOG_FILE, QueryStarted
from pipelines.sandbox import processes
from pipelines.sandbox.states import timeout_s
from pipelines.savepoint import source_checkpoints
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.input_rows import InputRowsPlan, ReadInputRows
from pipelines.workspace import environments, rehearsals, runs, sources, verifications, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

READER = "pipelines.driver.input_rows"
NO_BATCH = "input_rows.no_failed_batch"
NOTHING_NEW = "The batch reads nothing of it."


@plans(ReadInputRows)
def plan(context: Context, change: ReadInputRows) -> Planned[InputRows, InputRowsPlan]:
    """Raises NotFound (`job.not_found`), Conflict (`input_rows.no_failed_batch`)."""
    job = runs.known(context, change.job)
    newest = runs.newest(context, job)
    failed = newest.restart.batch if newest is not None and newest.restart is not None else None
    if newest is None or failed is None:
        hint = "Its newest run did not fail at a batch that is known. Show the job: it says at what it failed, if it did."
        raise Conflict(NO_BATCH, f"Job {job} has no batch that it failed at", hint)
    plan = InputRowsPlan(job, newest.version, failed)
    return Planned(plan, lambda ticket: _read(context, plan, change.limit, ticket))


def _read(context: Context, plan: InputRowsPlan, limit: int, ticket: Ticket) -> InputRows:
    """1. What of the checkpoint says which rows the batch reads is copied aside; 2. the job's code says what the sources are, and Spark
    reads them. Nothing is left."""
    began, folder, failed = time.monotonic(), context.layout.sandbox_folder(ticket.operation), plan.batch
    started = next(query for query in sources.started_before(context, plan.job)[::-1] if query.query == failed.query)
    with verifications.turn(context, ticket):
        folder.mkdir(parents=True)
        try:
            ticket.step("copying the sources' logs")
            task = InputTask(failed.query, limit, tuple(_tasks(context, started, failed, folder)))  # 1
            read = _in_sandbox(context, plan, task, folder, ticket)  # 2
        finally:
            shutil.rmtree(folder)
    if read.problem:
        message = f"The sources of {failed.query} are not known: {read.problem}"
        raise Unsupported("input_rows.code", message, "Offsets and files of the batch are on the job's page, and in show.")
    return InputRows(plan.job, failed.query, failed.batch, read.sources, (time.monotonic() - began) * 1000)


def _tasks(context: Context, started: QueryStarted, failed: FailedBatch, folder: Path) -> Iterator[SourceTask]:
    """The sources in the order of the offset log, each with a checkpoint of its own in `folder` where it is to be read."""
    storage = open_storage(started.checkpoint)
    _refuse_passed(storage, failed)
    for at, (key, is_read) in enumerate(source_checkpoints.moved(storage, failed.batch).items()):
        name = started.sources[int(key)] if key.isdigit() and int(key) < len(started.sources) else key
        if not is_read or name in UNREPEATABLE:
            yield SourceTask(key, name, problem=f"It cannot be read again: {UNREPEATABLE[name]}." if is_read else NOTHING_NEW)
            continue
        place = f"source-{at}"
        for path, data in source_checkpoints.of_source(storage, failed.batch, key, context.new_query_id()):
            target = folder / place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        yield SourceTask(key, name, place, files=source_checkpoints.files(storage, failed.batch, key))


def _refuse_passed(storage: Storage, failed: FailedBatch) -> None:
    """Conflict where the batch does not wait any more."""
    planned, done = (set(logs.batch_ids(Path(entry.path).name for entry in storage.list(of))) for of in (offsets.FOLDER, commits.FOLDER))
    if failed.batch not in planned or failed.batch in done:
        message = f"Batch {failed.batch} of query {failed.query} is not waiting any more"
        raise Conflict(NO_BATCH, message, "Show the job: it has gone on, or its checkpoint is another one.")


def _in_sandbox(context: Context, plan: InputRowsPlan, task: InputTask, folder: Path, ticket: Ticket) -> InputsRead:
    version = versions.get(context, plan.version)
    runtime = environments.entered(context, environments.make(context, version, ticket)).runtime
    begun = sources.started_before(context, plan.job)
    spec = replace(
        rehearsals.beginning_spec(context, plan.job, version, folder, str(folder / "checkpoints")),
        expected=tuple({query.query: None for query in begun}),
        locations={query.query: query.location for query in begun},
    )
    (folder / SPEC_FILE).write_bytes(documents.encode(spec))
    (folder / TASK_FILE).write_bytes(documents.encode(task))
    ticket.step("reading the input rows")
    work = rehearsals.work(READER, runtime, spec)
    context.sparks.run(work, folder, LOG_FILE, ticket.check, timeout_s())
    answer = folder / RESULT_FILE
    if not answer.is_file():
        message = f"The sandbox ended without an answer. Its last words:\n{processes.tail(folder / LOG_FILE, work.hidden)}"
        raise Unavailable("sandbox.failed", message, "Look at the job's confs and interpreter; then try again.")
    return documents.decode(InputsRead, answer.read_bytes(), RESULT_FILE)
