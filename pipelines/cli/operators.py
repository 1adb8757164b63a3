"""Verbs that look inside a job's queries: operators, plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.session import opened
from pipelines.domain.operators import OperatorProgress, QueryOperators, SourceSeen
from pipelines.domain.plans import Metric, PlanNode, QueryPlan, main_metrics

OFFSET_CHARS = 40


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    for verb in (operators, plan):
        app.command()(verb)


def operators(ctx: typer.Context, job: options.JobNamed, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """Show what a job's queries are made of. The sources, stateful operators and sink of each at its newest batch."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.operators(job)
        if not found:
            output.tell(f"{job} has done no batch yet")
        here.show(found, "\n\n".join(_query(one, here.session.now_ms) for one in found))


def plan(
    ctx: typer.Context,
    job: options.JobNamed,
    query: Annotated[str, typer.Option("--query", metavar="QUERY", help="Only of this query.")] = "",
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Show Spark's plan of each query. A tree from the sink to the sources, with the main metrics of one of the last batches."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.plan(job, query=query)
        if not found:
            output.tell(f"No plan of {job} is known: its driver writes it after the first batch with rows")
        here.show(found, "\n\n".join(_plan(one, here.session.now_ms) for one in found))


def _query(found: QueryOperators, now_ms: int) -> str:
    head = f"{found.query}  batch {found.batch}, {formats.ago(found.at_ms, now_ms)}"
    sources = output.Table(("SOURCE", "FROM", "TO", "LATEST", "ROWS>", "BACKLOG>"), [_source(one) for one in found.sources])
    titles = ("OPERATOR", "STATE ROWS>", "UPDATED>", "REMOVED>", "MEMORY>", "LATE>", "COMMIT>", "PARTITIONS>")
    stateful = output.Table(titles, [_operator(one) for one in found.operators])
    sink = output.Table(("SINK", "OUTPUT", "ROWS>"), [(found.sink or formats.NOTHING, found.sink_path, formats.count(found.output_rows))])
    return "\n\n".join([head, *(table.plain() for table in (sources, stateful, sink) if table.rows)])


def _source(found: SourceSeen) -> tuple[str, ...]:
    backlog = ", ".join(formats.quantity(one.amount, one.unit) for one in found.backlog) or formats.NOTHING
    offsets = (_offset(offset) for offset in (found.start, found.end, found.latest))
    return (found.description, *offsets, formats.count(found.rows), backlog)


def _offset(text: str) -> str:
    if not text:
        return formats.NOTHING
    return text if len(text) <= OFFSET_CHARS else f"{text[: OFFSET_CHARS - 1]}…"


def _operator(found: OperatorProgress) -> tuple[str, ...]:
    return (
        found.name,
        formats.count(found.rows),
        formats.count(found.updated),
        formats.count(found.removed),
        formats.size(found.memory_bytes),
        formats.count(found.late_rows),
        formats.duration(found.commit_ms),
        formats.count(found.partitions),
    )


def _plan(found: QueryPlan, now_ms: int) -> str:
    head = f"{found.query}  batch {found.batch}, {formats.ago(found.at_ms, now_ms)}"
    return "\n".join([head, *_lines(found, found.nodes[0])] if found.nodes else [head])


def _lines(found: QueryPlan, node: PlanNode) -> Iterator[str]:
    """The node and, indented below it, those that its rows come from."""
    yield f"{node.name}{f' #{node.operator}' if node.operator is not None else ''}{_metrics(main_metrics(node))}"
    below = [found.nodes[edge.source] for edge in found.edges if edge.target == node.id]
    for child in below:
        last = child is below[-1]
        for index, line in enumerate(_lines(found, child)):
            yield (("└─ " if last else "├─ ") if index == 0 else ("   " if last else "│  ")) + line


def _metrics(metrics: Sequence[Metric]) -> str:
    said = ", ".join(f"{metric.name.removeprefix('number of ')} {formats.count(metric.value)}" for metric in metrics)
    return f"  ({said})" if said else ""
