"""Confs of Hadoop that a script sets on Spark's own (`hadoopConfiguration().set`): of which service and how files are read, for instance.

They are the JVM's, so they are taken back before the next script.
"""

from __future__ import annotations

import json
from typing import Any

HIDDEN = "<redacted>"
"""Stands for a secret (Hadoop's ConfigRedactor)."""
_begun: dict[str, str] = {}
"""As they were when the JVM's first session began."""


def note() -> None:
    """Once a session is there: what any script finds."""
    if not _begun:
        _begun.update(_all())


def changed() -> dict[str, str]:
    """Those that were set since -> their values; empty where they were taken away."""
    now = _all() if _begun else {}
    return {key: now.get(key, "") for key in now.keys() | _begun.keys() if now.get(key) != _begun.get(key)}


def take_back() -> None:
    """Sets those as they were that a script has changed."""
    for key in changed():
        was = _begun.get(key)
        if was is None:
            _conf().unset(key)
        elif was != HIDDEN:
            _conf().set(key, was)


def _all() -> dict[str, str]:
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    written = jvm.java.io.StringWriter()
    jvm.org.apache.hadoop.conf.Configuration.dumpConfiguration(_conf(), written)
    told = json.loads(written.toString())["properties"]
    return {entry["key"]: entry["value"] for entry in told}


def _conf() -> Any:
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    return context._jsc.sc().hadoopConfiguration()
