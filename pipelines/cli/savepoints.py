"""Verbs of savepoints: savepoint, savepoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output, progress, trust
from pipelines.cli.annotations import annotation
from pipelines.cli.following import answered
from pipelines.cli.plans import take_plan
from pipelines.cli.session import Here, opened
from pipelines.domain.moments import moment_ms
from pipelines.domain.operations import Amount
from pipelines.domain.requests import TakeRequest
from pipelines.domain.savepoints import Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.trust import Verification


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (savepoint, savepoints):
        app.command()(verb)


def savepoint(
    ctx: typer.Context,
    job: options.JobNamed,
    batch: Annotated[int | None, typer.Option("--batch", min=0, help="Of this batch, one that Spark still keeps.")] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Of the newest batch at or before: 2027-01-15T08:00, 08:00:30 (today) or -10m."),
    ] = None,
    event_time: Annotated[
        str | None,
        typer.Option("--event-time", metavar="TIME", help="Of the newest batch whose watermark was at or before; written like --at."),
    ] = None,
    label: options.Label = "",
    to: Annotated[str, typer.Option("--to", metavar="URL", help="To this path or URL, instead of the workspace.", show_default=False)] = "",
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Take a savepoint of a job. It may run or not. Prints the savepoint's path and nothing else on stdout."""
    options.at_most_one(batch=batch, at=at, event_time=event_time)
    with opened(ctx, workspace, as_json) as here:
        at_ms, event_ms = (moment_ms(text, here.session.now()) if text is not None else None for text in (at, event_time))
        taken = _taken(here, job, TakeRequest(batch, at_ms, event_ms, label, options.place(to) if to else "", dry_run))
        if isinstance(taken, TakePlan):
            here.show(taken, take_plan(taken))
            return
        output.tell(f"{taken.id}: {_told(taken)}")
        here.show(taken, taken.path)


def savepoints(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="[JOB]", help="Only those of this job.", show_default=False)] = "",
    sizes: Annotated[
        bool, typer.Option("--sizes", help="What each takes in full, frees when disposed of, and shares; and all together.")
    ] = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List savepoints, newest first. With the best level of trust that each reached."""
    with opened(ctx, workspace, as_json) as here:
        taken = here.face.savepoints(job)
        if sizes:
            with progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:
                show(Amount("measuring", len(taken), unit="savepoints"))
                space = here.face.space(job)
            here.show(space, _sizes(space, taken) if taken else "")
            return
        here.show(taken, _table(taken, here.session.now_ms) if taken else "")


def savepoint_details(taken: Savepoint, verification: Verification | None, now_ms: int) -> str:
    """One savepoint as aligned lines, then its queries, then what proved it."""
    pairs = [
        ("savepoint", taken.id),
        ("path", taken.path),
        ("job", taken.job),
        ("version", taken.version),
        ("taken", f"{formats.when(taken.created_ms, now_ms)}, {taken.reason.value}, in {formats.duration(taken.took_ms)}"),
        *([("imported", f"{formats.when(taken.imported_ms, now_ms)} from {taken.imported_from}")] if taken.imported_ms else []),
        *annotation(taken, now_ms),
        *trust.pairs(taken, now_ms),
        ("files", formats.count(taken.files)),
        ("size", f"{formats.size(taken.bytes)}, of them {formats.size(taken.new_bytes)} new"),
        ("Spark", taken.spark_version),
    ]
    rows = [
        (one.query, formats.count(one.batch), formats.exact(one.watermark_ms or None), one.provider, one.sink, formats.size(one.bytes))
        for one in taken.queries
    ]
    queries = output.Table(("QUERY", "BATCH>", "WATERMARK", "STATE", "SINK", "SIZE>"), rows)
    proof = verification.proof if verification else None
    return "\n\n".join([output.details(pairs), queries.plain(), *([trust.proof_text(proof)] if proof else [])])


def _taken(here: Here, job: str, request: TakeRequest) -> Savepoint | TakePlan:
    """One that goes to a URL, or whose bytes are copied, takes its time: that is an operation, and is shown and cancelled like one."""
    if request.dry_run:
        return here.face.take(job, request)
    kind = "export" if request.to else "take"
    return answered(
        here,
        lambda: here.face.take(job, request),
        lambda one: (one.kind, one.job) == (kind, job) and ("/" in one.subject) == bool(request.to),
    )


def _told(taken: Savepoint) -> str:
    return (
        f"batch {taken.batch}, {formats.size(taken.bytes)} in {formats.count(taken.files)} files, "
        f"{formats.size(taken.new_bytes)} new, in {formats.duration(taken.took_ms)}"
    )


def _table(taken: Sequence[Savepoint], now_ms: int) -> output.Table:
    titles = ("SAVEPOINT", "JOB", "BATCH>", "TAKEN>", "SIZE>", "NEW>", "TRUST", "REASON", "BEST BEFORE", "LABEL")
    rows = [
        (
            one.id,
            one.job,
            formats.count(one.batch),
            formats.ago(one.created_ms, now_ms),
            formats.size(one.bytes),
            formats.size(one.new_bytes),
            trust.best(one),
            one.reason.value,
            formats.until(one.best_before_ms, now_ms),
            one.label,
        )
        for one in taken
    ]
    return output.Table(titles, rows)


def _sizes(space: Space, taken: Sequence[Savepoint]) -> output.Table:
    """A line a savepoint, and one for all together: what they take on disk, what disposing of all frees, what more than one holds."""
    jobs = {one.id: one.job for one in taken}
    titles = ("SAVEPOINT", "JOB", "FULL>", "FREES>", "SHARED>")
    rows = [
        (one.savepoint, jobs.get(one.savepoint, ""), *map(formats.size, (one.bytes, one.frees_bytes, one.shared_bytes)))
        for one in space.savepoints
    ]
    together = ("together on disk", "", *map(formats.size, (space.disk_bytes, space.frees_bytes, space.shared_bytes)))
    return output.Table(titles, [*rows, together])
