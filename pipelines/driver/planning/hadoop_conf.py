"""Confs of Hadoop that a script sets on Spark's own (`hadoopConfiguration().set`): of which service and how files are read, for instance.

They are the JVM's, so they are taken back before the next script.
"""

from __future__ import annotations

import json
from typing import Any

HIDDEN = "<redacted>"
"""Stands for a secret (Hadoop's ConfigRedactor)."""
OF_SPARK = {"hive.metastore.warehouse.dir"}
"""Spark sets it itself, to its own warehouse (SharedState)."""
_begun: list[Any] = []
"""As they were when the JVM's first session began: what they held, and a copy of them."""


def note() -> None:
    """Once a session is there: what any script finds."""
    if not _begun:
        _begun[:] = [_held(), _jvm().org.apache.hadoop.conf.Configuration(_conf())]


def changed() -> dict[str, str]:
    """Those that were set since -> their values; empty where they were taken away."""
    return {key: now for key, (_, now) in _changed().items()}


def take_back() -> None:
    """Sets those as they were that a script has changed."""
    for key, (was, _) in _changed().items():
        if not was:
            _conf().unset(key)
        elif was != HIDDEN:
            _conf().set(key, was)


def _changed() -> dict[str, tuple[str, str]]:
    """Name -> what it was and what it is, empty where it is not set."""
    if not _begun:
        return {}
    held, copied = _begun
    now, sets = _held(), _jvm().com.google.common.collect.Sets
    others = [entry for part in (sets.difference(held, now), sets.difference(now, held)) for entry in part.toArray()]
    names = {str(entry.getKey()) for entry in others}
    return {name: (_told(copied, name), _told(_conf(), name)) for name in sorted(names - OF_SPARK)}


def _held() -> Any:
    """All with their values, as a set of Java's: to write them out takes fifty times as long."""
    return _jvm().com.google.common.collect.ImmutableSet.copyOf(_conf())


def _told(conf: Any, name: str) -> str:
    """What a conf is, without a secret; empty where it is not set."""
    if conf.get(name) is None:
        return ""
    written = _jvm().java.io.StringWriter()
    _jvm().org.apache.hadoop.conf.Configuration.dumpConfiguration(conf, name, written)
    return str(json.loads(written.toString())["property"]["value"])


def _conf() -> Any:
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    return context._jsc.sc().hadoopConfiguration()


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm
