"""What a migration did, in words."""

from __future__ import annotations

from pipelines.domain.migrations import COLUMNS, Aggregate, MigratedOperator, Migration
from pipelines.domain.operator_places import Placement
from pipelines.domain.source_places import SourcePlacement, name_of
from pipelines.words import operators


def told(done: Migration) -> str:
    """What a migration did: `its state was migrated by columns. counts, operator 0: 12 rows became 12; kept sum(n); added count(1), which
    begins with 0.`"""
    return " ".join([f"its state was migrated by {done.by}.", *lines(done)])


def lines(done: Migration) -> list[str]:
    """The same, a sentence for each thing that was moved, dropped, begun anew or rewritten, and the rehearsal."""
    places = [*map(_placement, done.placements), *map(_source, done.sources), *(f"{name} was dropped" for name in _left(done))]
    rewritten = [_operator(operator, done.by) for operator in done.operators]
    return [*(f"{part}." for part in (*places, *rewritten)), *([done.rehearsal] if done.rehearsal else [])]


def _operator(operator: MigratedOperator, by: str) -> str:
    """What its new rows equal: by columns aggregate by aggregate, else what the function gave."""
    given = "" if by == COLUMNS or operator.aggregates else f", which are what {by} gives at the savepoint"
    rows = f"{operator.rows_before:,} rows became {operator.rows_after:,}{given}"
    subject = f"{operator.query}, operator {operator.operator}"
    return "; ".join([f"{subject}: {rows}", *map(_aggregate, operator.aggregates), *operator.remarks])


def _aggregate(aggregate: Aggregate) -> str:
    return f"{aggregate.becomes} {aggregate.text}" + (f", which begins with {aggregate.begins}" if aggregate.begins else "")


def _placement(placement: Placement) -> str:
    """`counts, operator 0 (dedupe) was dropped`, `… was operator 1`, `… begins empty`."""
    number = placement.before if placement.after is None else placement.after
    subject = f"{placement.query}, operator {number} ({operators.kind(placement.name)})"
    if placement.after is None:
        return f"{subject} was dropped"
    return f"{subject} begins empty" if placement.before is None else f"{subject} was operator {placement.before}"


def _source(placement: SourcePlacement) -> str:
    """`counts, source 0 (json) was dropped`, `… goes on as source clicks`, `… is read from its beginning`."""
    source = placement.after if placement.before is None else placement.before
    subject = f"{placement.query}, source {source} ({placement.kind or 'of an unknown kind'})"
    if placement.after is None:
        return f"{subject} was dropped"
    return f"{subject} is read from its beginning" if placement.before is None else f"{subject} goes on as source {placement.after}"


def _left(done: Migration) -> list[str]:
    """What was dropped besides operators: queries and state variables."""
    told = {f"{placement.query}.{placement.before}" for placement in done.placements} | {
        name_of(source.query, source.before) for source in done.sources if source.before
    }
    return [name for name in done.dropped if name not in told]
