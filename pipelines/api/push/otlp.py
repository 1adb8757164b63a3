"""Metrics over OTLP (HTTP, protobuf), by OpenTelemetry's own exporter."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pipelines import __version__
from pipelines.api.metrics import Reading
from pipelines.api.push.receiver import away
from pipelines.api.push.settings import Otlp

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, NumberDataPoint

SERVICE = "tidemark"
OWN_LOGGER = "opentelemetry.exporter"


class OtlpReceiver:
    """A collector. Attributes of the resource are OpenTelemetry's (`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`), `tidemark` unless
    named."""

    def __init__(self, settings: Otlp, workspace_id: str) -> None:
        import psutil
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource

        _quiet()
        self._session = _session()
        self._exporter = OTLPMetricExporter(endpoint=settings.url, session=self._session)
        defaults = Resource({"service.name": SERVICE, "service.version": __version__, "service.instance.id": workspace_id})
        self._resource = Resource.create().merge(defaults).merge(OTELResourceDetector().detect())
        self._began_ns = round(psutil.Process().create_time() * 1e9)

    def send(self, readings: Sequence[Reading]) -> None:
        from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, ResourceMetrics, ScopeMetrics
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        metrics = _metrics(readings, self._began_ns, time.time_ns())
        scope = ScopeMetrics(InstrumentationScope(SERVICE, __version__), metrics, "")
        self._session.why = ""
        if self._exporter.export(MetricsData([ResourceMetrics(self._resource, [scope], "")])) is not MetricExportResult.SUCCESS:
            raise away(self._session.why or "It was not sent")

    def close(self) -> None:
        self._exporter.shutdown()


def _metrics(readings: Iterable[Reading], began_ns: int, now_ns: int) -> list[Metric]:
    """A metric of each name, with a point of each sample."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Metric, Sum

    metrics = []
    for name, group in groupby(readings, lambda reading: reading.name):
        same = list(group)
        points = [_point(reading, began_ns, now_ns) for reading in same]
        data = Sum(points, AggregationTemporality.CUMULATIVE, True) if same[0].grows else Gauge(points)
        metrics.append(Metric(name, same[0].says, "", data))
    return metrics


def _point(reading: Reading, began_ns: int, now_ns: int) -> NumberDataPoint:
    from opentelemetry.sdk.metrics.export import NumberDataPoint

    return NumberDataPoint(dict(reading.labels), began_ns, now_ns, float(reading.value))


def _session() -> Any:
    """A session that keeps why its last request failed: the exporter only logs that."""
    import requests

    class Session(requests.Session):
        why = ""

        def request(self, *args: Any, **options: Any) -> requests.Response:
            try:
                answer = super().request(*args, **options)
            except requests.Timeout:
                self.why = "It did not answer in time"
                raise
            except requests.exceptions.InvalidHeader:  # whose message has the header, which may be a secret
                self.why = "A header of OTEL_EXPORTER_OTLP_HEADERS cannot be sent"
                raise
            except (requests.RequestException, OSError) as error:
                self.why = str(_innermost(error))
                raise
            self.why = "" if answer.ok else f"It answered {answer.status_code} {answer.reason}"
            return answer

    return Session()


def _innermost(error: BaseException) -> BaseException:
    """The error that others wrap: `[Errno 111] Connection refused` of a refused connection."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _quiet() -> None:
    """What the exporter says of each try is said by the server, once."""
    logger = logging.getLogger(OWN_LOGGER)
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
