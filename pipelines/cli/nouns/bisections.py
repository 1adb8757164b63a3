"""Bisections as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import command, excludes, shows
from pipelines.cli.descriptions import describes
from pipelines.cli.nouns.replays import MOST_WAIT_S
from pipelines.cli.nouns.stops import within
from pipelines.cli.session import Here
from pipelines.domain.bisections import Bisection
from pipelines.verbs.bisect import Bisect, BisectPlan, ListBisections, ShowBisection
from pipelines.words import bisections, formats

CHANGES = {"changed": "changed (a. before, b. with the batch)", "only_b": "added", "only_a": "removed"}
excludes(Bisect, "sql", "script")


@shows(Bisect, timeout=within(MOST_WAIT_S))
def _bisected(here: Here, change: Bisect, bisection: Bisection) -> str:
    return text_of(bisection)


@command("bisections", "experiments")
def listed(
    here: Here,
    bisection: Annotated[str, typer.Argument(metavar="BISECTION", help="Id of a bisection, to show that one.", show_default=False)] = "",
) -> None:
    """List bisections, newest first. With a bisection's id, its batch and its steps are printed instead."""
    if bisection:
        shown = here.face.ask(ShowBisection(bisection))
        here.show(shown, text_of(shown))
        return
    every = here.face.ask(ListBisections())
    here.show(every, _table(every, here.session.now_ms))


def _table(listed: Sequence[Bisection], now_ms: int) -> str | output.Table:
    rows = [
        (
            bisection.id,
            bisection.job,
            bisection.query,
            bisection.over.value,
            bisection.good,
            bisection.bad,
            formats.count(bisection.wrong),
            formats.ago(bisection.created_ms, now_ms),
            formats.duration(bisection.took_ms),
        )
        for bisection in listed
    ]
    titles = ("BISECTION", "JOB", "QUERY", "JUDGED", "GOOD", "BAD", "WRONG BATCH>", "ENDED>", "TOOK>")
    return output.Table(titles, rows) if rows else ""


@describes(BisectPlan)
def plan_text(plan: BisectPlan, now_ms: int) -> str:
    """The plan of a bisection."""
    table = [("table", plan.table)] if plan.table else []
    return output.details(
        [
            ("query", plan.query),
            ("judged", plan.over.value),
            *table,
            ("batches", f"{plan.good_batch:,} (right) to {plan.bad_batch:,} (wrong)"),
            ("at most", f"{formats.plural(plan.at_most, 'batch', 'batches')} judged in between"),
            ("rows", plan.ways),
        ]
    )


def text_of(bisection: Bisection) -> str:
    """The batch, what it read, each step, and the wrong rows."""
    inputs = [(f"source {part.source}", bisections.read(part) + "".join(f"\n  {file}" for file in part.files)) for part in bisection.inputs]
    steps = output.Table(("BATCH>", "ANSWER", "ROWS"), [bisections.step(step) for step in bisection.steps]).plain()
    rows = [dict(zip(bisection.columns, row, strict=True)) for row in bisection.rows]
    wrong = f"wrong as of batch {bisection.wrong:,}{' (and more)' if bisection.more else ''}:\n{output.any_rows(rows)}" if rows else ""
    examples = bisection.changes.examples if bisection.changes else {}
    apart = [f"{CHANGES[kind]}:\n{output.any_rows(examples[kind])}" for kind in CHANGES if examples.get(kind)]
    found = f"{bisection.id}: {bisections.sentence(bisection)} {bisections.how(bisection)}"
    parts = [found, output.details(inputs), wrong, bisections.last(bisection.words).lstrip(), bisections.changed(bisection), *apart, steps]
    return "\n\n".join(filter(None, parts))
