"""Which connectors a runtime has, found by loading them in a JVM of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyspark
import pytest

from pipelines.domain.connectors import DELTA, ICEBERG, KAFKA, S3, Connector
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.sandbox import sparks
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.system import ShowAbout
from pipelines.words.connectors import need
from tests import delta, kafka, maven, runtimes, s3_connector
from tests.sandbox import interpreters
from tests.workspace.conftest import House

KAFKAS = "spark-sql-kafka-0-10_2.13-4.2.0.jar"


def shown(house: House, conf: dict[str, str], system: str) -> Connector:
    return next(each for each in house.face.ask(ShowConnectors(conf=conf)).connectors if each.system == system)


@pytest.mark.spark
def test_jars_that_a_conf_names_are_loaded(house: House, tmp_path: Path) -> None:
    if lacks := kafka.missing():
        pytest.skip(lacks)
    jars = maven.jars("kafka_connector")
    folder = jars[0].parent
    by_path = shown(house, {"spark.driver.extraClassPath": f"{folder}/*"}, KAFKA)
    assert (by_path.problem, need(by_path)) == ("", "loads from the jars that the confs name")
    alone = shutil.copy(folder / KAFKAS, tmp_path)
    half = shown(house, {"spark.jars": f"file://{alone}"}, KAFKA)
    assert not half.is_ready and "java.lang.NoClassDefFoundError: org/apache/kafka/" in half.problem
    assert need(half).startswith("is among the jars that the confs name, but this Spark does not load it: java.lang.NoClassDef")
    assert need(half).endswith("commons-pool2:2.12.1")
    for jar in jars:
        shutil.copy(jar, tmp_path)
    if s3_connector.missing():
        assert shown(house, {"spark.jars": ",".join(map(str, tmp_path.glob("*.jar")))}, KAFKA).is_ready
        return
    jars = [*tmp_path.glob("*.jar"), *maven.jars(s3_connector.CONNECTOR)]
    both = {each.system: each for each in house.face.ask(ShowConnectors(conf={"spark.jars": ",".join(map(str, jars))})).connectors}
    assert [both[system].problem for system in (KAFKA, S3) if both[system].is_ready] == ["", ""]


@pytest.mark.spark
def test_a_jar_among_sparks_own_that_is_for_another_scala_is_found_by_loading_it(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name does not say for which Spark it is. This one keeps Spark from starting at all."""
    if lacks := delta.missing("3.5"):
        pytest.skip(lacks)
    own = Path(pyspark.__file__).parent
    for path in own.iterdir():
        if path.name != "jars":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "jars").mkdir()
    for jar in (*(own / "jars").iterdir(), *maven.jars(delta.connector("3.5"))):
        (tmp_path / "jars" / jar.name).symlink_to(jar)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = next(each for each in house.face.ask(ShowAbout()).runtimes[0].connectors if each.system == DELTA)
    assert not found.misfit and found.problem == "its JVM did not answer (java.lang.NoClassDefFoundError: scala/Serializable)"
    assert need(found).startswith("is among Spark's jars, but this Spark does not load it: its JVM did not answer (")
    assert "let the job run on Spark 3.5, 4.0, 4.1 or 4.2" in need(found)


LISTS = ("delta_connector_3.5", "delta_connector_4.1", "delta_connector_4.2", "iceberg_connector_3.5", "iceberg_connector_4.1")
LACKING = [name for name in (*LISTS, kafka.CONNECTOR) if not maven.jars(name)]
LOADS = "loads from the jars that the confs name"
OTHER = "among the jars that the confs name, which is for another Spark: take it away. Then it needs the conf spark.jars.packages="
NOT_LOADED = "is among the jars that the confs name, but this Spark does not load it: java.lang.NoClassDefFoundError: "
ON_RUNTIMES: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
    (
        runtimes.NEWER,
        ("delta_connector_4.1", "iceberg_connector_4.1", kafka.CONNECTOR),
        {KAFKA: LOADS, DELTA: f"{LOADS}; a job needs the confs spark.sql.extensions=io.delta.", ICEBERG: LOADS},
    ),
    (
        runtimes.NEWER,
        ("delta_connector_4.2", "iceberg_connector_3.5"),
        {
            DELTA: f"has delta-spark_4.2_2.13-4.4.0.jar {OTHER}io.delta:delta-spark_4.1_2.13:4.4.0 (tried), and the confs ",
            ICEBERG: f"has iceberg-spark-runtime-3.5_2.12-1.10.1.jar {OTHER}org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        },
    ),
    (
        runtimes.NEWER,
        ("delta_connector_3.5",),
        {DELTA: f"{NOT_LOADED}scala/Serializable. It needs the conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0 (tried)"},
    ),
    (
        runtimes.USUAL,
        ("delta_connector_3.5", "iceberg_connector_3.5", kafka.CONNECTOR),
        {
            KAFKA: f"{NOT_LOADED}org/apache/spark/internal/LogKey. It needs the conf "
            f"spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.12:{runtimes.USUAL}",
            DELTA: f"{LOADS}; a job needs the confs spark.sql.extensions=io.delta.",
            ICEBERG: LOADS,
        },
    ),
]


@pytest.mark.spark
@pytest.mark.skipif(bool(LACKING), reason=f"needs the jars of {', '.join(LACKING)}; to get them: {maven.HOW}")
@pytest.mark.parametrize(("spark", "lists", "said"), ON_RUNTIMES, ids=["fit", "by name", "another Scala", "Kafka's is newer"])
def test_what_another_runtime_loads_is_said_and_what_to_give_it_instead(
    house: House, spark: str, lists: tuple[str, ...], said: dict[str, str]
) -> None:
    jars = ",".join(str(jar) for name in lists for jar in maven.jars(name))
    answer = house.face.ask(ShowConnectors(runtimes.python(spark), conf={"spark.jars": jars}))
    assert answer.spark_version == spark
    for system, begins in said.items():
        text = need(next(each for each in answer.connectors if each.system == system))
        assert text.startswith(begins), text


def test_without_jars_nothing_is_started(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sandbox.loading.users", None)
    answer = house.face.ask(ShowConnectors())
    assert answer.spark_version == sparks.of("").version and [each.system for each in answer.connectors] == [KAFKA, DELTA, ICEBERG, S3]
    assert not any(each.is_ready for each in answer.connectors)
    hadoop = next(path.name for path in (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar"))
    of_s3 = f"needs the conf spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop[18:-4]} (tried)"
    assert need(answer.connectors[3]) == of_s3
    gone = shown(house, {"spark.jars": f"/nowhere/{KAFKAS}"}, KAFKA)
    assert gone.problem == f"there is no file /nowhere/{KAFKAS}"


def test_a_runtime_whose_jvm_does_not_answer_is_not_said_to_load_anything(house: House, tmp_path: Path) -> None:
    python = interpreters.interpreter(tmp_path / "4.3", "exit 3", (*interpreters.SPARK_43, KAFKAS))
    found = next(each for each in house.face.ask(ShowConnectors(python)).connectors if each.system == KAFKA)
    assert not found.is_ready and found.problem == "its JVM did not answer (no word)"


def test_a_runtime_on_which_no_job_could_run_is_refused(house: House, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="There is no interpreter"):
        house.face.ask(ShowConnectors(str(tmp_path / "none")))
    with pytest.raises(Unavailable, match="has no PySpark"):
        house.face.ask(ShowConnectors(interpreters.without_spark(tmp_path / "bare")))
