"""Attachments: jobs that run elsewhere, known by the checkpoints of their queries.

Such a job has one run, in the state `watched`: no process of ours, never started, never stopped. Its `queries.jsonl` says what a driver
would have said, so that savepoints, lists and pages find its queries like any other's. The order of a beginning is that of `runs`:
`wanted.json`, written last, publishes. What belongs to the job that runs elsewhere is only read.
"""

from __future__ import annotations

import json
import os
import posixpath
import shutil
from collections.abc import Mapping
from dataclasses import replace

from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.checkpoint import commits, logs, metadata, operators, sink_log
from pipelines.domain import files, secrets
from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound
from pipelines.domain.ids import JobName, QueryName, RunId, job_name, query_name
from pipelines.domain.jobs import Job, Run, Wanted
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import QUERIES_FILE, QueryStarted, RunState
from pipelines.domain.runtimes import Runtime
from pipelines.domain.sinks import FILE_SINKS
from pipelines.domain.versions import Version, version
from pipelines.storage import folders
from pipelines.storage.addresses import LOCAL_ADDRESSES, open_storage
from pipelines.verbs.attach import Attach, AttachPlan
from pipelines.workspace import events, ingestion, runs, runtimes, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.runs import Beginning

UNKNOWN_SCRIPT = "unknown.py"
"""Name of a script that nobody gave us."""
ATTACHING = JobName(".attaching")
"""Held while a checkpoint is attached: of two that attach the same one, the second finds it attached."""


@plans(Attach)
def plan(context: Context, change: Attach) -> Planned[Run, AttachPlan]:
    """Raises NotFound (`checkpoint.not_found`, `attach.no_sink_log`), AlreadyExists (`job.exists`, `attach.attached`), Conflict
    (`attach.own`: a job of this workspace writes it), Invalid.
    """
    name, at_ms = job_name(change.name), context.now_ms()
    checkpoints = {query: _resolved(url) for query, url in _named(change).items()}
    sink_path = _sink_path(change, checkpoints)
    _refuse_taken(context, name, checkpoints)
    query_ids = {query: metadata.read(open_storage(url)).query_id for query, url in checkpoints.items()}
    version = _version(change, at_ms)
    versions.check(version)
    started = [
        QueryStarted(query, query_ids[query], "", url, change.sink, sink_path, "", change.spark_version, at_ms, operators=_operators(url))
        for query, url in checkpoints.items()
    ]
    return Planned(AttachPlan(name, version.id, checkpoints), lambda _: _attach(context, name, version, started))


def _operators(url: str) -> int:
    """How many stateful operators the checkpoint has: in format 1 nothing in it says so once all of its state is gone."""
    return len(logs.batch_ids(folders.children(open_storage(url), operators.FOLDER)))


def _attach(context: Context, name: JobName, version: Version, started: list[QueryStarted]) -> Run:
    with context.holding(ATTACHING), context.holding(name):
        _refuse_taken(context, name, {query.query: query.checkpoint for query in started})
        return _publish(context, name, versions.keep(context, version), started)


def _refuse_taken(context: Context, name: JobName, checkpoints: Mapping[QueryName, str]) -> None:
    runs.free(context, name)
    for url in checkpoints.values():
        _refuse_known(context, url)


def refuse(context: Context, job: JobName, action: str) -> None:
    """Raises Conflict (`job.attached`) where `job` runs elsewhere: it cannot be `action` (stopped, resumed) from here."""
    known_job = context.files.job(job)
    if known_job is not None and known_job.attached:
        hint = "Do that where it runs; or take a savepoint of it and fork that: the fork runs here."
        raise Conflict("job.attached", f"Job {job} runs elsewhere and is only watched: it cannot be {action} from here", hint)


def _named(request: Attach) -> Mapping[QueryName, str]:
    """Query -> address as it was given."""
    addresses = {query_name(query): url for query, url in request.checkpoints.items()}
    if not addresses or not all(url.strip() for url in addresses.values()):
        raise Invalid("attach.no_checkpoint", "No checkpoint was named", "Give the checkpoint location of each query of the job.")
    if len(addresses) < len(request.checkpoints):
        raise Invalid("attach.names", "Two queries have the same name", "Give each its own: letters, digits, '_', '-' and '.'.")
    if len({_resolved(url) for url in addresses.values()}) < len(addresses):
        raise Invalid("attach.twice", "Two queries have the same checkpoint", "Give each query the checkpoint location that is its own.")
    return addresses


