"""The verb of forks: fork."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import options
from pipelines.cli.runs import forked, show_begun
from pipelines.cli.session import Here, opened
from pipelines.domain.requests import ForkRequest


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(fork)


def fork(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    name: Annotated[str, typer.Option("--name", help="Name of the new job.", show_default=False)],
    code: options.Code = None,
    arg: options.Args = None,
    conf: options.Confs = None,
    master: options.Master = None,
    runtime: options.Runtime = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            metavar="[QUERY=]fresh|continue",
            help="Whether a file sink's output holds the parent's history too (continue, as if not given) or only what the fork writes "
            "(fresh); for all queries, or for one. May be given again.",
        ),
    ] = None,
    new_query: options.NewQueries = None,
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
            python=runtime,
            sinks=options.sinks(sink),
            new_queries=tuple(new_query or ()),
            dry_run=dry_run,
        )
        begun = here.face.fork(origin, request) if dry_run else forked(here, [name], lambda: here.face.fork(origin, request))
        show_begun(here, begun, wait, timeout)


def _conf_of(here: Here, savepoint: str) -> dict[str, str]:
    """The confs of the savepoint's version, to which given ones are added."""
    return dict(here.face.manifest(savepoint).version.conf)
