"""Stateful operators in words: what Spark calls `stateStoreSave` is an aggregation."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "stateStoreSave": "aggregation",
    "sessionWindowStateStoreSaveExec": "session windows",
    "symmetricHashJoin": "join",
    "dedupe": "deduplication",
    "dedupeWithinWatermark": "deduplication within the watermark",
    "globalLimit": "limit",
    "applyInPandasWithState": "applyInPandasWithState",
    "transformWithStateExec": "transformWithState",
    "transformWithStateInPySparkExec": "transformWithState",
    "transformWithStateInPandasExec": "transformWithStateInPandas",
}
"""Spark's name of a stateful operator -> the field's."""


def kind(spark_name: str) -> str:
    """What it is; Spark's own name where no other is known, `operator` where the checkpoint does not say."""
    return NAMES.get(spark_name, spark_name) or "operator"
