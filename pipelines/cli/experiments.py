"""Verbs of experiments: experiment, experiments, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.differences import section_text
from pipelines.cli.runs import forked
from pipelines.cli.session import opened
from pipelines.domain.experiments import Comparison, Experiment
from pipelines.domain.intervals import Interval, Measure
from pipelines.domain.requests import CompareRequest, ExperimentRequest, ForkRequest

MEASURED = {
    Measure.BATCH_MS: "batch time",
    Measure.PROCESSED_RATE: "processed",
    Measure.STATE_ROWS: "state rows",
    Measure.STATE_BYTES: "state memory",
}


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (experiment, experiments, compare):
        app.command()(verb)


def experiment(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    name: Annotated[str, typer.Option("--name", help="Name of the experiment.", show_default=False)],
    variant: Annotated[
        list[str],
        typer.Option(
            "--variant",
            metavar="JOB[=FILE]",
            help="A new job and its code (JOB alone keeps the savepoint's); give one or more.",
            show_default=False,
        ),
    ],
    with_parent: Annotated[bool, typer.Option("--with-parent", help="Compare the savepoint's own job too.")] = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Fork one savepoint several times. Prints the experiment's id."""
    with opened(ctx, workspace, as_json) as here:
        variants = tuple(map(_variant, variant))
        request = ExperimentRequest(name, options.savepoint_name(savepoint), variants, with_parent)
        made = forked(here, [one.name for one in variants], lambda: here.face.start_experiment(request))
        here.session.tick()
        output.tell(f"{made.name} began with {', '.join(made.jobs)}")
        here.show(made, made.id)


def experiments(ctx: typer.Context, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """List experiments."""
    with opened(ctx, workspace, as_json) as here:
        known = here.face.experiments()
        here.show(known, _table(known, here.session.now_ms) if known else "")


def compare(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="Name of a job.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Name of another job.", show_default=False)],
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COLUMN", help="A column that names a row; may be given again. Found if not given.")
    ] = None,
    query: Annotated[
        str, typer.Option("--query", help="Query whose output is compared; the first that both have.", show_default=False)
    ] = "",
    examples: Annotated[int, typer.Option("--examples", min=0, help="At most this many rows of each kind.")] = 5,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two jobs. Outputs row for row, metrics with intervals, state; up to the event time that both reached."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.compare(CompareRequest(a, b, query, tuple(key or ()), examples))
        metrics = here.face.intervals(a, b, query)
        state = here.face.differences(a, b).section("state")
        shown = output.with_fields(found, metrics=tuple(metrics), state=state)
        here.show(shown, "\n\n".join(filter(None, (_comparison(found), _metrics(metrics), section_text(state)))))


def _variant(text: str) -> ForkRequest:
    """`JOB=FILE` as a fork with that code, `JOB` as one with the savepoint's; a usage error for anything else."""
    job, _, file = text.partition("=")
    if not job:
        raise typer.BadParameter(f"{text!r} is not JOB or JOB=FILE", param_hint="--variant")
    if not file:
        return ForkRequest(job)
    path = Path(file).expanduser()
    return ForkRequest(job, code=options.read_code(path), script=path.name)


def _table(known: Sequence[Experiment], now_ms: int) -> output.Table:
    rows = [(one.id, one.name, formats.ago(one.created_ms, now_ms), one.savepoint, ", ".join(one.jobs)) for one in known]
    return output.Table(("EXPERIMENT", "NAME", "BEGAN>", "SAVEPOINT", "JOBS"), rows)


def _comparison(found: Comparison) -> str:
    pairs = [
        ("query", found.query),
        ("columns", ", ".join(found.columns)),
        ("rows are named by", ", ".join(found.keys) or "nothing (compared whole)"),
        ("event time until", formats.exact(found.until_ms) if found.until_ms is not None else "the end"),
    ]
    counts = [
        (f"rows of {found.a}", formats.count(found.rows_a)),
        (f"rows of {found.b}", formats.count(found.rows_b)),
        ("equal", formats.count(found.equal)),
        (f"only in {found.a}", formats.count(found.only_a)),
        (f"only in {found.b}", formats.count(found.only_b)),
        ("changed", formats.count(found.changed)),
    ]
    titles = {"only_a": f"only in {found.a}", "only_b": f"only in {found.b}", "changed": f"changed (a. is {found.a}, b. is {found.b})"}
    tables = [f"{titles.get(kind, kind)}:\n{_rows(rows)}" for kind, rows in found.examples.items() if rows]
    parts = [output.details(pairs), output.Table(("", "ROWS>"), counts).plain().lstrip("\n"), _parting(found), *tables, found.note]
    return "\n\n".join(filter(None, parts))


def _parting(found: Comparison) -> str:
    """Where the outputs first part, and the row of each."""
    parting = found.parting
    if parting is None:
        return ""
    until = formats.exact(parting.equal_until_ms) if parting.equal_until_ms is not None else "no row before it"
    rows = [{"job": name, **row} for name, row in ((found.a, parting.a), (found.b, parting.b)) if row is not None]
    return f"they part at {formats.exact(parting.at_ms)} ({parting.time_column}), equal up to {until}:\n{_rows(rows)}"


def _metrics(found: Sequence[Interval]) -> str:
    """Each metric's medians, and what can be told of the difference."""
    rows = [(MEASURED[one.measure], _median(one, one.a), _median(one, one.b), one.words) for one in found]
    return f"metrics over the same events (medians, 95 % interval):\n{output.Table(('', 'A>', 'B>', ''), rows).plain().lstrip()}"


def _median(one: Interval, value: float | None) -> str:
    shown = {Measure.BATCH_MS: formats.duration, Measure.PROCESSED_RATE: formats.rate, Measure.STATE_BYTES: formats.size}
    return shown.get(one.measure, formats.count)(value)


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of any columns as a table."""
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    return output.Table(columns, [[str(row.get(column, "")) for column in columns] for row in rows]).plain()
