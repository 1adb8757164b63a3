"""State rows of a batch as the job counted them, beside those that a proof read."""

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
    job_counts = _said(image, event)
    return tuple(
        StateCount(image.query, operator.id, operator.name, rows[operator.id], _expected(image, job_counts, operator.id, rows, conf))
        for operator in image.operators
    )


def damages(counts: tuple[StateCount, ...]) -> tuple[Damage, ...]:
    """A damage for each operator whose rows differ from the job's count."""
    return tuple(
        Damage(
            f"queries/{count.query}/checkpoint/state/{count.operator}",
            "state",
            f"has {count.rows} rows ({count.name or 'operator'} {count.operator}); the job counted {count.expected} at that batch",
        )
        for count in counts
        if count.differs
    )


def told_rows(image: QueryImage, event: Mapping[str, Any] | None, conf: Mapping[str, str]) -> Mapping[int, int]:
    """Operator id -> the rows that the job said it held; empty where nothing is known, or Spark was told not to count."""
    uncounted = image.provider == "rocksdb" and conf.get(TRACKING, "").lower() == "false"
    return {} if uncounted else _said(image, event)


def _said(image: QueryImage, event: Mapping[str, Any] | None) -> Mapping[int, int]:
    """Operator id -> `numRowsTotal`; empty where the event is none of these operators."""
    metrics = list((event or {}).get("stateOperators") or ())
    operators = sorted(image.operators, key=lambda operator: operator.id)
    if len(metrics) != len(operators):
        return {}
    names = [(operator.name, metric.get("operatorName", operator.name)) for operator, metric in zip(operators, metrics, strict=True)]
    if any(expected and expected != reported for expected, reported in names):
        return {}
    return {operator.id: int(metric["numRowsTotal"]) for operator, metric in zip(operators, metrics, strict=True)}


def _expected(
    image: QueryImage, job_counts: Mapping[int, int], operator: int, rows: Mapping[int, int], conf: Mapping[str, str]
) -> int | None:
    """The job's count of an operator; None where RocksDB does not count rows: it then reports 0, and a script may set that itself."""
    if image.provider == "rocksdb" and (
        conf.get(TRACKING, "").lower() == "false" or (job_counts.get(operator) == 0 and rows[operator] > 0)
    ):
        return None
    return job_counts.get(operator)
