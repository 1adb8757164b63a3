"""The parts of each query: sources, stateful operators, sink, and Spark's plan with its metrics as a graph."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components.plan import plan_graph
from dashboard.components.table import Cell, Column, Row, number, table
from dashboard.views.commands import commands
from dashboard.widgets import empty_state, section, when
from pipelines.domain import offsets as positions
from pipelines.domain.jobs import JobDetail
from pipelines.domain.kafka import KAFKA
from pipelines.domain.offsets import PartitionOffset
from pipelines.domain.operators import OperatorProgress, QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.sources import SourceSeen
from pipelines.verbs.jobs import ListOperators, ListPlans
from pipelines.words import formats, offsets, operators
from pipelines.words.sinks import AT_LEAST_ONCE

SOURCES = (
    Column("Source", wide=True),
    Column("From"),
    Column("To"),
    Column("Latest", hint="Newest offset in the source, where the source reports it"),
    Column("Rows", "right", "Read by this batch"),
    Column("Backlog", "right", "Left in the source at the batch's end, where the source reports it"),
)
PARTITIONS = (
    Column("Topic", wide=True),
    Column("Partition", "right"),
    Column("Read up to", "right", "The offset that is read next"),
    Column("Latest", "right", "The offset of the row that comes next into the partition"),
    Column("Lag", "right", "Rows left in the partition at the batch's end"),
)
OPERATORS = (
    Column("Stateful operator", wide=True),
    Column("State rows", "right", "Rows kept after this batch"),
    Column("Updated", "right", "Rows of state that this batch wrote"),
    Column("Removed", "right", "Rows of state that this batch removed"),
    Column("Memory", "right", "Memory of its state stores, as Spark reports it"),
    Column("Late rows", "right", "Dropped because the watermark had passed them"),
    Column("Commit", "right", "Committing the state stores, summed over the tasks"),
    Column("Partitions", "right"),
    Column("Stores", "right"),
)
SINKS = (Column("Sink"), Column("Output", wide=True), Column("Rows", "right", "Written by this batch, where the sink counts them"))


def draw(name: str, detail: JobDetail, now: float) -> None:
    """All queries, one below the other."""
    workspace = session.workspace()
    queries = workspace.ask(ListOperators(name))
    if not queries:
        with empty_state("No batch yet", "Sources, state and Spark's plan of each query appear with its first batch.", key="operators"):
            pass
        return
    plans = {plan.query: plan for plan in workspace.ask(ListPlans(name))}
    for query in queries:
        with st.container(horizontal=True, vertical_alignment="center", key=f"head_{query.query}"):
            section(query.query, f"batch {query.batch:,} · {when(query.at_ms, now)}")
            if query is queries[0]:
                commands([ListOperators(name), ListPlans(name)], key="commands_operators")
        _query(query, plans.get(query.query), detail, now)


def _query(query: QueryOperators, plan: QueryPlan | None, detail: JobDetail, now: float) -> None:
    table(
        SOURCES,
        [_source(at, source) for at, source in enumerate(query.sources)],
        key=f"sources_{query.query}",
        label="Sources",
        clickable=False,
    )
    rows = [_partition(at, part) for at, source in enumerate(query.sources) for part in positions.partitions(source.end, source.latest)]
    if rows:
        table(PARTITIONS, rows, key=f"partitions_{query.query}", label="Partitions", clickable=False)
    if query.operators:
        rows = [_operator(at, operator) for at, operator in enumerate(query.operators)]
        table(OPERATORS, rows, key=f"operators_{query.query}", label="Stateful operators", clickable=False)
    elif not detail.summary.job.attached:
        st.html('<p class="tm-hint">No stateful operator: each batch stands for itself.</p>')
    table(SINKS, [_sink(query)], key=f"sink_{query.query}", label="Sink", clickable=False)
    if query.sink.lower() == KAFKA:
        st.html(f'<p class="tm-hint">{AT_LEAST_ONCE}</p>')
    if plan is None:
        _no_plan(query.query, detail)
        return
    section("Plan", f"as Spark ran batch {plan.batch:,} · {when(plan.at_ms, now)}")
    plan_graph(plan, key=f"plan_{query.query}", sink=query.sink, sink_path=query.sink_path)


def _no_plan(query: str, detail: JobDetail) -> None:
    """An explanation why there is no plan."""
    if detail.summary.job.attached:
        says = "This job runs elsewhere. Its checkpoint alone holds neither Spark's plan nor what its operators keep."
    elif detail.summary.state is not None and detail.summary.state.live:
        says = "The driver writes Spark's plan down after the first batch with rows."
    else:
        says = "This run has left no plan: it ended before its first batch with rows, or an older Tidemark ran it."
    with empty_state("The plan is not known", says, key=f"plan_{query}"):
        pass


def _source(at: int, source: SourceSeen) -> Row:
    backlog = ", ".join(formats.quantity(some.amount, some.unit) for some in source.backlog)
    plain = ", ".join(f"{some.amount} {some.unit}" for some in source.backlog)
    cells = (
        Cell(formats.source_name(source.description), strong=True, hint=source.description, raw=source.description),
        _offset(source.start),
        _offset(source.end),
        _offset(source.latest) if source.latest else Cell(hint="This source does not report its newest offset"),
        number(source.rows, formats.count),
        Cell(backlog or formats.MISSING, sort=source.backlog[0].amount if source.backlog else None, raw=plain or None),
    )
    return Row(str(at), cells)


def _partition(at: int, part: PartitionOffset) -> Row:
    cells = (
        Cell(part.topic, strong=True),
        number(part.partition, formats.count),
        number(part.read, formats.count),
        number(part.latest, formats.count),
        number(part.lag, formats.count),
    )
    return Row(f"{at}-{part.topic}-{part.partition}", cells)


def _offset(text: str) -> Cell:
    """In words, with Spark's own on hover."""
    return Cell(offsets.words(text), hint=text, raw=text or None)


def _operator(at: int, operator: OperatorProgress) -> Row:
    more = "\n".join([operator.name, *(f"{name}: {formats.size(value)}" for name, value in operator.custom.items())])
    cells = (
        Cell(f"{operators.kind(operator.name)} · {at}", strong=True, hint=more),
        number(operator.rows, formats.count),
        number(operator.updated, formats.count),
        number(operator.removed, formats.count),
        number(operator.memory_bytes, formats.size, hint=more),
        number(operator.late_rows, formats.count),
        number(operator.commit_ms, formats.duration),
        number(operator.partitions, formats.count),
        number(operator.stores, formats.count),
    )
    return Row(str(at), cells)


def _sink(query: QueryOperators) -> Row:
    name = Cell(query.sink, strong=True) if query.sink else Cell("not known", muted=True)
    where = Cell(query.output, mono=True, hint=query.output) if query.output else Cell()
    return Row("sink", (name, where, number(query.output_rows, formats.count)))
