"""Looks one key up with Spark's `statestore` source, in the one partition that Spark keeps it in.

A stateful operator's input is partitioned by `HashPartitioning` over the columns of the state's key, in their order: partition
`pmod(hash(columns), n)` (Spark's StatefulOpClusteredDistribution; measured with Spark 4.3.0 on aggregations, deduplications, joins and
transformWithState). Sessions are partitioned by a part of the key, and a limit by nothing: of these every partition is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.domain.joins import EVENT_TIME
from pipelines.sandbox.counting import JOIN
from pipelines.sandbox.lookups import FoundKey, LookUpTask
from pipelines.sandbox.reading import PARTITION, changes, storable, table

BY_KEY = ("stateStoreSave", "dedupe", "symmetricHashJoin", "transformWithState", "flatMapGroupsWithState", "applyInPandasWithState")
"""Operators whose rows are partitioned by the whole key."""
MOST_ROWS = 1_000
"""Of one key: a list, a map, or a side of a join may hold many."""
EVERY = -1


class NoSuchKeyColumns(Exception):
    """The key names other columns than the table's, or a value is not of the column's type."""


def look_up(spark: Any, task: LookUpTask) -> FoundKey:
    """Raises `NoSuchKeyColumns`, and what Spark raises."""
    rows = table(spark, task.store, task.variable) if task.since is None else changes(spark, task.store, task.variable, task.since)
    session = rows.sparkSession
    session.conf.set("spark.sql.session.timeZone", "UTC")
    kind = rows.schema["key"].dataType
    texts = dict(task.key)
    fields = _asked(task, kind, texts)
    values = {field.name: _expression(session, field, field.name, texts) for field in fields}
    if texts:
        raise NoSuchKeyColumns(f"there is no key column {', '.join(sorted(texts))}; there are {', '.join(_paths(kind))}")
    meets = " AND ".join(f"key.`{name}` <=> {value}" for name, value in values.items())
    fitting = storable(rows.where(meets or "true"))
    if not task.store.operator_name.startswith(BY_KEY):
        return FoundKey(EVERY, tuple(_of_partitions(session, fitting, range(task.partitions))))
    spread = ", ".join(value for name, value in values.items() if not _is_time(task, name))
    (partition,) = session.sql(f"SELECT pmod(hash({spread}), {task.partitions})").first()
    return FoundKey(partition, tuple(_of_partitions(session, fitting, [partition])))


def _asked(task: LookUpTask, kind: Any, texts: Mapping[str, str]) -> list[Any]:
    """The fields of a key that are asked for: all but the event time that ends a join's keys in format 4, which may be left out."""
    return [field for field in kind.fields if field.name in texts or not _is_time(task, field.name)]


def _is_time(task: LookUpTask, name: str) -> bool:
    """Whether it is that event time, by which nothing is spread."""
    return name == EVENT_TIME and task.store.operator_name == JOIN


def _expression(session: Any, field: Any, path: str, texts: dict[str, str]) -> str:
    """SQL of the field's value, taken out of `texts` by path; of a struct that of its fields."""
    from pyspark.sql.types import StructType

    if isinstance(field.dataType, StructType):
        inner = ", ".join(
            f"'{child.name}', {_expression(session, child, f'{path}.{child.name}', texts)}" for child in field.dataType.fields
        )
        return f"named_struct({inner})"
    if path not in texts:
        raise NoSuchKeyColumns(f"{path} ({field.dataType.simpleString()}) is missing: the whole key is needed")
    text = texts.pop(path)
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    value = f"try_cast({literal} AS {field.dataType.simpleString()})"
    if session.sql(f"SELECT {value}").first()[0] is None:
        raise NoSuchKeyColumns(f"{text!r} is no {field.dataType.simpleString()}, which {path} is")
    return value


def _paths(kind: Any, above: str = "") -> Iterator[str]:
    from pyspark.sql.types import StructType

    for field in kind.fields:
        if isinstance(field.dataType, StructType):
            yield from _paths(field.dataType, f"{above}{field.name}.")
        else:
            yield f"{above}{field.name}"


def _of_partitions(session: Any, frame: Any, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """The rows of these partitions alone: the source has one task for each, in their order."""
    array = session.sparkContext._gateway.new_array(session._jvm.int, len(numbers))
    for at, number in enumerate(numbers):
        array[at] = number
    session.conf.set("spark.sql.jsonGenerator.ignoreNullFields", "false")
    collected = frame._jdf.toJSON().toJavaRDD().collectPartitions(array)
    rows = [json.loads(text) for texts in collected for text in texts]
    assert all(row[PARTITION] in numbers for row in rows)
    return rows[:MOST_ROWS]
