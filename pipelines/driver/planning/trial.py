"""The test of Spark's internals before anything rests on them: equal code has equal forms, other code another, a contract is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.domain.texts import first_line
from pipelines.driver.planning import doors
from pipelines.driver.planning.doors import Doors

NAMED = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
SUM, AGAIN, GREATEST = "sum(value) AS kept", "sum( value ) as other", "max(value) AS kept"


_passed: Any = None
"""The JVM that is as known: its class path, its extensions and its catalogs are what it was started with."""


def failure(spark: Any, folder: Path, fingerprint: Callable[[Any, Any], str]) -> str:
    """Why this Spark cannot be judged by; empty where all is as it is known to be. Each JVM is tested once, a warm one as it warms up."""
    global _passed
    if _passed is not None and _passed is spark._jvm:
        return ""
    reason = _tested(spark, folder, fingerprint)
    _passed = None if reason else spark._jvm
    return reason


def _tested(spark: Any, folder: Path, fingerprint: Callable[[Any, Any], str]) -> str:
    if not spark.version.startswith(doors.KNOWN):
        return f"Spark {spark.version} was not measured, only {', '.join(f'{known}x' for known in doors.KNOWN)}"
    from py4j.protocol import Py4JError

    try:
        digests = [_digest(spark, folder / str(at), aggregate, fingerprint) for at, aggregate in enumerate((SUM, AGAIN, GREATEST))]
    except (Py4JError, AttributeError, TypeError, OSError) as error:
        return f"Spark's planner does not answer as known: {first_line(error)}"
    if digests[0] != digests[1] or digests[0] == digests[2]:
        return "Spark's plans do not tell code apart as known"
    if not (folder / "0" / "state" / "0" / "_metadata" / "metadata").is_file():
        return "Spark does not write what an operator keeps as known"
    return ""


def _digest(spark: Any, folder: Path, aggregate: str, fingerprint: Callable[[Any, Any], str]) -> str:
    from pyspark.sql import functions as F

    reader = spark.readStream.format("rate")
    if spark.conf.get(NAMED, "false") == "true":
        reader = reader.name("trial")  # else Spark takes no source
    rate = reader.load().withWatermark("timestamp", "1 minute").where("value > 1")
    frame = rate.groupBy((F.col("value") % 2).alias("half")).agg(F.expr(aggregate))
    opened = Doors(spark)
    plan = opened.beginning(frame._jdf.queryExecution().analyzed(), "Update", folder, None, 0, 0)
    return fingerprint(frame, opened.stateful(plan)[0])
