"""Connectors that Spark's Python package lacks: which jars a runtime needs for a system, and whether it has them."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.domain.connector_jars import PACKAGES, package_jars
from pipelines.domain.job_places import ARTIFACT
from pipelines.domain.job_places import CONNECTOR as HADOOP_AWS
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
KAFKAS: Mapping[str, str] = {"3.5": "3.5.7", "4.0": "4.0.0", "4.1": "4.1.1", "4.2": "4.2.0"}
"""Release of Spark -> the newest of Kafka's connector for it that Maven's repository has with all that it needs. A later patch of it
takes that, too."""
KAFKA_TRIED = ("4.2", *BY_HAND)
"""The releases of Spark on which the suite runs jobs with it, on 4.2 its long tests (`tests/maven/kafka_connector_4.2.xml`)."""
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
S3 = "S3"
S3_JAR = f"{HADOOP_AWS}-"
"""What the file name of Hadoop's own connector for S3 (`s3a://`) begins with: its version is that of Spark's Hadoop, to the last number."""
S3_TRIED = ("3.5.0",)
"""The versions of Hadoop on which the suite runs jobs with it (`tests/maven/s3_connector.xml`)."""
CLASSES: Mapping[str, tuple[str, ...]] = {
    KAFKA: (
        "org.apache.spark.sql.kafka010.KafkaSourceProvider",
        "org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumerPool",
        "org.apache.spark.kafka010.KafkaTokenUtil",
        "org.apache.kafka.clients.consumer.KafkaConsumer",
    ),
    DELTA: (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "org.apache.spark.sql.delta.sources.DeltaDataSource",
        "io.delta.storage.LogStore",
    ),
    ICEBERG: (
        "org.apache.iceberg.spark.SparkCatalog",
        "org.apache.iceberg.spark.source.IcebergSource",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    ),
    S3: (
        "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "software.amazon.awssdk.services.s3.S3AsyncClient",
        "software.amazon.awssdk.transfer.s3.S3TransferManager",
    ),
}
"""System -> classes of its jar and of the jars behind it: where a Spark loads them, all jars are there and none is for a Spark without the
classes that they name."""
_HADOOP = re.compile(r"hadoop-client-api-(\d[\w.-]*?)\.jar")
_MADE_FOR = re.compile(rf"(?:{DELTA_JAR}|{ICEBERG_JAR})(\d+\.\d+)_.+\.jar")


class Found(enum.StrEnum):
    """Where a runtime has a connector."""

    NOWHERE = "nowhere"
    SPARK = "spark"
    """Among Spark's own jars."""
    CONFS = "confs"
    """Among the files that the confs name (`spark.jars`, `spark.driver.extraClassPath`)."""
    PACKAGES = "packages"
    """Spark fetches it as a job begins (`spark.jars.packages`), so it was not loaded."""


@dataclass(frozen=True)
class Jars:
    """The file names of the jars that a Spark has, by where from."""

    spark: tuple[str, ...] = ()
    confs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def beginning(self, prefix: str) -> tuple[Found, tuple[str, ...]]:
        """The first place that has some whose names begin so, and these."""
        for found in (Found.SPARK, Found.CONFS, Found.PACKAGES):
            if names := tuple(sorted(name for name in getattr(self, found) if name.startswith(prefix))):
                return found, names
        return Found.NOWHERE, ()


@dataclass(frozen=True)
class Connector:
    """What a runtime needs for one system."""

    system: str
    artifacts: tuple[str, ...]
    """Maven's `group:artifact:version`; none where there is no release for this Spark that is known."""
    found: Found = Found.NOWHERE
    """Where the runtime has it."""
    problem: str = ""
    """Why the runtime's Spark does not load what was found; empty where it does, and where it was not tried."""
    is_by_hand: bool = False
    """Whether the jars are given one by one (`spark.jars`); else Spark fetches them with all that they need (`spark.jars.packages`)."""
    is_tried: bool = False
    """Whether Tidemark's tests run jobs with it on this Spark."""
    confs: tuple[str, ...] = ()
    """What a job is given besides, each `name=value`."""
    releases: tuple[str, ...] = ()
    """The releases of Spark for which there is one, oldest first; none where there is one for each."""
    misfit: str = ""
    """A jar of it that was found and is for another release of Spark, or Hadoop; empty where there is none."""
    is_unfetchable: bool = False
    """Whether the misfit is for this Spark, but Maven's repository lacks it or a jar that it needs."""

    @property
    def is_to_load(self) -> bool:
        """Whether its jars are there, and may be for this Spark."""
        return self.found in (Found.SPARK, Found.CONFS) and not self.misfit

    @property
    def is_ready(self) -> bool:
        """Whether a job can use it without anything else."""
        return self.found is not Found.NOWHERE and not self.misfit and not self.problem

    @property
    def fits(self) -> bool:
        """Whether there is one for this Spark."""
        return self.is_ready or bool(self.artifacts)


