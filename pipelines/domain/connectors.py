"""Connectors that Spark's Python package lacks: which jars a runtime needs for a system, and whether it has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.domain.runtimes import numbers

KAFKA = "Kafka"
KAFKA_JAR = "spark-sql-kafka-0-10_"
"""What the file name of Kafka's connector begins with."""
BY_HAND: Mapping[str, tuple[str, ...]] = {
    "4.3": (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.1",
        "org.apache.commons:commons-pool2:2.12.1",
    ),
}
"""Release of Spark -> these jars and nothing behind them: Maven's repository has no connector of its own version. The suite runs jobs on
them (`tests/maven/kafka_connector.xml`)."""
DELTA = "Delta Lake"
DELTA_JAR = "delta-spark_"
"""What the file name of Delta Lake's jar begins with."""
DELTA_CONFS = (
    "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
)
"""Delta Lake refuses to read and to write without them (`spark.databricks.delta.requiredSparkConfsCheck.enabled`)."""
DELTAS: Mapping[str, str] = {
    "3.5": "io.delta:delta-spark_2.12:3.3.2",
    "4.0": "io.delta:delta-spark_4.0_2.13:4.4.0",
    "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
}
"""Release of Spark -> Delta Lake's for it in Maven's repository."""
DELTA_TRIED = ("3.5", "4.1", "4.2")
"""The releases of Spark on which the suite runs jobs with it (`tests/maven/delta_connector_*.xml`), on 4.2 its long tests."""
ICEBERG = "Iceberg"
ICEBERG_JAR = "iceberg-spark-runtime-"
"""What the file name of Iceberg's jar begins with."""
ICEBERGS: Mapping[str, str] = {
    "3.5": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1",
    "4.0": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
"""Release of Spark -> Iceberg's jar for it in Maven's repository."""
ICEBERG_TRIED = ("3.5", "4.1")
"""The releases of Spark on which the suite runs jobs with it (`tests/maven/iceberg_connector_*.xml`), on 4.1 its long tests."""
_MADE_FOR = re.compile(rf"(?:{DELTA_JAR}|{ICEBERG_JAR})(\d+\.\d+)_.+\.jar")


@dataclass(frozen=True)
class Connector:
    """What a runtime needs for one system."""

    system: str
    artifacts: tuple[str, ...]
    """Maven's `group:artifact:version`; none where there is no release for this Spark that is known."""
    is_there: bool = False
    """Whether the runtime's Spark has it among its own jars."""
    is_by_hand: bool = False
    """Whether the jars are given one by one (`spark.jars`); else Spark fetches them with all that they need (`spark.jars.packages`)."""
    is_tried: bool = False
    """Whether Tidemark's tests run jobs with it on this Spark."""
    confs: tuple[str, ...] = ()
    """What a job is given besides, each `name=value`."""
    releases: tuple[str, ...] = ()
    """The releases of Spark for which there is one, oldest first; none where there is one for each."""
    misfit: str = ""
    """A jar of it among Spark's own that is for another release of Spark; empty where there is none."""

    @property
    def fits(self) -> bool:
        """Whether there is one for this Spark."""
        return self.is_there or bool(self.artifacts)


def release(spark_version: str) -> str:
    """A version of Spark without its patch number: `4.1` of `4.1.4`."""
    return ".".join(spark_version.split(".")[:2])


def kafka(spark_version: str, is_there: bool) -> Connector:
    """Kafka's connector for a Spark."""
    by_hand = BY_HAND.get(release(spark_version), ())
    return Connector(
        system=KAFKA,
        artifacts=by_hand or (f"org.apache.spark:{KAFKA_JAR}{_scala(spark_version)}:{spark_version}",),
        is_there=is_there,
        is_by_hand=bool(by_hand),
        is_tried=bool(by_hand),
    )


def delta(spark_version: str, jars: Sequence[str]) -> Connector:
    """Delta Lake for a Spark that has `jars` of it (file names) among its own."""
    return _of_release(Connector(DELTA, (), confs=DELTA_CONFS), DELTAS, DELTA_TRIED, release(spark_version), jars)


def iceberg(spark_version: str, jars: Sequence[str]) -> Connector:
    """Iceberg's jar for a Spark that has `jars` of it (file names) among its own."""
    return _of_release(Connector(ICEBERG, ()), ICEBERGS, ICEBERG_TRIED, release(spark_version), jars)


def _of_release(plain: Connector, artifacts: Mapping[str, str], tried: Sequence[str], spark: str, jars: Sequence[str]) -> Connector:
    misfits = [jar for jar in jars if (match := _MADE_FOR.fullmatch(jar)) and match[1] != spark]
    return replace(
        plain,
        artifacts=(artifacts[spark],) if spark in artifacts else (),
        is_there=bool(jars) and not misfits,
        is_tried=spark in tried,
        releases=tuple(artifacts),
        misfit=min(misfits, default=""),
    )


def _scala(spark_version: str) -> str:
    """The Scala that PySpark's jars of this version are made for."""
    return "2.13" if numbers(spark_version) >= (4, 0) else "2.12"
