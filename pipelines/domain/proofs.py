"""State rows of a batch as the job counted them, beside those that a proof read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.domain.trust import Damage, StateCount

TRACKING = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


@dataclass(frozen=True)
class Told:
    """What a progress event says of an operator: the rows of one execution of its batch, and how many executions there were."""

    rows: int
    executions: int


def state_counts(
    image: QueryImage, rows: Mapping[int, int], event: Mapping[str, Any] | None, conf: Mapping[str, str]
) -> tuple[StateCount, ...]:
    """One count an operator of a query: `rows` by operator id, beside what the batch's progress `event` says of it."""
    told = _told(image, event)
    return tuple(_state_count(image, operator, rows[operator.id], told.get(operator.id), conf) for operator in image.operators)


def damages(counts: Iterable[StateCount]) -> tuple[Damage, ...]:
    """A damage for each operator whose rows differ from the job's count for certain."""
    return tuple(
        Damage(
            f"queries/{folder_of(count.query)}/checkpoint/state/{count.operator}",
            "state",
            f"has {count.rows} rows ({count.name or 'operator'} {count.operator}); the job counted {count.expected} at that batch",
        )
        for count in counts
        if count.shows_damage
    )


def remarks(counts: Iterable[StateCount]) -> tuple[str, ...]:
    """A sentence for each operator whose rows differ from a count that is not certain."""
    return tuple(
        f"Operator {count.operator} of {count.query} ({count.name}) has {count.rows} rows. The job counted {count.expected} in each of "
        f"{count.executions} executions of that batch, which need not be equal: this is no damage, and no proof."
        for count in counts
        if count.differs and not count.shows_damage
    )


def told_rows(image: QueryImage, event: Mapping[str, Any] | None, conf: Mapping[str, str]) -> Mapping[int, int]:
    """Operator id -> the rows that the job said it held; empty where nothing is known, or Spark was told not to count."""
    uncounted = image.provider == "rocksdb" and conf.get(TRACKING, "").lower() == "false"
    return {} if uncounted else {operator: told.rows for operator, told in _told(image, event).items()}


def _told(image: QueryImage, event: Mapping[str, Any] | None) -> Mapping[int, Told]:
    """What is told of each operator, by its id; empty where the event is none of these operators.

    Operators stand in the event in the order of their ids: both are given in the order of the executed plan
    (ProgressReporter.extractStateOperatorMetrics, IncrementalExecution.statefulOperatorId).
    """
    metrics = list((event or {}).get("stateOperators") or ())
    operators = sorted(image.operators, key=lambda operator: operator.id)
    if len(metrics) != len(operators):
        return {}
    pairs = list(zip(operators, metrics, strict=True))
    if any(operator.name and operator.name != metric.get("operatorName", operator.name) for operator, metric in pairs):
        return {}
    return {operator.id: told for operator, metric in pairs if (told := _told_of(operator, metric))}


def _told_of(operator: Operator, metric: Mapping[str, Any]) -> Told | None:
    """None where a part of the state was computed more often than another, so that the sum says nothing.

    Spark adds up rows and opened stores over every execution of a batch (StateStoreWriter.setStoreMetrics, setOperatorMetrics): a
    foreachBatch with two actions has two, and so has a sort, which first looks at its input. As each partition has been computed once
    or more, as many stores as there are mean that each was computed exactly once.
    """
    stores = operator.partitions * len(operator.stores)
    executions, partly = divmod(int(metric.get("numStateStoreInstances", 0)), stores) if stores else (0, 0)
    if executions == 0 or partly or int(metric["numRowsTotal"]) % executions:
        return None
    return Told(int(metric["numRowsTotal"]) // executions, executions)


def _state_count(image: QueryImage, operator: Operator, rows: int, told: Told | None, conf: Mapping[str, str]) -> StateCount:
    """RocksDB that does not count reports 0 rows, and a script may set that itself."""
    uncounted = image.provider == "rocksdb" and (conf.get(TRACKING, "").lower() == "false" or (told and told.rows == 0 and rows > 0))
    if told is None or uncounted:
        return StateCount(image.query, operator.id, operator.name, rows, None)
    return StateCount(image.query, operator.id, operator.name, rows, told.rows, told.executions)