@dataclass(frozen=True)
class Connectors:
    """What a runtime needs for other systems."""

    python: str
    """Its interpreter's path."""
    spark_version: str
    connectors: tuple[Connector, ...]


def release(spark_version: str) -> str:
    """A version of Spark without its patch number: `4.1` of `4.1.4`."""
    return ".".join(spark_version.split(".")[:2])


def of_spark(spark_version: str, jars: Jars) -> tuple[Connector, ...]:
    """Those of all systems, for a Spark that has these jars; whether it loads them is not known yet."""
    return kafka(spark_version, jars), delta(spark_version, jars), iceberg(spark_version, jars), *s3(jars)


def kafka(spark_version: str, jars: Jars) -> Connector:
    """Kafka's connector. What Spark fetches has to be of its own release and Scala, and is nowhere where jars are given by hand."""
    by_hand = BY_HAND.get(release(spark_version), ())
    found, names = jars.beginning(KAFKA_JAR)
    own = f"{KAFKA_JAR}{_scala(spark_version)}-{release(spark_version)}."
    misfit = next((name for name in names if by_hand or not name.startswith(own)), "") if found is Found.PACKAGES else ""
    return Connector(
        system=KAFKA,
        artifacts=by_hand or (f"org.apache.spark:{KAFKA_JAR}{_scala(spark_version)}:{_kafka_version(spark_version)}",),
        found=found,
        is_by_hand=bool(by_hand),
        is_tried=release(spark_version) in KAFKA_TRIED,
        misfit=misfit,
        is_unfetchable=misfit.startswith((own, *(package_jars({PACKAGES: by_hand[0]}) if by_hand else ()))),
    )


def delta(spark_version: str, jars: Jars) -> Connector:
    """Delta Lake."""
    return _of_release(Connector(DELTA, (), confs=DELTA_CONFS), DELTAS, DELTA_TRIED, release(spark_version), *jars.beginning(DELTA_JAR))


def iceberg(spark_version: str, jars: Jars) -> Connector:
    """Iceberg's jar."""
    return _of_release(Connector(ICEBERG, ()), ICEBERGS, ICEBERG_TRIED, release(spark_version), *jars.beginning(ICEBERG_JAR))


def s3(jars: Jars) -> tuple[Connector, ...]:
    """Hadoop's connector for S3; none for a Spark that was built without a Hadoop."""
    hadoop = next((match[1] for name in jars.spark if (match := _HADOOP.fullmatch(name))), "")
    found, names = jars.beginning(S3_JAR)
    misfit = next((name for name in names if name != f"{S3_JAR}{hadoop}.jar"), "")
    made = Connector(S3, (f"{ARTIFACT}:{hadoop}",), found, is_tried=hadoop in S3_TRIED, misfit=misfit)
    return (made,) if hadoop else ()


def _of_release(
    plain: Connector, artifacts: Mapping[str, str], tried: Sequence[str], spark: str, found: Found, jars: Sequence[str]
) -> Connector:
    misfits = [jar for jar in jars if (match := _MADE_FOR.fullmatch(jar)) and match[1] != spark]
    return replace(
        plain,
        artifacts=(artifacts[spark],) if spark in artifacts else (),
        found=found,
        is_tried=spark in tried,
        releases=tuple(artifacts),
        misfit=min(misfits, default=""),
    )


def _kafka_version(spark_version: str) -> str:
    """That of this Spark where its release has it, else the newest there is."""
    newest = KAFKAS.get(release(spark_version), spark_version)
    return min(spark_version, newest, key=lambda version: [int(number) for number in re.findall(r"\d+", version)])


def _scala(spark_version: str) -> str:
    """The Scala that PySpark's jars of this version are made for."""
    return "2.13" if numbers(spark_version) >= (4, 0) else "2.12"
