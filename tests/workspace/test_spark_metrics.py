"""Presets of Spark's own sinks: confs that stand in the version; a Spark that only reads a job's state sends none of its figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid
from pipelines.domain.spark_metrics import SINKS, USUAL, confs, without_sinks
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.run import RunScript
from pipelines.workspace import run_confs
from tests.workspace.conftest import CODE, House

KINDS = {
    "jmx": {"jmx.class": "JmxSink"},
    "graphite://graphite.example:2003": {
        "graphite.class": "GraphiteSink", "graphite.host": "graphite.example", "graphite.port": "2003",
    },
    "statsd://[::1]:8125": {"statsd.class": "StatsdSink", "statsd.host": "::1", "statsd.port": "8125"},
    "csv:/tmp": {"csv.class": "CsvSink", "csv.directory": "/tmp"},
    "prometheus": {"prometheus.class": "PrometheusServlet", "prometheus.path": "/metrics/prometheus"},
    "slf4j": {"slf4j.class": "Slf4jSink"},
    "console": {"console.class": "ConsoleSink"},
}  # fmt: skip


def sinks(conf: dict[str, str]) -> dict[str, str]:
    """The confs of sinks, in short."""
    package = "org.apache.spark.metrics.sink."
    return {name.removeprefix(SINKS): value.removeprefix(package) for name, value in conf.items() if name.startswith(SINKS)}


@pytest.mark.parametrize("preset", KINDS)
def test_each_preset_is_confs(preset: str) -> None:
    conf = confs([preset])
    assert sinks(conf) == KINDS[preset]
    assert without_sinks(conf) == USUAL


def test_several_go_together_and_none_is_nothing() -> None:
    assert sinks(confs(list(KINDS))) == {name: value for kind in KINDS.values() for name, value in kind.items()}
    assert confs([]) == {}


@pytest.mark.parametrize(
    "preset",
    [
        "", "ganglia", "jmx:", "jmx://x:1", "graphite", "graphite://host", "graphite://:2003", "graphite://h:99999", "graphite://h:1/x",
        "graphite://user:secret@h:2003", "statsd://[::1", "csv:", "csv:relative", "JMX",
    ],
)  # fmt: skip
def test_what_is_no_preset_is_refused(preset: str) -> None:
    with pytest.raises(Invalid) as refused:
        confs([preset])
    assert refused.value.code == "spark_metrics.preset"


def test_they_stand_in_the_version_and_what_is_given_stands_over_them(house: House, tmp_path: Path) -> None:
    period = {f"{SINKS}csv.period": "1", "spark.metrics.namespace": "mine"}
    change = RunScript(name="a", script="job.py", code=CODE, conf=period, spark_metrics=(f"csv:{tmp_path}", "jmx"))
    assert house.face.plan(change).conf["spark.sql.streaming.metricsEnabled"] == "true"
    version = house.face.ask(ShowVersion(do(house.face, change).version))
    assert sinks(dict(version.conf)) == {"csv.class": "CsvSink", "csv.directory": str(tmp_path), "csv.period": "1", **KINDS["jmx"]}
    assert version.conf["spark.metrics.namespace"] == "mine"
    assert sinks(dict(run_confs.confs(house.face.context, version))) == {}


def test_a_folder_that_is_not_there_is_refused(house: House, tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refused:
        house.face.plan(RunScript(name="a", script="job.py", code=CODE, spark_metrics=(f"csv:{tmp_path / 'none'}",)))
    assert refused.value.code == "spark_metrics.folder"
