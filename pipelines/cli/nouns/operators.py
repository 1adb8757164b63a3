"""What a job's queries are made of, and Spark's plan of each, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.cli import output
from pipelines.cli.additions import shows
from pipelines.cli.session import Here
from pipelines.domain import offsets as positions
from pipelines.domain.offsets import PartitionOffset
from pipelines.domain.operators import OperatorProgress, QueryOperators
from pipelines.domain.plans import Metric, PlanNode, QueryPlan, main_metrics
from pipelines.domain.sources import SourceSeen
from pipelines.verbs.jobs import ListOperators, ListPlans
from pipelines.words import formats, offsets

OFFSET_CHARS = 40


@shows(ListOperators)
def _operators(here: Here, question: ListOperators, queries: Sequence[QueryOperators]) -> str:
    if not queries:
        output.tell(f"{question.job} has done no batch yet")
    return "\n\n".join(_query(query, here.session.now_ms) for query in queries)


@shows(ListPlans)
def _plans(here: Here, question: ListPlans, plans: Sequence[QueryPlan]) -> str:
    if not plans:
        output.tell(f"No plan of {question.job} is known: its driver writes it after the first batch with rows")
    return "\n\n".join(_plan(plan, here.session.now_ms) for plan in plans)


def _query(query: QueryOperators, now_ms: int) -> str:
    head = f"{query.query}  batch {query.batch}, {formats.ago(query.at_ms, now_ms)}"
    sources = output.Table(("SOURCE", "FROM", "TO", "LATEST", "ROWS>", "BACKLOG>"), [_source(row) for row in query.sources])
    parts = [part for source in query.sources for part in positions.partitions(source.end, source.latest)]
    partitions = output.Table(("TOPIC", "PARTITION>", "READ UP TO>", "LATEST>", "LAG>"), [_partition(part) for part in parts])
    titles = ("OPERATOR", "STATE ROWS>", "UPDATED>", "REMOVED>", "MEMORY>", "LATE>", "COMMIT>", "PARTITIONS>")
    stateful = output.Table(titles, [_operator(row) for row in query.operators])
    sink = output.Table(("SINK", "OUTPUT", "ROWS>"), [(query.sink or formats.MISSING, query.output, formats.count(query.output_rows))])
    return "\n\n".join([head, *(table.plain() for table in (sources, partitions, stateful, sink) if table.rows)])


def _source(source: SourceSeen) -> tuple[str, ...]:
    backlog = ", ".join(formats.quantity(rest.amount, rest.unit) for rest in source.backlog) or formats.MISSING
    latest = _offset(source.latest) if source.latest else formats.MISSING
    return (
        formats.source_name(source.description),
        _offset(source.start),
        _offset(source.end),
        latest,
        formats.count(source.rows),
        backlog,
    )


def _partition(part: PartitionOffset) -> tuple[str, ...]:
    return (part.topic, str(part.partition), *map(formats.count, (part.read, part.latest, part.lag)))


def _offset(text: str) -> str:
    text = offsets.words(text)
    return text if len(text) <= OFFSET_CHARS else f"{text[: OFFSET_CHARS - 1]}…"


def _operator(operator: OperatorProgress) -> tuple[str, ...]:
    return (
        operator.name,
        formats.count(operator.rows),
        formats.count(operator.updated),
        formats.count(operator.removed),
        formats.size(operator.memory_bytes),
        formats.count(operator.late_rows),
        formats.duration(operator.commit_ms),
        formats.count(operator.partitions),
    )


def _plan(plan: QueryPlan, now_ms: int) -> str:
    head = f"{plan.query}  batch {plan.batch}, {formats.ago(plan.at_ms, now_ms)}"
    return "\n".join([head, *_lines(plan, plan.nodes[0])] if plan.nodes else [head])


def _lines(plan: QueryPlan, node: PlanNode) -> Iterator[str]:
    """The node and, indented below it, those that its rows come from."""
    yield f"{node.name}{f' #{node.operator}' if node.operator is not None else ''}{_metrics(main_metrics(node))}"
    below = [plan.nodes[edge.source] for edge in plan.edges if edge.target == node.id]
    for child in below:
        last = child is below[-1]
        for index, line in enumerate(_lines(plan, child)):
            yield (("└─ " if last else "├─ ") if index == 0 else ("   " if last else "│  ")) + line


def _metrics(metrics: Sequence[Metric]) -> str:
    shown = ", ".join(f"{metric.name.removeprefix('number of ')} {formats.count(metric.value)}" for metric in metrics)
    return f"  ({shown})" if shown else ""
