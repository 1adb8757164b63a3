"""Counts the rows of state stores with Spark's own reader, as `numRowsTotal` of a progress event counts them.

Measured with Spark 4.3.0, each operator on each provider that it runs on:

- Aggregations, session windows, deduplications (with and within a watermark), limits, applyInPandasWithState: a row a key of the one
  store `default`.
- Stream-stream joins (inner and outer): the rows of `left-` and `right-keyWithIndexToValue`; the two other stores index these. In the
  join's state format 3 all four are column families of one store. In format 4 the families are `keyWithTsToValues`, of which the
  keys are counted (15 for 19 buffered rows), and `tsWithKey`, which indexes them.
- transformWithState: the keys of all state variables together, in one store: a value state has one key a grouping key, a map one an entry,
  a list one however long it is. Column families whose name begins with `$` (counters of list entries, timers, indexes of
  times to live) are Spark's own and not counted (StateStoreMetrics.numKeys of RocksDBStateStoreProvider, less numInternalKeys).
- RocksDB with `trackTotalNumberOfRows` off reports 0 rows of every operator.

Of RocksDB all column families of a store are read at once, undecoded, by the reader that Spark's StateRewriter uses
(`_readAllColumnFamilies`), because state variables of transformWithState and its timers are otherwise read one by one by their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.domain import references, secrets
from pipelines.domain.operators import JOIN
from pipelines.domain.texts import first_line
from pipelines.sandbox import store_reader
from pipelines.sandbox.counts import CountTask, Refusal, Store, StoreRows, Task
from pipelines.storage import file_rights

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
FAMILY = "column_family_name"
INTERNAL = "$"
LIST_COUNTERS = ("$rowCounter_", "$count_")
"""Prefixes of a list variable's name (the second with a time to live) in the column family that has a row for each of its keys."""
INDEX = "-(keyToNumValues|tsWithKey)$"
NOT_THE_STATE = ("STDS_CONFLICT_OPTIONS", "STDS_INVALID_OPTION_VALUE", "STDS_REQUIRED_OPTION_UNSPECIFIED", "STDS_INTERNAL_ERROR")
"""Error classes of Spark's state reader that are about the request and not about the state."""
NOT_THE_STATES_FAULT = ("OutOfMemoryError", "ClassNotFoundException", "NoClassDefFoundError", "UnsupportedOperationException")
MESSAGE_CHARS = 600
TRANSFORM = "transformWithState"
DEFAULT_STORE = "default"
HIDDEN = secrets.Hidden()
"""The secrets of the tasks that this process has had."""


def count(spark: Any, task: CountTask) -> Iterator[StoreRows]:
    """One answer for each store, in the order of the task; the answer of a store that cannot be read has its error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    for store in task.stores:
        try:
            yield StoreRows(store, rows(spark, store))
        except (PySparkException, Py4JJavaError) as error:
            yield _refused(store, error)


def session(task: Task) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(task.master).appName(task.app)
    secret = references.referring(task.conf)
    HIDDEN.hide(secrets.hidden(task.conf, (), references.values(secret.values(), os.environ, file_rights.read_for_job)))
    for key, value in {**task.conf, **references.redaction(task.conf, secrets.SECRET.pattern), **QUIET}.items():
        builder = builder if key in secret else builder.config(key, value)
    spark = builder.getOrCreate()
    spark.streams  # noqa: B018  makes the coordinator of state stores, without which Spark 4.1 reads none of RocksDB's
    for key, text in secret.items():
        value = references.resolved(text, os.environ, file_rights.read_for_job)
        if key.startswith(references.HADOOP):
            spark.sparkContext._jsc.hadoopConfiguration().set(key.removeprefix(references.HADOOP), value)
        elif key.startswith("spark.sql."):
            spark.conf.set(key, value)
    return spark


def rows(spark: Any, store: Store) -> int:
    """Rows of one store."""
    session = store_reader.session_of(spark, store)
    if not _has_families(store):
        return int(store_reader.reader(session, store).option("storeName", store.store).load(store.checkpoint).count())
    frame = store_reader.undecoded(session, store)
    return counted_keys(frame) if store.operator_name == JOIN else counted(dict(frame.groupBy(FAMILY).count().collect()))


def _has_families(store: Store) -> bool:
    """Whether the store holds several column families: state variables, or all four parts of a join (its state formats 3 and 4)."""
    name = store.operator_name
    return store.provider == "rocksdb" and (TRANSFORM in name or (name == JOIN and store.store == DEFAULT_STORE))


def counted(families: Mapping[str, int]) -> int:
    """Rows of a store as Spark counts them, from those of its column families: Spark's own do not count, a list counts its keys."""
    keys = {name: next((families[c + name] for c in LIST_COUNTERS if c + name in families), rows) for name, rows in families.items()}
    return sum(count for name, count in keys.items() if not name.startswith(INTERNAL))


def counted_keys(frame: Any) -> int:
    """The keys in those column families of a join that hold its rows."""
    from pyspark.sql import functions as F

    rows = frame.where(~F.col(FAMILY).rlike(INDEX))
    return int(rows.select(F.count_distinct(FAMILY, "key_bytes")).first()[0])


def _refused(store: Store, error: Any) -> StoreRows:
    reason = refusal(error)
    return StoreRows(store, 0, reason.error_class, reason.message, damaged=reason.damaged)


def refusal(error: Any) -> Refusal:
    """Why Spark could not read the state."""
    words = _causes(error)
    error_class = _condition(error) or words[-1].partition(":")[0]
    blameless = error_class.startswith(NOT_THE_STATE) or any(name in text for name in NOT_THE_STATES_FAULT for text in words)
    return Refusal(error_class, HIDDEN.shown(words[-1])[:MESSAGE_CHARS], damaged=not blameless)


def _condition(error: Any) -> str:
    asked = getattr(error, "getCondition", None)
    return (asked() if asked else None) or ""


def _causes(error: Any) -> list[str]:
    """The first line of the error and of each of its causes in the JVM, outermost first."""
    throwable = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    messages = [str(error)]
    while throwable is not None and len(messages) < 50:
        messages.append(str(throwable.toString()))
        throwable = throwable.getCause()
    return [line for line in map(first_line, messages) if line]
