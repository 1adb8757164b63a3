"""Rehearsals: the savepoint's own code run by the driver for one batch from a restored checkpoint, into a scratch output."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.checkpoint import commits, logs
from pipelines.domain import masters, spark_metrics
from pipelines.domain.ids import JobName, QueryName, RunId, folder_of
from pipelines.domain.job_places import s3_conf
from pipelines.domain.json_text import read_json
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.progress import Progress, read_progress
from pipelines.domain.rehearsals import NO_DATA, RehearsedBatch, batch_file
from pipelines.domain.run_specs import SPEC_FILE, SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE, EXIT_FILE, LOG_FILE, PROGRESS_FILE, Exit
from pipelines.domain.runtimes import Runtime
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.trust import Damage, ScratchBatch
from pipelines.domain.versions import Version
from pipelines.sandbox import processes, secret_values
from pipelines.sandbox.pool import Work
from pipelines.sandbox.states import timeout_s
from pipelines.savepoint import layout, own_reads, own_tables
from pipelines.savepoint.targets import Scratch
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.workspace import hadoop, job_places, large_files, rehearsed_reads, run_confs
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

DRIVER = "pipelines.driver"
RUN = "run"
REHEARSAL = "rehearsal"
PATIENCE_VARIABLE = "TIDEMARK_REHEARSAL_PATIENCE_S"
PATIENCE_S = 60.0
QUIET = {"spark.ui.enabled": "false"}
NO_CODE = "The state was read; the job's code, which runs elsewhere, is not known here, so no batch was run."
OF_THE_STATE = ("CANNOT_LOAD_STATE_STORE", "STATE_STORE_")
OF_THE_CODE = ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE")
"""Error classes of the state that the code brings about: it is not what it was, or is not the same in each run."""


@dataclass(frozen=True)
class Rehearsed:
    """The outcome: the batches that were run, the state that Spark could not load, and why a batch is missing."""

    batches: tuple[ScratchBatch, ...]
    damages: tuple[Damage, ...] = ()
    note: str = ""
    failed: bool = False
    """Whether the code failed, or ended before every query had run a batch."""

    @property
    def problem(self) -> str:
        """Why the code does not go on with that state; empty where it does."""
        if not self.failed and not self.damages:
            return ""
        return self.note or "; ".join(damage.message for damage in self.damages) or "It failed without a word."


def target(context: Context, manifest: Manifest, folder: Path, checkpoints: str, version: Version) -> Scratch:
    """What a savepoint is restored to before the code of `version` is rehearsed in `folder`: a query that reads what another one writes to
    the job's own output finds there what its job has now, and knows what it had read."""
    output, warehouse = str(folder / OUTPUT), str(folder / WAREHOUSE)
    parent_output = job_places.parent_output(context, manifest)
    scratch = Scratch(manifest.job, checkpoints, context.new_query_id, True, parent_output, output, warehouse, version)
    rehearsed_reads.lay_out(context, manifest, scratch, folder)
    return scratch


def rehearse(
    context: Context,
    manifest: Manifest,
    runtime: Runtime,
    folder: Path,
    checkpoints: str,
    ticket: Ticket,
    new_queries: tuple[str, ...] = (),
    idle: tuple[str, ...] = (),
) -> Rehearsed:
    """Runs, on `runtime`, one batch of each query from the folder `checkpoints`, wherever that is; all else is below `folder`. `idle` are
    those that have none to run, and are not waited for.

    Raises Unavailable, and what `ticket` raises."""
    if not manifest.version.code:
        return Rehearsed((), note=NO_CODE)
    home = folder / RUN
    home.mkdir()
    (folder / WAREHOUSE).mkdir(exist_ok=True)
    spec = replace(
        scratch_spec(context, manifest, manifest.version, folder, checkpoints, new_queries),
        rehearsal=str(folder / REHEARSAL),
        rehearsal_patience_s=float(os.environ.get(PATIENCE_VARIABLE, PATIENCE_S)),
        rehearsal_idle=idle,
    )
    (home / SPEC_FILE).write_text(json.dumps(asdict(spec)))
    ticket.step("running a batch", len(manifest.begun), "batches")
    reported = 0

    def watch() -> None:
        nonlocal reported
        done = sum((folder / REHEARSAL / batch_file(image.query)).exists() for image in manifest.begun)
        ticket.advance(done - reported)
        reported = done

    driver = work(DRIVER, runtime, spec)
    context.sparks.run(driver, home, LOG_FILE, watch, timeout_s())
    ran = _outcome(manifest, folder, checkpoints, driver.hidden)
    return replace(ran, note=" ".join(filter(None, (ran.note, *_of_own(context, manifest, ran)))))


def work(module: str, runtime: Runtime, spec: RunSpec, *others: RunSpec) -> Work:
    """`module` of the driver's, with the Spark that `spec` asks for; it runs the code of `others`, too."""
    conf = {**spec.conf, **s3_conf(spec.checkpoints, spec.conf, os.environ)}
    hidden = (value for each in (spec, *others) for value in secret_values.hidden(each.conf, each.args))
    return Work(module, runtime, spec.master, conf, is_last=True, hidden=tuple(hidden))


def scratch_spec(
    context: Context, manifest: Manifest, version: Version, folder: Path, checkpoints: str, new_queries: tuple[str, ...] = ()
) -> RunSpec:
    """A run of `version` on the savepoint's state with all it writes below `folder`, where its code is laid down."""
    return replace(
        beginning_spec(context, manifest.job, version, folder, checkpoints),
        from_savepoint=manifest.id,
        expected=tuple(image.query for image in manifest.begun),
        new_queries=(*(image.query for image in manifest.queries if not image.begun), *new_queries),
        locations={image.query: image.location for image in manifest.queries},
    )