def _resolved(url: str) -> str:
    """Absolute: a local path without symbolic links, a URL without a slash at its end."""
    text = url.strip()
    if text.startswith(LOCAL_ADDRESSES):
        return os.path.realpath(open_storage(text).url)
    return text.rstrip("/") if "://" in text else os.path.realpath(os.path.expanduser(text))


def _sink_path(request: Attach, places: Mapping[QueryName, str]) -> str:
    """Where the file sink writes, empty for other sinks; checked, because a fork that misses its history would say nothing."""
    if request.sink.lower() not in FILE_SINKS:
        return _resolved(request.sink_path) if request.sink_path else ""
    if not request.sink_path or len(places) > 1:
        why = "A file sink is that of one query, and has an output directory"
        raise Invalid("attach.sink", why, "Attach that query alone, with its sink_path; or name no sink.")
    path, (checkpoint,) = _resolved(request.sink_path), places.values()
    committed = any(open_storage(checkpoint).list(commits.FOLDER))
    if committed and not any(open_storage(path).list(sink_log.FOLDER)):
        why = f"{path} is no output of a streaming file sink: it has no {sink_log.FOLDER}"
        raise NotFound("attach.no_sink_log", why, "Give the directory that the query's start() or path option names.")
    return path


def _refuse_known(context: Context, url: str) -> None:
    root = os.path.realpath(context.layout.root)
    if url == root or url.startswith(root + os.sep):
        raise Conflict("attach.own", f"{url} is in this workspace", "Its job is here already: take a savepoint of that job, and fork it.")
    with context.catalog.reading() as reader:
        name = next((job for job, checkpoint in run_rows.checkpoints(reader) if _same(url, checkpoint)), None)
        job = job_rows.find(reader, name) if name else None
    if job is not None and job.attached:
        raise AlreadyExists("attach.attached", f"{url} is attached already, as job {job.name}", "Use that job, or forget it first.")
    if job is not None:
        raise Conflict("attach.own", f"{url} is a checkpoint of job {job.name} here", "Take a savepoint of that job, and fork it.")


def _same(url: str, other: str) -> bool:
    """Whether two addresses are equal, or one is below the other."""
    a, b = (posixpath.normpath(address) if "://" not in address else address.rstrip("/") for address in (url, other))
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _version(request: Attach, now_ms: int) -> Version:
    """The version of an attached job. Without code it cannot be run, but a fork with code takes over its arguments and confs."""
    script = versions.script_name(request.script) if request.script else UNKNOWN_SCRIPT
    runtime = runtimes.named(Runtime(request.python, request.java_home))
    return version(
        script,
        request.code,
        args=secrets.unmasked_args(request.args, ()),
        conf=secrets.unmasked(request.conf, {}),
        master=request.master,
        python=runtime.python,
        java_home=runtime.java_home,
        source=request.script,
        created_ms=now_ms,
        files=files.changed({}, request.files or {}),
        outside=request.outside,
        requirements=versions.given(request.requirements),
    )


def _publish(context: Context, name: JobName, frozen: Version, started: list[QueryStarted]) -> Run:
    """Writes the job's files, `wanted.json` last, then the catalog. Leaves nothing behind on an error."""
    runs.claim(context, name)
    run, job = RunId(context.new_id("r")), Job(name, context.now_ms(), attached=True)
    spec = runs.make_spec(context, Beginning(name, run, frozen), str(context.layout.checkpoints(name, run)), {}, "")
    queries = "".join(json.dumps(start.as_json(), separators=(",", ":")) + "\n" for start in started)
    try:
        context.files.write(context.layout.run(name, run) / SPEC_FILE, spec)
        context.files.write_bytes(context.layout.run(name, run) / QUERIES_FILE, queries.encode())
        context.files.write(context.layout.job_file(name), job)
        context.files.write(context.layout.wanted_file(name), Wanted(run))
    except BaseException:
        shutil.rmtree(context.layout.job(name))
        raise
    watched = replace(runs.wanted_run(spec), state=RunState.WATCHED)
    with context.catalog.writing() as writer:
        job_rows.save(writer, [job])
        run_rows.save(writer, [watched])
    ingestion.follow(context, ingestion.of_run(context, name, run))
    where = ", ".join(start.checkpoint for start in started)
    events.say(context, "job.attached", name, run, f"{name} runs elsewhere and is watched from here: {where}")
    context.changed.set()
    return watched
