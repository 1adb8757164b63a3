"""Experiments as text, the variants of one as they are typed, and the comparison of two jobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, command, completes, shows
from pipelines.cli.nouns import code
from pipelines.cli.nouns.differences import section_text
from pipelines.cli.nouns.runs import WAITS, awaited, tell_verdict
from pipelines.cli.session import Here
from pipelines.domain.differences import Section
from pipelines.domain.experiments import Comparison, Experiment
from pipelines.domain.intervals import Interval, Measure
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, Diff, ListExperiments, ShowIntervals
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.migrating import CHECK
from pipelines.verbs.shell import COMMAND
from pipelines.words import formats, lockstep, observed

MEASURED = {
    Measure.BATCH_MS: "batch time",
    Measure.PROCESSED_RATE: "processed",
    Measure.STATE_ROWS: "state rows",
    Measure.STATE_BYTES: "state memory",
}
VARIANTS = "A new job and its code (JOB alone keeps the savepoint's); give one or more."
VARIANT = Parameter(list[str], typer.Option("--variant", metavar="JOB[=FILE]", help=VARIANTS, show_default=False))


CHECKED = Parameter(bool, typer.Option("--check/--no-check", help=CHECK), True)


@completes(StartExperiment, variant=VARIANT, check=CHECKED)
def _with_variants(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"variants": tuple(replace(_variant(here, text), check=here.words["check"]) for text in here.words["variant"])}


def _variant(here: Here, text: str) -> Variant:
    """`JOB=FILE` as a job with that code, `JOB` as one with the savepoint's; a usage error for anything else."""
    job, _, file = text.partition("=")
    if not job:
        raise typer.BadParameter(f"{text!r} is not JOB or JOB=FILE", param_hint="--variant")
    if not file:
        return Variant(name=job)
    return Variant(name=job, **code.of_script(here, {}, Path(file).expanduser()))


@shows(StartExperiment, **WAITS)
def _started(here: Here, change: StartExperiment, experiment: Experiment) -> None:
    """With `--wait` once all of its jobs are up."""
    for variant in change.variants:
        if variant.check:
            tell_verdict(here, variant.name)
    for job in experiment.jobs if here.words["wait"] else ():
        awaited(here, here.face.ask(ShowJob(job)).runs[0])
    output.tell(f"{experiment.name} began with {', '.join(experiment.jobs)}")


@shows(ListExperiments)
def _experiments(here: Here, question: ListExperiments, experiments: Sequence[Experiment]) -> str | output.Table:
    rows = [
        (
            experiment.id,
            experiment.name,
            formats.ago(experiment.created_ms, here.session.now_ms),
            experiment.savepoint,
            ", ".join(experiment.jobs),
        )
        for experiment in experiments
    ]
    return output.Table(("EXPERIMENT", "NAME", "BEGAN>", "SAVEPOINT", "JOBS"), rows) if rows else ""


@command("compare", "experiments")
def compare(
    here: Here,
    a: Annotated[str, typer.Argument(metavar="A", help="Name of a job.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Name of another job.", show_default=False)],
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COLUMN", help="A column that names a row; may be given again. Found if not given.")
    ] = None,
    query: Annotated[
        str, typer.Option("--query", help="Query whose output is compared; the first that both have if not given.", show_default=False)
    ] = "",
    examples: Annotated[int, typer.Option("--examples", min=0, help="At most this many rows of each kind.")] = Compare.examples,
) -> None:
    """Compare two jobs. Outputs are compared row for row, metrics with intervals, and state, up to the event time that both reached."""
    outputs = here.face.ask(Compare(a, b, query, tuple(key or ()), examples))
    metrics = here.face.ask(ShowIntervals(a, b, query))
    state = here.face.ask(Diff(a, b)).section("state")
    shown = output.with_fields(outputs, metrics=tuple(metrics), state=state)
    here.show(shown, "\n\n".join(filter(None, (_comparison(outputs), _metrics(metrics), section_text(state), _by_key(outputs, state)))))


def _comparison(outputs: Comparison) -> str:
    pairs = [
        ("query", outputs.query),
        ("columns", ", ".join(outputs.columns)),
        ("key columns", ", ".join(outputs.keys) or "none (whole rows are compared)"),
        ("event time until", formats.exact(outputs.until_ms, None) if outputs.until_ms is not None else "the end"),
    ]
    counts = [
        (f"rows of {outputs.a}", formats.count(outputs.rows_a)),
        (f"rows of {outputs.b}", formats.count(outputs.rows_b)),
        ("equal", formats.count(outputs.equal)),
        (f"only in {outputs.a}", formats.count(outputs.only_a)),
        (f"only in {outputs.b}", formats.count(outputs.only_b)),
        ("changed", formats.count(outputs.changed)),
    ]
    titles = {
        "only_a": f"only in {outputs.a}",
        "only_b": f"only in {outputs.b}",
        "changed": f"changed (a. is {outputs.a}, b. is {outputs.b})",
    }
    tables = [f"{titles.get(kind, kind)}:\n{output.any_rows(rows)}" for kind, rows in outputs.examples.items() if rows]
    stepped = outputs.lock_step
    first = [
        f"batch {stepped.first:,}, {titles.get(kind, kind)}:\n{output.any_rows(rows)}"
        for kind, rows in (stepped.examples.items() if stepped else ())
        if stepped and stepped.first is not None and rows
    ]
    parts = [
        output.details(pairs),
        output.Table(("", "ROWS>"), counts).plain().lstrip("\n"),
        lockstep.cause(outputs),
        lockstep.varies(outputs.varies),
        *first,
        _parting(outputs),
        *tables,
        outputs.note,
    ]
    return "\n\n".join(filter(None, parts))


def _by_key(outputs: Comparison, state: Section) -> str:
    """Of two in lock-step, the command that compares their state after the first batch that differs, else after the newest of both."""
    stepped = outputs.lock_step
    if stepped is None or not any(entry.of.startswith(f"{outputs.query} · operator ") for entry in state.entries):
        return ""
    batch = stepped.until if stepped.first is None else stepped.first
    a, b = (lockstep.point(job, outputs.query, batch) for job in (outputs.a, outputs.b))
    return f"state after batch {batch:,}, key by key:\n{COMMAND} {shlex.join(['state-difference', a, b, '--query', outputs.query])}"


def _parting(outputs: Comparison) -> str:
    """The first event time at which the outputs differ, and the row of each."""
    parting = outputs.parting
    if parting is None:
        return ""
    until = formats.exact(parting.equal_until_ms, None) if parting.equal_until_ms is not None else "no row before it"
    rows = [{"job": name, **row} for name, row in ((outputs.a, parting.a), (outputs.b, parting.b)) if row is not None]
    return (
        f"first difference at {formats.exact(parting.at_ms, None)} ({parting.time_column}), equal up to {until}:\n{output.any_rows(rows)}"
    )


def _metrics(metrics: Sequence[Interval]) -> str:
    """Each metric's medians, and their difference in words."""
    rows = [
        (
            MEASURED.get(interval.measure, interval.name),
            _median(interval, interval.a),
            _median(interval, interval.b),
            interval.words,
        )
        for interval in metrics
    ]
    return f"metrics over the same events (medians, 95 % interval):\n{output.Table(('', 'A>', 'B>', ''), rows).plain().lstrip()}"


def _median(interval: Interval, value: float | None) -> str:
    shown = {
        Measure.BATCH_MS: formats.duration,
        Measure.PROCESSED_RATE: formats.rate,
        Measure.STATE_BYTES: formats.size,
        Measure.OBSERVED: observed.number,
    }
    return shown.get(interval.measure, formats.count)(value)
