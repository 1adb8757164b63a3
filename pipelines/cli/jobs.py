"""Verbs that look at jobs, and the one that forgets them: list, show, batches, forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.savepoints import savepoint_details
from pipelines.cli.session import Here, opened
from pipelines.domain.errors import NotFound
from pipelines.domain.experiments import BatchRow
from pipelines.domain.jobs import JobDetail, JobSummary, Run
from pipelines.domain.savepoints import RetainedBatch


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    app.command("list")(list_jobs)
    for verb in (show, batches, forget):
        app.command()(verb)


def list_jobs(ctx: typer.Context, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """List all jobs, worst first."""
    with opened(ctx, workspace, as_json) as here:
        jobs = here.face.jobs()
        if not jobs:
            output.tell("There are no jobs yet. 'python -m pipelines example' starts two.")
        here.show(jobs, _jobs_table(jobs, here.session.now_ms) if jobs else "")


def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a job, or a savepoint.", show_default=False)],
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Show one job or one savepoint. Of a job its numbers, queries and runs."""
    with opened(ctx, workspace, as_json) as here:
        try:
            job = here.face.job(name)
        except NotFound as no_job:
            _show_savepoint(here, name, no_job)
        else:
            here.show(job, _job_text(job, here.session.now_ms))


def batches(
    ctx: typer.Context,
    job: options.JobNamed,
    retained: Annotated[bool, typer.Option("--retained", help="Those that a savepoint can still be taken of.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many, the newest.")] = 20,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List a job's latest batches."""
    with opened(ctx, workspace, as_json) as here:
        if retained:
            kept = here.face.retained(job)[-limit:]
            here.show(kept, _retained_table(kept, here.session.now_ms))
        else:
            done = here.face.batches(job, limit=limit)
            here.show(done, _batches_table(done, here.session.now_ms))


def forget(ctx: typer.Context, job: options.JobNamed, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """Remove a job that does not run. Its runs, checkpoints and output go too; its savepoints stay."""
    with opened(ctx, workspace, as_json) as here:
        here.face.forget(job)
        here.session.tick()
        output.tell(f"{job} is forgotten; its savepoints stay")
        here.show({"forgotten": job}, "")


def _show_savepoint(here: Here, name: str, no_job: NotFound) -> None:
    """The savepoint of that name; where there is none either, the job is what was not found."""
    try:
        savepoint = here.face.savepoint(options.savepoint_name(name))
    except NotFound as error:
        raise NotFound(no_job.code, f"there is neither a job nor a savepoint {name!r}", no_job.hint) from error
    verification = here.face.verification(savepoint.id)
    shown = output.with_fields(savepoint, verification=verification)
    here.show(shown, savepoint_details(savepoint, verification, here.session.now_ms))


def _jobs_table(jobs: Sequence[JobSummary], now_ms: int) -> output.Table:
    titles = ("JOB", "STATE", "BATCH>", "P50>", "P99>", "INPUT>", "LAG>", "STATE SIZE>", "CHECKPOINT>", "SAVEPOINTS>", "PROGRESS>")
    return output.Table(titles, [_job_row(job, now_ms) for job in jobs])


def _job_row(job: JobSummary, now_ms: int) -> tuple[str, ...]:
    return (
        job.job.name,
        job.state.value if job.state else "never ran",
        formats.count(job.batch),
        formats.duration(job.batch_ms_p50),
        formats.duration(job.batch_ms_p99),
        formats.rate(job.input_rate),
        formats.duration(job.lag_ms),
        formats.size(job.state_bytes),
        formats.size(job.checkpoint_bytes),
        formats.count(job.savepoints),
        formats.ago(job.last_progress_ms, now_ms),
    )


def _job_text(job: JobDetail, now_ms: int) -> str:
    parts = [output.details(_job_pairs(job.summary, now_ms))]
    if job.queries:
        rows = [(seen.query, seen.query_id, seen.sink, seen.sink_path, seen.checkpoint) for seen in job.queries]
        parts.append(output.Table(("QUERY", "QUERY ID", "SINK", "OUTPUT", "CHECKPOINT"), rows).plain())
    if job.runs:
        titles = ("RUN", "STATE", "VERSION", "STARTED", "TOOK>", "FROM", "REASON")
        parts.append(output.Table(titles, [_run_row(run, now_ms) for run in job.runs]).plain())
    return "\n\n".join(parts)


def _job_pairs(job: JobSummary, now_ms: int) -> list[tuple[str, str]]:
    origin = f"{job.job.origin.savepoint} of {job.job.origin.job}" if job.job.origin else formats.NOTHING
    return [
        ("job", job.job.name),
        ("state", job.state.value if job.state else "never ran"),
        ("runs", "elsewhere: watched by its checkpoint" if job.job.attached else "here"),
        ("forked from", origin),
        ("created", formats.when(job.job.created_ms, now_ms)),
        ("last progress", formats.when(job.last_progress_ms, now_ms)),
        ("batch", formats.count(job.batch)),
        ("batch time p50, p99", f"{formats.duration(job.batch_ms_p50)}, {formats.duration(job.batch_ms_p99)}"),
        ("input, processed", f"{formats.rate(job.input_rate)}, {formats.rate(job.processed_rate)}"),
        ("watermark", formats.when(job.watermark_ms, now_ms)),
        ("lag", formats.duration(job.lag_ms)),
        ("late rows dropped", formats.count(job.late_rows)),
        ("state", f"{formats.count(job.state_rows)} rows, {formats.size(job.state_bytes)}"),
        ("checkpoint", formats.size(job.checkpoint_bytes)),
        ("savepoints", f"{formats.count(job.savepoints)}, last {formats.when(job.last_savepoint_ms, now_ms)}"),
        ("restarts", formats.count(job.restarts)),
        ("Spark UI", job.run.ui_url if job.run and job.run.ui_url else formats.NOTHING),
    ]


def _run_row(run: Run, now_ms: int) -> tuple[str, ...]:
    took = (run.ended_ms or now_ms) - run.started_ms if run.started_ms else None
    why = f"{run.exit.error_class} {run.exit.message}".strip().splitlines() if run.exit else []
    return (
        run.id,
        run.state.value,
        run.version,
        formats.exact(run.started_ms),
        formats.duration(took),
        run.from_savepoint or formats.NOTHING,
        why[0][:100] if why else formats.NOTHING,
    )


def _retained_table(kept: Sequence[RetainedBatch], now_ms: int) -> output.Table:
    rows = [
        (one.query, formats.count(one.batch), formats.when(one.timestamp_ms, now_ms), formats.exact(one.watermark_ms or None))
        for one in kept
    ]
    return output.Table(("QUERY", "BATCH>", "STARTED", "WATERMARK"), rows)


def _batches_table(done: Sequence[BatchRow], now_ms: int) -> output.Table:
    titles = ("QUERY", "BATCH>", "AT", "TOOK>", "INPUT ROWS>", "LATE ROWS>", "STATE ROWS>", "WATERMARK")
    rows = [
        (
            one.query,
            formats.count(one.batch),
            formats.when(one.at_ms, now_ms),
            formats.duration(one.batch_ms),
            formats.count(one.input_rows),
            formats.count(one.late_rows),
            formats.count(one.state_rows),
            formats.exact(one.watermark_ms),
        )
        for one in done
    ]
    return output.Table(titles, rows)
