"""Connectors that Spark's Python package lacks: which jars a runtime needs for a system, and whether it has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
"""Spark without its patch number -> these jars and nothing behind them: Maven's repository has no connector of its own version. The suite
runs jobs on them (`tests/maven/kafka_connector.xml`)."""
ICEBERG = "Iceberg"
ICEBERG_JAR = "iceberg-spark-runtime-"
"""What the file name of Iceberg's jar begins with."""
ICEBERG_VERSION = "1.10.1"
ICEBERG_SPARKS = ("3.5", "4.0")
"""The Sparks for which Iceberg's jar of that version is in Maven's repository."""
ICEBERG_TRIED = "3.5"
"""The Spark on which the suite runs jobs with it (`tests/maven/iceberg_connector.xml`)."""


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


def kafka(spark_version: str, is_there: bool) -> Connector:
    """Kafka's connector for a Spark."""
    by_hand = BY_HAND.get(".".join(spark_version.split(".")[:2]), ())
    return Connector(
        system=KAFKA,
        artifacts=by_hand or (f"org.apache.spark:{KAFKA_JAR}{_scala(spark_version)}:{spark_version}",),
        is_there=is_there,
        is_by_hand=bool(by_hand),
        is_tried=bool(by_hand),
    )


def iceberg(spark_version: str, is_there: bool) -> Connector:
    """Iceberg's jar for a Spark."""
    spark = ".".join(spark_version.split(".")[:2])
    artifact = f"org.apache.iceberg:{ICEBERG_JAR}{spark}_{_scala(spark_version)}:{ICEBERG_VERSION}"
    return Connector(
        system=ICEBERG,
        artifacts=(artifact,) if spark in ICEBERG_SPARKS else (),
        is_there=is_there,
        is_tried=spark == ICEBERG_TRIED,
    )


def _scala(spark_version: str) -> str:
    """The Scala that PySpark's jars of this version are made for."""
    return "2.13" if numbers(spark_version) >= (4, 0) else "2.12"
