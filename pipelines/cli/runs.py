"""Verbs that begin and end runs: run, resume, stop, cancel, logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from pipelines.cli import options, output, progress
from pipelines.cli.following import BegunThenFailed, answered, sound
from pipelines.cli.plans import restore_plan
from pipelines.cli.session import POLL_SECONDS, Here, opened
from pipelines.domain.jobs import LogChunk, Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import ResumeRequest, RunRequest, StopRequest
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import RestorePlan

T = TypeVar("T")
Script = Annotated[
    Path, typer.Argument(metavar="SCRIPT", exists=True, dir_okay=False, readable=True, help="A PySpark script.", show_default=False)
]
ScriptArgs = Annotated[
    list[str] | None, typer.Argument(metavar="-- ARGS", help="Arguments of the script; {output} becomes the job's own output directory.")
]


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (run, resume, stop, cancel, logs):
        app.command()(verb)


def run(
    ctx: typer.Context,
    script: Script,
    args: ScriptArgs = None,
    name: Annotated[str, typer.Option("--name", help="Name of the job; the script's file name if not given.", show_default=False)] = "",
    from_savepoint: Annotated[
        str, typer.Option("--from", metavar="SAVEPOINT", help="Begin on the state of this savepoint.", show_default=False)
    ] = "",
    conf: options.Confs = None,
    master: Annotated[str, typer.Option("--master", help="Spark master that the job runs on.")] = "local[2]",
    runtime: Annotated[
        str, typer.Option("--runtime", metavar="PYTHON", help="Interpreter whose PySpark runs it; Tidemark's own if not given.")
    ] = "",
    new_query: options.NewQueries = None,
    wait: options.Wait = False,
    timeout: options.Timeout = 300,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a PySpark script as a new job. Prints the job's name and the run's id."""
    with opened(ctx, workspace, as_json) as here:
        request = RunRequest(
            name=name or script.stem,
            script=script.name,
            code=options.read_code(script),
            args=tuple(args or ()),
            conf=options.confs(conf),
            master=master,
            python=runtime,
            source=str(script.resolve()),
            from_savepoint=options.savepoint_name(from_savepoint) if from_savepoint else "",
            new_queries=tuple(new_query or ()),
        )
        begun = forked(here, [request.name], lambda: here.face.run(request)) if from_savepoint else here.face.run(request)
        show_begun(here, begun, wait, timeout)


