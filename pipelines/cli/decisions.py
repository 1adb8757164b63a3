"""Verbs of decisions on variants: promote, drop, undrop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.plans import restore_plan
from pipelines.cli.runs import ended
from pipelines.cli.session import opened
from pipelines.domain.decisions import DropPlan, PromotePlan, StateFrom
from pipelines.domain.requests import DropRequest, PromoteRequest, UndropRequest


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (promote, drop, undrop):
        app.command()(verb)


def promote(
    ctx: typer.Context,
    job: options.JobNamed,
    state: Annotated[
        StateFrom,
        typer.Option("--state", help="Go on with the parent's present state, or from the savepoint they parted at, doing all since again."),
    ] = StateFrom.PRESENT,
    dry_run: options.DryRun = False,
    timeout: options.Timeout = 600,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Let a variant's parent go on with its version. Stops the parent with a savepoint, resumes it; prints its name and the run's id."""
    with opened(ctx, workspace, as_json) as here:
        begun = here.face.promote(job, PromoteRequest(state, dry_run))
        if isinstance(begun, PromotePlan):
            here.show(begun, promote_text(begun))
            return
        done = ended(here, begun, timeout)
        here.session.tick()
        output.tell(f"{job} is promoted: {done.job} goes on with its version")
        here.show(done, f"{done.job} {done.result}")


def drop(
    ctx: typer.Context,
    job: options.JobNamed,
    savepoint: Annotated[bool, typer.Option("--savepoint/--no-savepoint", help="Whether to take a savepoint when it stops.")] = True,
    at_once: Annotated[bool, typer.Option("--at-once", help="Cancel it in the middle of a batch, without a savepoint.")] = False,
    dry_run: options.DryRun = False,
    timeout: options.Timeout = 600,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """End a variant and mark it as dropped. Its savepoints stay; `undrop` takes it back, `forget` removes it."""
    with opened(ctx, workspace, as_json) as here:
        begun = here.face.drop(job, DropRequest(savepoint, at_once, dry_run))
        if isinstance(begun, DropPlan):
            here.show(begun, _steps(begun.steps))
            return
        done = ended(here, begun, timeout)
        output.tell(f"{job} is dropped; its savepoints stay, and `undrop {job}` takes it back")
        here.show(done, "")


def undrop(
    ctx: typer.Context,
    job: options.JobNamed,
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Take a dropped variant back. Its mark goes, and it is resumed where the drop ended it; prints the id of that run, if there is one."""
    with opened(ctx, workspace, as_json) as here:
        done = here.face.undrop(job, UndropRequest(dry_run))
        if dry_run:
            here.show(done, _steps(done.steps))
            return
        here.session.tick()
        output.tell(f"{job} is undropped{' and goes on where it was stopped' if done.run else '; it does not run'}")
        here.show(done, done.run or "")


def promote_text(plan: PromotePlan) -> str:
    """What promoting would do."""
    code = f"{formats.counted(plan.added, 'line')} added, {plan.removed:,} removed" if plan.added or plan.removed else "the same"
    pairs = [("job", plan.parent), ("version", f"{plan.replaces} becomes {plan.version}"), ("code", code)]
    parts = [output.details([*pairs, *(("warning", warning) for warning in plan.warnings)]), _steps(plan.steps)]
    return "\n\n".join([*parts, *([restore_plan(plan.restore)] if plan.restore else [])])


def _steps(steps: Sequence[str]) -> str:
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))
