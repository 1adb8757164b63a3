"""The workspace itself as text: what happened, the example, the rebuilt catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, defaults, group, shows
from pipelines.cli.nouns.runs import WAITS, awaited
from pipelines.cli.session import Here
from pipelines.domain.jobs import Event, Run
from pipelines.verbs.examples import ListExamples, ShownExample
from pipelines.verbs.system import ListEvents, RebuildCatalog, StartExample
from pipelines.words import formats

group("catalog", "The index of the workspace.")
defaults(ListEvents, limit=50)


@shows(ListEvents)
def _events(here: Here, question: ListEvents, events: Sequence[Event]) -> str | output.Table:
    output.tell_more(events, question.limit, question.sort)
    rows = [_event_row(event, here.session.now_ms) for event in events]
    return output.Table(("AT", "KIND", "JOB", "SUBJECT", "BY", "MESSAGE"), rows) if rows else ""


def _event_row(event: Event, now_ms: int) -> tuple[str, ...]:
    return (formats.when(event.at_ms, now_ms, None), event.kind, event.job or "", event.subject, event.actor, event.message)


@shows(ListExamples)
def _examples(here: Here, question: ListExamples, examples: Sequence[ShownExample]) -> output.Table:
    rows = [(it.name, it.does, " ".join(it.inputs), it.generator, it.second, it.outcome) for it in examples]
    return output.Table(("NAME", "WHAT IT DOES", "READS", "MADE BY", "SECOND VERSION", "VERDICT"), rows)


WAIT = "Wait until each of its queries has a batch, so that a savepoint can be taken; exit code 1 if it fails before."


@shows(StartExample, wait=Parameter(bool, typer.Option("--wait", help=WAIT), False), timeout=WAITS["timeout"])
def _example(here: Here, change: StartExample, begun: Sequence[Run]) -> Shown:
    if not begun:
        output.tell("The example runs already.")
    return Shown([awaited(here, run, with_batch=True) for run in begun], "\n".join(f"{run.job} {run.id}" for run in begun))


@shows(RebuildCatalog)
def _rebuilt(here: Here, change: RebuildCatalog, counted: Mapping[str, int]) -> output.Table:
    return output.Table(("TABLE", "ROWS>"), [(table, formats.count(rows)) for table, rows in counted.items()])