def resume(
    ctx: typer.Context,
    job: options.JobNamed,
    from_savepoint: Annotated[
        str,
        typer.Option(
            "--from", metavar="SAVEPOINT", help="Go on from this savepoint; from where it stopped if not given.", show_default=False
        ),
    ] = "",
    batch: Annotated[
        int | None, typer.Option("--batch", min=0, help="Go back to this batch, one that Spark still keeps; saves the present point first.")
    ] = None,
    code: options.Code = None,
    arg: options.Args = None,
    conf: options.Confs = None,
    master: options.Master = None,
    runtime: options.Runtime = None,
    new_query: options.NewQueries = None,
    dry_run: options.DryRun = False,
    wait: options.Wait = False,
    timeout: options.Timeout = 300,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Go on with a job that does not run. Prints its name and the new run's id. Confs given are added to those it had."""
    options.at_most_one(from_=from_savepoint, batch=batch)
    with opened(ctx, workspace, as_json) as here:
        request = ResumeRequest(
            from_savepoint=options.savepoint_name(from_savepoint) if from_savepoint else "",
            batch=batch,
            code=options.read_code(code) if code else None,
            args=tuple(arg) if arg is not None else None,
            conf={**_newest_conf(here, job), **options.confs(conf)} if conf else None,
            master=master,
            python=runtime,
            new_queries=tuple(new_query or ()),
            dry_run=dry_run,
        )
        show_begun(here, _resumed(here, job, request), wait, timeout)


def stop(
    ctx: typer.Context,
    job: options.JobNamed,
    savepoint: Annotated[bool, typer.Option("--savepoint/--no-savepoint", help="Whether to take a savepoint when it stands.")] = True,
    label: options.Label = "",
    timeout: options.Timeout = 600,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Stop a job at a batch boundary. Waits, and prints its savepoint's path."""
    with opened(ctx, workspace, as_json) as here:
        done = ended(here, here.face.stop(job, StopRequest(savepoint=savepoint, label=label)), timeout)
        taken = here.face.savepoint(done.result) if done.result else None
        output.tell(f"{job} stopped" + (f", savepoint {taken.id}" if taken else ""))
        here.show({"operation": done, "savepoint": taken}, taken.path if taken else "")


def cancel(
    ctx: typer.Context,
    job: options.JobNamed,
    timeout: options.Timeout = 60,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """End a job's run at once. In the middle of a batch, without a savepoint; waits for the end."""
    with opened(ctx, workspace, as_json) as here:
        done = ended(here, here.face.stop(job, StopRequest(savepoint=False, at_once=True)), timeout)
        output.tell(f"{job} cancelled")
        here.show(done, "")


def logs(
    ctx: typer.Context,
    job: options.JobNamed,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing until the run ends; with --json a chunk a line.")] = False,
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="Id of a run; the newest one if not given.", show_default=False)] = "",
    whole: Annotated[bool, typer.Option("--all", help="From the beginning, not only the last 20 kB.")] = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Print a job's driver log."""
    with opened(ctx, workspace, as_json) as here:
        offset = 0 if whole else -20_000
        while True:
            live = follow and _is_live(here, job, run)
            chunk = here.face.logs(job, run=run, offset=offset)
            _print_chunk(chunk, as_json)
            run, offset = chunk.run, chunk.next_offset
            if not live and (offset >= chunk.size or not (whole or follow)):
                return
            if live and not chunk.text:
                here.session.sleep(POLL_SECONDS)
                here.session.tick()


def forked(here: Here, names: Sequence[str], call: Callable[[], T]) -> T:
    """What `call` answers, which forks jobs of these names: shown and cancelled where a savepoint's bytes are copied for them."""
    return answered(here, call, lambda one: one.kind == "fork" and one.job in names)


def _resumed(here: Here, job: str, request: ResumeRequest) -> Run | RestorePlan:
    """The same for a resume: what it saves on its way may be copied too."""
    if request.dry_run:
        return here.face.resume(job, request)
    return answered(here, lambda: here.face.resume(job, request), lambda one: one.kind in ("take", "resume") and one.job == job)


def show_begun(here: Here, begun: Run | RestorePlan, wait: bool, timeout: float) -> None:
    """Lets the supervisor start what was begun, waits for it if asked, and prints it; the plan of what a dry run would begin."""
    if isinstance(begun, RestorePlan):
        here.show(begun, restore_plan(begun))
        return
    here.session.tick()
    seen = begun
    if wait:
        seen = here.session.until(lambda: _up(here, begun), timeout, f"the start of {begun.job}")
    here.show(seen, f"{seen.job} {seen.id}")


def _up(here: Here, begun: Run) -> Run | None:
    """The run once it runs, or finished; None before. BegunThenFailed where it ended otherwise."""
    seen = next(run for run in here.face.job(begun.job).runs if run.id == begun.id)
    if seen.state in (RunState.RUNNING, RunState.FINISHED):
        return seen
    if seen.state.live:
        return None
    why = f"{seen.exit.error_class} {seen.exit.message}".strip() if seen.exit else "no reason is known"
    raise BegunThenFailed("run.failed", f"{begun.job} is {seen.state.value}: {why}", f"Read its log: python -m pipelines logs {begun.job}")


def ended(here: Here, operation: Operation, timeout: float) -> Operation:
    """The operation once it is done, shown how far it is or what it waits for: the savepoint of its stop. Raises what `sound` raises."""
    output.tell(f"waiting for the {operation.kind} of {operation.job}")
    here.session.tick()
    with progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:

        def done() -> Operation | None:
            seen = here.face.operation(operation.id)
            if seen.state is not OperationState.RUNNING:
                return seen
            beside = [one.amount for one in here.face.operations(running=True) if one.job == seen.job and one.id != seen.id]
            show(seen.amount or next(filter(None, beside), None))
            return None

        return sound(here.session.until(done, timeout, f"the {operation.kind} of {operation.job}"))


def _newest_conf(here: Here, job: str) -> dict[str, str]:
    """The confs of the job's newest version, to which given ones are added."""
    run = here.face.job(job).summary.run
    return dict(here.face.version(run.version).conf) if run else {}


def _is_live(here: Here, job: str, run: str) -> bool:
    """Whether the run whose log is followed (the newest unless named) may still write."""
    runs = here.face.job(job).runs
    return any(one.state.live for one in (runs[:1] if not run else runs) if run in ("", one.id))


def _print_chunk(chunk: LogChunk, as_json: bool) -> None:
    if as_json:
        output.print_json(chunk, indent=None)
    else:
        print(chunk.text, end="", flush=True)
