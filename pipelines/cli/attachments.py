"""The verb of jobs that run elsewhere: attach."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli import options
from pipelines.cli.runs import show_begun
from pipelines.cli.session import opened
from pipelines.domain.requests import AttachRequest

FIRST_QUERY = "query-0"
"""What a driver calls a job's first query without a name."""


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(attach)


def attach(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the job is called here.", show_default=False)],
    checkpoint: Annotated[
        str, typer.Argument(metavar="[CHECKPOINT]", help="Checkpoint location of its query: a path or URL.", show_default=False)
    ] = "",
    query: Annotated[
        str | None, typer.Option("--query", help=f"Name of the query of CHECKPOINT; {FIRST_QUERY} if not given.", show_default=False)
    ] = None,
    checkpoints: Annotated[
        list[str] | None,
        typer.Option("--checkpoint", metavar="QUERY=URL", help="A query with its checkpoint, for a job of several; may be given again."),
    ] = None,
    sink: Annotated[str, typer.Option("--sink", metavar="FORMAT", help="What its queries write: parquet, foreachBatch, …")] = "",
    sink_path: Annotated[str, typer.Option("--sink-path", metavar="PATH", help="Where a file sink writes.")] = "",
    code: Annotated[
        Path | None,
        typer.Option("--code", exists=True, dir_okay=False, readable=True, help="Its script, to fork it with."),
    ] = None,
    arg: Annotated[list[str] | None, typer.Option("--arg", metavar="ARG", help="An argument of the script; may be given again.")] = None,
    conf: options.Confs = None,
    master: Annotated[str, typer.Option("--master", help="Spark master that a fork of it runs on.")] = "local[2]",
    spark_version: Annotated[
        str, typer.Option("--spark-version", metavar="VERSION", help="Spark version that it runs on; not known if not given.")
    ] = "",
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Watch a job that runs elsewhere. The job does not notice; savepoints and forks of it work as ever. Prints its name and a run's id."""
    with opened(ctx, workspace, as_json) as here:
        request = AttachRequest(
            name=name,
            checkpoints=_places(checkpoint, query, checkpoints),
            sink=sink,
            sink_path=options.place(sink_path) if sink_path else "",
            script=code.name if code else "",
            code=options.read_code(code) if code else "",
            args=tuple(arg or ()),
            conf=options.confs(conf),
            master=master,
            spark_version=spark_version,
        )
        show_begun(here, here.face.attach(request), wait=False, timeout=0)


def _places(checkpoint: str, query: str | None, given: list[str] | None) -> dict[str, str]:
    """Query -> checkpoint, as one or as several were given; a usage error for both, and for neither."""
    if bool(checkpoint) == bool(given):
        raise typer.BadParameter("give either CHECKPOINT or one or more --checkpoint QUERY=URL", param_hint="CHECKPOINT")
    if checkpoint:
        return {query or FIRST_QUERY: options.place(checkpoint)}
    if query is not None:
        raise typer.BadParameter("it names the query of CHECKPOINT; --checkpoint names its own", param_hint="--query")
    return {name: options.place(url) for name, url in options.pairs(given, "QUERY=URL", "--checkpoint").items()}
