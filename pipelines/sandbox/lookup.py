"""Looks one key up with Spark's `statestore` source, in the one partition that Spark keeps it in.

A stateful operator's input is partitioned by `HashPartitioning` over the columns of the state's key, in their order: partition
`pmod(hash(columns), n)` (Spark's StatefulOpClusteredDistribution; measured with Spark 4.3.0 on aggregations, deduplications, joins and
transformWithState). Sessions are partitioned by a part of the key, and a limit by nothing: of these every partition is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.domain.joins import EVENT_TIME, NUMBER
from pipelines.domain.json_text import read_exactly
from pipelines.domain.operators import JOIN
from pipelines.sandbox.lookups import MOST_ROWS, FoundKey, LookUpTask
from pipelines.sandbox.reading import PARTITION, as_json, changes, named, table

BY_KEY = ("stateStoreSave", "dedupe", JOIN, "transformWithState", "flatMapGroupsWithState", "applyInPandasWithState")
"""Operators whose rows are partitioned by the whole key."""
APART = (NUMBER, EVENT_TIME)
"""How the last column of the keys is called by which a join keeps its rows, beside what it joins by: no row is spread by it."""
EVERY = -1
UNEQUAL = re.compile(r"\bmap<|\binterval\b(?! (day|hour|minute|second|year|month))")
"""In the name of a type that holds a map or an interval of months, days and microseconds together."""
AS_SHOWN = {"binary": " (in base64)", "array": " (as JSON)", "struct": " (as JSON)"}
"""How a value is written whose type does not say it."""


class NoSuchKeyColumns(Exception):
    """The key names other columns than the table's, or a value is not of the column's type."""


def look_up(spark: Any, task: LookUpTask) -> FoundKey:
    """Raises `NoSuchKeyColumns`, and what Spark raises."""
    rows = table(spark, task.store, task.variable) if task.since is None else changes(spark, task.store, task.variable, task.since)
    session = rows.sparkSession
    session.conf.set("spark.sql.session.timeZone", "UTC")
    kind = rows.schema["key"].dataType
    texts = dict(task.key)
    apart = {kind.names[-1]} & {*APART} if task.store.operator_name == JOIN else set()
    asked = [field for field in kind.fields if field.name in texts or field.name not in apart]
    values = {field.name: _expression(session, field, field.name, texts) for field in asked}
    if texts:
        raise NoSuchKeyColumns(f"there is no key column {', '.join(sorted(texts))}; there are {', '.join(_paths(kind))}")
    meets = " AND ".join(f"key.`{name}` <=> {value}" for name, value in values.items())
    fitting = named(rows.where(meets or "true"))
    if not task.store.operator_name.startswith(BY_KEY):
        return FoundKey(EVERY, tuple(_of_partitions(session, fitting, range(task.partitions))))
    spread_by = ", ".join(value for name, value in values.items() if name not in apart)
    (partition,) = session.sql(f"SELECT pmod(hash({spread_by}), {task.partitions})").first()
    return FoundKey(partition, tuple(_of_partitions(session, fitting, [partition])))


def _expression(session: Any, field: Any, path: str, texts: dict[str, str | None]) -> str:
    """SQL of the field's value, taken out of `texts` by path; of a struct that of its fields, or all of it as JSON."""
    from pyspark.sql.types import StructType

    if isinstance(field.dataType, StructType) and path not in texts:
        inner = ", ".join(
            f"'{child.name}', {_expression(session, child, f'{path}.{child.name}', texts)}" for child in field.dataType.fields
        )
        return f"named_struct({inner})"
    if path not in texts:
        raise NoSuchKeyColumns(f"{path} ({field.dataType.simpleString()}) is missing: the whole key is needed")
    text, kind = texts.pop(path), field.dataType.simpleString()
    if UNEQUAL.search(kind):
        raise NoSuchKeyColumns(f"{path} is a {kind}: a key that holds one cannot be looked up, as Spark does not compare them")
    if text is None:
        return f"CAST(NULL AS {kind})"
    value = _typed("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'", field.dataType)
    if session.sql(f"SELECT {value} IS NULL").first()[0]:
        raise NoSuchKeyColumns(f"{text!r} is no {kind}, which {path} is{AS_SHOWN.get(field.dataType.typeName(), '')}")
    return value


def _typed(literal: str, kind: Any) -> str:
    """SQL of the value of that type which is shown as the text `literal`, null where there is none."""
    if kind.typeName() == "binary":
        return f"try_to_binary({literal}, 'base64')"
    if kind.typeName() in ("array", "struct"):
        return f"from_json({literal}, '{kind.simpleString()}')"
    return f"try_cast({literal} AS {kind.simpleString()})"


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
    lines = getattr(frame.select(as_json("*"))._jdf, "as")(session._jvm.org.apache.spark.sql.Encoders.STRING())
    rows = [read_exactly(text) for texts in lines.toJavaRDD().collectPartitions(array) for text in texts]
    assert all(row[PARTITION] in numbers for row in rows)
    return rows[:MOST_ROWS]
