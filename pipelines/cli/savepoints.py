"""Verbs of savepoints: savepoint, savepoints, verify, dispose, fork."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.moments import moment_ms
from pipelines.cli.plans import dispose_plan, restore_plan, take_plan
from pipelines.cli.runs import show_begun
from pipelines.cli.session import Here, opened
from pipelines.domain.errors import Corrupt
from pipelines.domain.requests import ForkRequest, TakeRequest
from pipelines.domain.savepoints import RestorePlan, Savepoint, TakePlan, Trust, Verification


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (savepoint, savepoints, verify, dispose, fork):
        app.command()(verb)


def savepoint(
    ctx: typer.Context,
    job: options.JobNamed,
    batch: Annotated[int | None, typer.Option("--batch", min=0, help="Of this batch, one that Spark still keeps.")] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Of the newest batch at or before: 2027-01-15T08:00, 08:00:30 (today) or -10m."),
    ] = None,
    label: options.Label = "",
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Take a savepoint of a job. It may run or not. Prints the savepoint's path and nothing else on stdout."""
    if batch is not None and at is not None:
        raise typer.BadParameter("give either --batch or --at", param_hint="--at")
    with opened(ctx, workspace, as_json) as here:
        at_ms = moment_ms(at, here.session.now()) if at is not None else None
        taken = here.face.take(job, TakeRequest(batch, at_ms, label, dry_run))
        if isinstance(taken, TakePlan):
            here.show(taken, take_plan(taken))
            return
        output.tell(f"{taken.id}: {_told(taken)}")
        here.show(taken, taken.path)


def savepoints(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="[JOB]", help="Only those of this job.", show_default=False)] = "",
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List savepoints, newest first."""
    with opened(ctx, workspace, as_json) as here:
        taken = here.face.savepoints(job)
        here.show(taken, _table(taken, here.session.now_ms) if taken else "")


def verify(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    level: Annotated[
        Trust, typer.Option("--level", help="complete: files and sizes; intact: checksums; proved: a restore by Spark.")
    ] = Trust.INTACT,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Check a savepoint's files. Exit code 7 if they are damaged."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.verify(options.savepoint_name(savepoint), level)
        here.show(found, _verification(found))
        if found.damages:
            raise Corrupt(
                "savepoint.damaged",
                f"{found.savepoint} has {len(found.damages)} damaged files, first {found.damages[0].path}",
                "Use another savepoint; 'savepoints' lists them.",
            )


def dispose(
    ctx: typer.Context,
    savepoints: Annotated[
        list[str], typer.Argument(metavar="SAVEPOINT...", help="Ids of savepoints, unique beginnings, or paths.", show_default=False)
    ],
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete savepoints."""
    with opened(ctx, workspace, as_json) as here:
        plans = [here.face.dispose(options.savepoint_name(name), dry_run=dry_run) for name in savepoints]
        freed = formats.size(sum(plan.frees_bytes for plan in plans))
        output.tell(f"{'would free' if dry_run else 'freed'} {freed}")
        here.show(plans, "\n\n".join(map(dispose_plan, plans)))


def fork(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    name: Annotated[str, typer.Option("--name", help="Name of the new job.", show_default=False)],
    code: options.Code = None,
    arg: options.Args = None,
    conf: options.Confs = None,
    master: options.Master = None,
    dry_run: options.DryRun = False,
    wait: options.Wait = False,
    timeout: options.Timeout = 300,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Begin a new job from a savepoint. Prints its name and the run's id. Confs given are added to those it had."""
    with opened(ctx, workspace, as_json) as here:
        origin = options.savepoint_name(savepoint)
        request = ForkRequest(
            name=name,
            code=options.read_code(code) if code else None,
            script=code.name if code else None,
            args=tuple(arg) if arg is not None else None,
            conf={**_conf_of(here, origin), **options.confs(conf)} if conf else None,
            master=master,
            dry_run=dry_run,
        )
        begun = here.face.fork(origin, request)
        if isinstance(begun, RestorePlan):
            here.show(begun, restore_plan(begun))
        else:
            show_begun(here, begun, wait, timeout)


def savepoint_details(taken: Savepoint, now_ms: int) -> str:
    """One savepoint as aligned lines, then its queries."""
    pairs = [
        ("savepoint", taken.id),
        ("path", taken.path),
        ("job", taken.job),
        ("version", taken.version),
        ("taken", f"{formats.when(taken.created_ms, now_ms)}, {taken.reason.value}, in {formats.duration(taken.took_ms)}"),
        ("label", taken.label or formats.NOTHING),
        ("trust", f"{taken.trust.value}, checked {formats.when(taken.verified_ms, now_ms)}"),
        ("files", formats.count(taken.files)),
        ("size", f"{formats.size(taken.bytes)}, of them {formats.size(taken.new_bytes)} new"),
        ("Spark", taken.spark_version),
    ]
    rows = [
        (one.query, formats.count(one.batch), formats.exact(one.watermark_ms or None), one.provider, one.sink, formats.size(one.bytes))
        for one in taken.queries
    ]
    queries = output.Table(("QUERY", "BATCH>", "WATERMARK", "STATE", "SINK", "SIZE>"), rows)
    return f"{output.details(pairs)}\n\n{queries.plain()}"


def _conf_of(here: Here, savepoint: str) -> dict[str, str]:
    """The confs of the savepoint's version, to which given ones are added."""
    return dict(here.face.manifest(savepoint).version.conf)


def _told(taken: Savepoint) -> str:
    return (
        f"batch {taken.batch}, {formats.size(taken.bytes)} in {formats.count(taken.files)} files, "
        f"{formats.size(taken.new_bytes)} new, in {formats.duration(taken.took_ms)}"
    )


def _table(taken: Sequence[Savepoint], now_ms: int) -> output.Table:
    titles = ("SAVEPOINT", "JOB", "BATCH>", "TAKEN>", "SIZE>", "NEW>", "TRUST", "REASON", "LABEL")
    rows = [
        (
            one.id,
            one.job,
            formats.count(one.batch),
            formats.ago(one.created_ms, now_ms),
            formats.size(one.bytes),
            formats.size(one.new_bytes),
            one.trust.value,
            one.reason.value,
            one.label,
        )
        for one in taken
    ]
    return output.Table(titles, rows)


def _verification(found: Verification) -> str:
    pairs = [
        ("savepoint", found.savepoint),
        ("asked", found.asked.value),
        ("reached", found.reached.value if found.reached else "nothing"),
        ("files", formats.count(found.files)),
        ("size", formats.size(found.bytes)),
        *((damage.kind, f"{damage.path}: {damage.message}") for damage in found.damages),
    ]
    return output.details(pairs)
