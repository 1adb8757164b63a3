"""Jobs as text: the table of all, one with its queries and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import Shown, command, shows
from pipelines.cli.nouns.savepoints import savepoint_details
from pipelines.cli.session import Here
from pipelines.cli.words import savepoint_name
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import JobDetail, JobSummary, Run
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs, ListRuns, ShowJob, ShowLease
from pipelines.verbs.savepoints import ReadVerification, ShowSavepoint
from pipelines.words import (
    backlog,
    catching_up,
    clusters,
    edges,
    formats,
    homes,
    limits,
    probations,
    resources,
    restarts,
    schedules,
    triggers,
)
from pipelines.words import observed as observed_words
from pipelines.words import savepoints as words


@shows(ListJobs)
def _jobs(here: Here, question: ListJobs, jobs: Sequence[JobSummary]) -> str | output.Table:
    if not jobs:
        output.tell("There are no jobs in this workspace yet. 'python -m pipelines example' starts two.")
    return _jobs_table(jobs, here.session.now_ms) if jobs else ""


@shows(Forget)
def _forgotten(here: Here, change: Forget, answer: None) -> Shown:
    output.tell(f"{change.job} is forgotten; its savepoints stay")
    return Shown({"forgotten": change.job}, "")


@command("show", "jobs")
def show(
    here: Here, name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a job, or a savepoint.", show_default=False)]
) -> None:
    """Show one job or one savepoint. Of a job it shows the numbers, queries and runs."""
    try:
        job = here.face.ask(ShowJob(name))
    except NotFound as no_job:
        _show_savepoint(here, name, no_job)
    else:
        _show_job(here, job)


def _show_job(here: Here, job: JobDetail) -> None:
    """Shows the job; of one in another storage with its lease, which is read there."""
    if not is_remote(job.summary.job.place):
        here.show(job, _job_text(job, here.session.now_ms))
        return
    try:
        lease = here.face.ask(ShowLease(job.summary.job.name))
        told = homes.lease(lease, here.session.now_ms, None)
    except TidemarkError as error:
        lease, told = None, f"cannot be read now: {error.message}"
    here.show(output.with_fields(job, lease=lease), _job_text(job, here.session.now_ms, told))


def _show_savepoint(here: Here, name: str, no_job: NotFound) -> None:
    """Shows the savepoint of that name; where there is none either, raises NotFound for the job."""
    try:
        savepoint = here.face.ask(ShowSavepoint(savepoint_name(name)))
    except NotFound as error:
        raise NotFound(no_job.code, f"there is neither a job nor a savepoint {name!r}", no_job.hint) from error
    verification = here.face.ask(ReadVerification(savepoint.id))
    shown = output.with_fields(savepoint, verification=verification)
    here.show(shown, savepoint_details(savepoint, verification, here.session.now_ms))


def _jobs_table(jobs: Sequence[JobSummary], now_ms: int) -> output.Table:
    figures = ("BATCH>", "P50>", "P99>", "INPUT>", "BACKLOG>", "LAG>", "STATE SIZE>", "CHECKPOINT>", "SAVEPOINTS>", "PROGRESS>")
    return output.Table(("JOB", "STATE", *figures, "ATTENTION"), [_job_row(job, now_ms) for job in jobs])


def _job_row(job: JobSummary, now_ms: int) -> tuple[str, ...]:
    return (
        job.job.name,
        job.state.value if job.state else "never ran",
        formats.count(job.batch),
        formats.duration(job.batch_ms_p50),
        formats.duration(job.batch_ms_p99),
        formats.rate(job.input_rate),
        backlog.briefly(backlog.main(job.backlog)),
        formats.duration(job.lag_ms),
        formats.size(job.state_bytes),
        formats.size(job.checkpoint_bytes),
        formats.count(job.savepoints),
        formats.ago(job.last_progress_ms, now_ms),
        ", ".join(finding.title for finding in job.findings),
    )


def _job_text(job: JobDetail, now_ms: int, lease: str = "") -> str:
    parts = [output.details([*_job_pairs(job, now_ms), *([("lease", lease)] if lease else [])])]
    if job.queries:
        rows = [
            (query.query, formats.count(job.batches.get(query.query)), query.query_id, query.sink, query.sink_path, query.checkpoint)
            for query in job.queries
        ]
        parts.append(output.Table(("QUERY", "BATCH>", "QUERY ID", "SINK", "OUTPUT", "CHECKPOINT"), rows).plain())
    if job.runs:
        parts.append(_run_table(job.runs, now_ms).plain())
    return "\n\n".join(parts)


@shows(ListRuns)
def _runs(here: Here, question: ListRuns, runs: Sequence[Run]) -> str | output.Table:
    return _run_table(runs, here.session.now_ms) if runs else ""


def _run_table(runs: Sequence[Run], now_ms: int) -> output.Table:
    titles = ("RUN", "STATE", "VERSION", "STARTED", "TOOK>", "FROM", "ITS STATE", "REASON", "THEN")
    return output.Table(titles, [_run_row(run, now_ms) for run in runs])


def _job_pairs(detail: JobDetail, now_ms: int) -> list[tuple[str, str]]:
    job = detail.summary
    origin = f"{job.job.origin.savepoint} of {job.job.origin.job}" if job.job.origin else formats.MISSING
    edge = detail.runs[-1].edge if job.job.origin and detail.runs else None
    return [
        ("job", job.job.name),
        ("state", job.state.value if job.state else "never ran"),
        ("needs attention", "; ".join(f"{finding.title}: {finding.words}" for finding in job.findings) or formats.MISSING),
        ("trigger", triggers.spelt(job.trigger)),
        ("limits of its own", limits.spelt(job.job.limits) or formats.MISSING),
        ("memory, processors", resources.spelt(job.job.resources) or formats.MISSING),
        ("restart strategy", formats.MISSING if job.job.attached else restarts.strategy(job.job)),
        *restarts.poison(job.run),
        *([("probation", probations.stand(detail.probation))] if detail.probation else []),
        ("schedule of its own", schedules.spelt_own(job.job.schedule) or formats.MISSING),
        ("idle since", formats.when(job.idle_since_ms, now_ms, None)),
        ("runs", "elsewhere: watched by its checkpoint" if job.job.attached else clusters.where(detail.cluster)),
        ("application", clusters.application(detail.cluster)),
        ("bytes", job.job.place or ("elsewhere" if job.job.attached else "in the workspace")),
        ("forked from", f"{origin} – {edges.told(edge)}" if edge else origin),
        ("created", formats.when(job.job.created_ms, now_ms, None)),
        ("last progress", formats.when(job.last_progress_ms, now_ms, None)),
        ("batch", words.batches(detail.batches) or formats.count(job.batch)),
        ("batch time p50, p99", f"{formats.duration(job.batch_ms_p50)}, {formats.duration(job.batch_ms_p99)}"),
        ("input, processed", f"{formats.rate(job.input_rate)}, {formats.rate(job.processed_rate)}"),
        ("backlog", _backlog(job)),
        ("catching up", catching_up.described(job.catching_up) if job.catching_up else formats.MISSING),
        ("batches fill", formats.MISSING if job.busy is None else backlog.share(job)),
        ("watermark", formats.when(job.watermark_ms, now_ms, None)),
        ("lag", formats.duration(job.lag_ms)),
        ("late rows dropped", formats.count(job.late_rows)),
        ("state", f"{formats.count(job.state_rows)} rows, {formats.size(job.state_bytes)}"),
        ("checkpoint", formats.size(job.checkpoint_bytes)),
        ("observed", observed_words.now(job.observed)),
        ("savepoints", f"{formats.count(job.savepoints)}, last {formats.when(job.last_savepoint_ms, now_ms, None)}"),
        ("restarts", formats.count(job.restarts)),
        ("Spark UI", job.run.ui_url if job.run and job.run.ui_url else formats.MISSING),
    ]


def _backlog(job: JobSummary) -> str:
    told = (": ".join(filter(None, (backlog.amount(waiting), backlog.outlook(waiting)))) for waiting in job.backlog)
    return "; ".join(told) or formats.MISSING


def _run_row(run: Run, now_ms: int) -> tuple[str, ...]:
    took = (run.ended_ms or now_ms) - run.started_ms if run.started_ms else None
    return (
        run.id,
        run.state.value,
        run.version,
        formats.exact(run.started_ms, None),
        formats.duration(took),
        run.from_savepoint or formats.MISSING,
        edges.briefly(run.edge) or formats.MISSING,
        restarts.cause(run.exit)[:160] or formats.MISSING,
        restarts.next_step(run, now_ms) or formats.MISSING,
    )
