"""Spark's own metrics of a job, sent by Spark's own sinks: presets of the confs of `org.apache.spark.metrics.sink` (Spark's `monitoring`).

They go straight from the job's driver and executors; a preset is nothing but confs, and is part of the version as these are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from pipelines.domain.errors import Invalid

SINKS = "spark.metrics.conf.*.sink."
_CLASS = "org.apache.spark.metrics.sink."
USUAL = {"spark.sql.streaming.metricsEnabled": "true", "spark.metrics.namespace": "${spark.app.name}"}
"""Without the first Spark has no metrics of streaming queries; by the second they are named after the job, and not anew with each run."""
PRESETS = "jmx, graphite://HOST:PORT, statsd://HOST:PORT, csv:FOLDER, prometheus, slf4j or console"


def confs(presets: Sequence[str]) -> dict[str, str]:
    """The confs of some presets; none of none. Invalid (`spark_metrics.preset`) for what is no preset."""
    made = {name: value for preset in presets for name, value in _sink(preset.strip()).items()}
    return {**USUAL, **made} if made else {}


def without_sinks(conf: Mapping[str, str]) -> dict[str, str]:
    """`conf` of a Spark that only reads a job's state or tries its code: its figures are none of the job's."""
    return {name: value for name, value in conf.items() if not name.startswith(SINKS)}


def folder(preset: str) -> str:
    """The folder that a preset writes to; empty where it writes to none."""
    kind, _, place = preset.strip().partition(":")
    return place if kind == "csv" else ""


def _sink(preset: str) -> Mapping[str, str]:
    kind = preset.partition(":")[0]
    if kind not in _KINDS:
        raise _invalid(preset)
    return {f"{SINKS}{kind}.{name}": value for name, value in _KINDS[kind](preset).items()}


def _plain(sink: str, **more: str) -> Callable[[str], dict[str, str]]:
    def of(preset: str) -> dict[str, str]:
        if ":" in preset:
            raise _invalid(preset)
        return {"class": _CLASS + sink, **more}

    return of


def _server(sink: str) -> Callable[[str], dict[str, str]]:
    def of(preset: str) -> dict[str, str]:
        try:
            parts = urlsplit(preset)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise _invalid(preset) from None
        if not host or not port or preset != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
            raise _invalid(preset)
        return {"class": _CLASS + sink, "host": host, "port": str(port)}

    return of


def _folder(preset: str) -> dict[str, str]:
    place = folder(preset)
    if not place.startswith("/"):
        raise _invalid(preset)
    return {"class": f"{_CLASS}CsvSink", "directory": place}


def _invalid(preset: str) -> Invalid:
    return Invalid("spark_metrics.preset", f"{preset!r} is no sink of Spark's metrics", f"Name {PRESETS}.")


_KINDS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "jmx": _plain("JmxSink"),
    "graphite": _server("GraphiteSink"),
    "statsd": _server("StatsdSink"),
    "csv": _folder,
    "prometheus": _plain("PrometheusServlet", path="/metrics/prometheus"),
    "slf4j": _plain("Slf4jSink"),
    "console": _plain("ConsoleSink"),
}