def beginning_spec(context: Context, job: JobName, version: Version, folder: Path, checkpoints: str) -> RunSpec:
    """A run of `version` that begins without state, with all it writes below `folder`, where its code is laid down."""
    output, code = str(folder / OUTPUT), folder / "code"
    for path, data in version.contents.items():
        (code / path).parent.mkdir(parents=True, exist_ok=True)
        (code / path).write_bytes(data)
    places = large_files.places(context, version)
    args, conf = run_confs.settings(version, job, str(code), hadoop.told(output, version.conf), places)
    return RunSpec(
        format=SPEC_FORMAT,
        run=RunId(RUN),
        job=job,
        version=version.id,
        script=str(code / version.script),
        args=args,
        conf={**spark_metrics.without_sinks(masters.without_deploy_mode(conf)), **QUIET},
        master=masters.beside(version.master),
        checkpoints=checkpoints,
        output=output,
        code=str(code) if version.files else "",
        outside=large_files.places_of(version, places),
        warehouse=str(folder / WAREHOUSE),
    )


def _outcome(manifest: Manifest, folder: Path, checkpoints: str, hidden: Sequence[bytes]) -> Rehearsed:
    home = folder / RUN
    progress = [read_progress(raw) for raw in _lines(home / PROGRESS_FILE)]
    batches = tuple(batch for image in manifest.begun if (batch := _batch(image, folder / REHEARSAL, checkpoints, progress)))
    exit_file = home / EXIT_FILE
    ending = rebuilt(Exit, read_json(exit_file.read_text())) if exit_file.is_file() else None
    if ending is not None and ending.reason == "failed" and _blames_state(ending.error_class):
        return Rehearsed(batches, (Damage(_place(manifest, ending.message), "state", f"{ending.error_class}: {ending.message}"),))
    missing = [image.query for image in manifest.begun if image.query not in {batch.query for batch in batches}]
    idle = _idle(home, missing)
    failed = ending is None or ending.reason == "failed" or len(idle) < len(missing)
    return Rehearsed(batches, note=_note(home, ending, missing, idle, hidden), failed=failed)


def _batch(image: QueryImage, rehearsal: Path, checkpoints: str, progress: list[Progress]) -> ScratchBatch | None:
    """The query's batch, where it was written and committed."""
    file = rehearsal / batch_file(image.query)
    if not file.is_file():
        return None
    written = rebuilt(RehearsedBatch, read_json(file.read_text()))
    ran = next((event for event in progress if event.query == image.query and event.batch == written.batch), None)
    committed = open_storage(f"{checkpoints}/{folder_of(image.query)}").list(commits.FOLDER)
    if ran is None or written.batch not in logs.batch_ids(paths.name(entry.path) for entry in committed):
        return None
    return ScratchBatch(image.query, written.batch, ran.input_rows or 0, written.output_rows, ran.batch_ms)


def _of_own(context: Context, manifest: Manifest, ran: Rehearsed) -> Iterator[str]:
    """A sentence for each query without a batch that reads what another one writes: nothing is written in a rehearsal."""
    left = {image.query for image in manifest.begun} - {batch.query for batch in ran.batches}
    for writer in manifest.queries if left else ():
        of_table = own_tables.reader(manifest.queries, writer)
        for query in (*own_reads.readers(context.shelf(manifest.id), manifest, writer), *([of_table] if of_table else [])):
            if query in left:
                yield f"{query} reads what {writer.query} writes, and no sink writes here: it had what was there already, and no more."


def _blames_state(error_class: str) -> bool:
    return error_class.startswith(OF_THE_STATE) and not error_class.startswith(OF_THE_CODE)


def _place(manifest: Manifest, message: str) -> str:
    """Path of the state of the query that the message begins with."""
    queries = [image.query for image in manifest.queries if message.startswith(f"query {image.query}:")]
    return f"{layout.checkpoint((queries or [manifest.queries[0].query])[0])}/state"


def _idle(home: Path, missing: list[QueryName]) -> list[QueryName]:
    """Queries whose sources had nothing new."""
    waiting = {event["query"] for event in _lines(home / EVENTS_FILE) if event["kind"] == NO_DATA}
    return [query for query in missing if query in waiting]


def _note(home: Path, ending: Exit | None, missing: list[QueryName], idle: list[QueryName], hidden: Sequence[bytes]) -> str:
    """Why not every query ran a batch, and what to do; empty where all did."""
    if ending is None:
        return f"The job's code ended without a word. Its last lines:\n{processes.tail(home / LOG_FILE, hidden)}"
    if ending.reason == "failed":
        return f"The state was read, but the job's code failed before its batch was done: {ending.error_class}: {ending.message}"
    if ending.reason == "killed":
        return ending.message
    absent = [query for query in missing if query not in idle]
    sentences = [f"The sources of {', '.join(idle)} had nothing new to run a batch with: try again when they have."] if idle else []
    sentences += [f"The job's code ended before {', '.join(absent)} ran a batch."] if absent else []
    return " ".join(sentences)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Whole JSON lines of a file of the run."""
    text = path.read_text() if path.is_file() else ""
    return (read_json(line) for line in text.split("\n")[:-1])
