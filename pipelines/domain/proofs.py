"""What the job said of its state at a batch, beside what was read of it: the rows that a proof expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.savepoints import QueryImage
from pipelines.domain.trust import Damage, StateCount

TRACKING = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def state_counts(
    image: QueryImage, rows: Mapping[int, int], event: Mapping[str, Any] | None, conf: Mapping[str, str]
) -> tuple[StateCount, ...]:
    """One count an operator of a query: `rows` by operator id, beside `numRowsTotal` of the batch's progress `event`.

    Operators stand in the event in the order of their ids: both are given in the order of the executed plan
    (ProgressReporter.extractStateOperatorMetrics, IncrementalExecution.statefulOperatorId).
    """
    said = _said(image, event)
    return tuple(
        StateCount(image.query, one.id, one.name, rows[one.id], _expected(image, said, one.id, rows, conf)) for one in image.operators
    )


def damages(counts: tuple[StateCount, ...]) -> tuple[Damage, ...]:
    """One for each operator whose rows are not those that the job counted."""
    return tuple(
        Damage(
            f"queries/{one.query}/checkpoint/state/{one.operator}",
            "state",
            f"has {one.rows} rows ({one.name or 'operator'} {one.operator}); the job counted {one.expected} at that batch",
        )
        for one in counts
        if one.differs
    )


def told_rows(image: QueryImage, event: Mapping[str, Any] | None, conf: Mapping[str, str]) -> Mapping[int, int]:
    """Operator id -> the rows that the job said it held; empty where nothing is known, or Spark was told not to count."""
    uncounted = image.provider == "rocksdb" and conf.get(TRACKING, "").lower() == "false"
    return {} if uncounted else _said(image, event)


def _said(image: QueryImage, event: Mapping[str, Any] | None) -> Mapping[int, int]:
    """Operator id -> `numRowsTotal`; empty where the event is none of these operators."""
    metrics = list((event or {}).get("stateOperators") or ())
    operators = sorted(image.operators, key=lambda one: one.id)
    if len(metrics) != len(operators):
        return {}
    names = [(one.name, metric.get("operatorName", one.name)) for one, metric in zip(operators, metrics, strict=True)]
    if any(mine and mine != theirs for mine, theirs in names):
        return {}
    return {one.id: int(metric["numRowsTotal"]) for one, metric in zip(operators, metrics, strict=True)}


def _expected(image: QueryImage, said: Mapping[int, int], operator: int, rows: Mapping[int, int], conf: Mapping[str, str]) -> int | None:
    """RocksDB that is told not to count says 0 of every operator; a script may tell it so where no conf of the version shows it."""
    if image.provider == "rocksdb" and (conf.get(TRACKING, "").lower() == "false" or (said.get(operator) == 0 and rows[operator] > 0)):
        return None
    return said.get(operator)
