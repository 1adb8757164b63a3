"""What is pushed is what `/metrics` has, to real receivers; one that is away, slow or broken is said once and holds up nobody."""

from __future__ import annotations

import io
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from pipelines.api.metrics import readings
from pipelines.api.push.pushing import Pusher, pushers, pushing
from pipelines.api.push.settings import chosen
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.pushes import Push
from pipelines.verbs.jobs import ListJobs
from tests.api.receivers import Collector, Samples, bound, collecting, free_port, lines
from tests.faces import FakeFace
from tests.waiting import until

SOON = {"OTEL_METRIC_EXPORT_INTERVAL": "100", "TIDEMARK_STATSD_INTERVAL": "0.1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
LAST = "tidemark_build_info"


@pytest.fixture(autouse=True)
def no_other_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SOON.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def told() -> list[Push]:
    """What became of each push."""
    return []


@contextmanager
def pushed(face: FakeFace, told: list[Push], **environ: str) -> Iterator[None]:
    with pushing(chosen({**SOON, **environ}), face, "w-1", told.append):
        yield


def scraped(face: FakeFace) -> Samples:
    return {(reading.name, frozenset(reading.labels.items())): reading.value for reading in readings(face)}


def stable(samples: Samples) -> Samples:
    """Without the server's own process, whose figures change."""
    return {key: value for key, value in samples.items() if not key[0].startswith("process_")}


def test_a_collector_gets_what_prometheus_scrapes(face: FakeFace, told: list[Push]) -> None:
    collector = Collector()
    with collecting(collector) as url, pushed(face, told, OTEL_EXPORTER_OTLP_ENDPOINT=f"{url}/"):
        until(lambda: len(collector.requests) > 1, 30)
    path, headers, request = collector.requests[-1]
    assert (path, headers["content-type"]) == ("/v1/metrics", "application/x-protobuf")
    assert stable(collector.samples()) == stable(scraped(face)) and collector.samples().keys() == scraped(face).keys()
    metrics = {metric.name: metric for metric in request.resource_metrics[0].scope_metrics[0].metrics}
    assert metrics["process_cpu_seconds_total"].sum.is_monotonic and metrics["tidemark_jobs"].description == "Jobs that the workspace knows"
    resource = collector.resource()
    assert (resource["service.name"], resource["service.instance.id"]) == ("tidemark", "w-1")
    assert told[0] == Push("OTLP", f"{url}/v1/metrics", 0.1)
    assert told[-1].pushed_ms and not told[-1].is_away and told[-1].error == ""


def test_the_usual_variables_count(face: FakeFace, told: list[Push], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret,x-scope=a")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "tidemark-eu")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,service.instance.id=mine")
    collector = Collector()
    with collecting(collector) as url:
        address = url.replace("//", "//somebody:pass@") + "/own/path"
        with pushed(face, told, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"{address}?key=k", OTEL_EXPORTER_OTLP_ENDPOINT="http://no.where"):
            until(lambda: collector.requests, 30)
    path, headers, _ = collector.requests[0]
    assert (path, headers["api-key"], headers["x-scope"]) == ("/own/path?key=k", "s3cret", "a")
    assert headers["authorization"].startswith("Basic ") and told[0].address == f"{url}/own/path"
    resource = collector.resource()
    assert resource["service.name"] == "tidemark-eu" and resource["deployment.environment"] == "prod"
    assert resource["service.instance.id"] == "mine"


def test_a_header_that_cannot_be_sent_is_not_told(face: FakeFace, told: list[Push], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown to everybody who may look at the settings, and is among the events."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret%0Amore")
    with pushed(face, told, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"):
        until(lambda: told[-1].is_away, 30)
    assert told[-1].error == "A header of OTEL_EXPORTER_OTLP_HEADERS cannot be sent"


def parsed(line: str) -> tuple[tuple[str, frozenset[tuple[str, str]]], float]:
    name, _, rest = line.partition(":")
    value, kind, *more = rest.split("|")
    assert kind == "g"
    tags = more[0].removeprefix("#").split(",") if more else []
    return (name, frozenset((tag.partition(":")[0], tag.partition(":")[2]) for tag in tags)), float(value)


@pytest.mark.parametrize("variable", ["TIDEMARK_STATSD", "DD_DOGSTATSD_URL"])
def test_statsd_gets_what_prometheus_scrapes(face: FakeFace, told: list[Push], variable: str) -> None:
    with bound() as server:
        port = server.getsockname()[1]
        with pushed(face, told, **{variable: f"{'udp://' if variable.startswith('DD') else ''}127.0.0.1:{port}"}):
            read = lines(server, LAST)
            until(lambda: told[-1].pushed_ms, 30)
    sent = dict(map(parsed, (line for line in read if not line.startswith("process_"))))
    assert sent == stable(scraped(face))
    assert told[-1].address == f"udp://127.0.0.1:{port}"


def test_plain_statsd_has_labels_in_the_name(face: FakeFace, told: list[Push]) -> None:
    job = replace(face.ask(ListJobs())[0], lag_ms=-2_000.0)
    face.answers(ListJobs(), [replace(job, job=replace(job.job, name=JobName("größe, a.b|c\nd")))])
    with bound() as server, pushed(face, told, TIDEMARK_STATSD=f"127.0.0.1:{server.getsockname()[1]}", TIDEMARK_STATSD_FORMAT="plain"):
        read = lines(server, LAST)
    assert not any("#" in line for line in read) and all(line.endswith("|g") for line in read)
    lag = [line for line in read if line.startswith("tidemark_job_event_time_lag_seconds.")]
    assert lag == [f"tidemark_job_event_time_lag_seconds.gr__e__a_b_c_d:{value}|g" for value in ("0", "-2.0")]


def test_a_job_of_any_name_is_a_tag(face: FakeFace, told: list[Push]) -> None:
    job = face.ask(ListJobs())[0]
    face.answers(ListJobs(), [replace(job, job=replace(job.job, name=JobName("a b,c|d\ne#f")))])
    with bound() as server, pushed(face, told, TIDEMARK_STATSD=f"127.0.0.1:{server.getsockname()[1]}"):
        read = lines(server, LAST)
    assert {line.partition("job:")[2] for line in read if line.startswith("tidemark_job_queries")} == {"a_b_c_d_e_f"}


def test_a_socket_of_datadogs_agent_is_written_to(face: FakeFace, told: list[Push], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("dsd") / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(path))
        server.settimeout(10)
        with pushed(face, told, DD_DOGSTATSD_URL=f"unix://{path}"):
            assert any(line.startswith(LAST) for line in lines(server, LAST))


@pytest.fixture
def server_log() -> Iterator[io.StringIO]:
    """What reaches the log of the server: its root logger."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def changes(told: list[Push]) -> list[bool]:
    """Whether the receiver was away, at each change of that."""
    away = [push.is_away for push in told if push.pushed_ms or push.failed_ms]
    return [is_away for at, is_away in enumerate(away) if at == 0 or away[at - 1] != is_away]


def test_a_collector_that_goes_and_comes_back_is_said(face: FakeFace, told: list[Push], server_log: io.StringIO) -> None:
    port = free_port()
    with pushed(face, told, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}"):
        until(lambda: told[-1].is_away, 30)
        assert "Connection refused" in told[-1].error and told[-1].failed_ms and told[-1].pushed_ms is None
        collector = Collector()
        with collecting(collector, port):
            until(lambda: told[-1].pushed_ms and not told[-1].is_away, 30)
            collector.status = 500
            until(lambda: told[-1].is_away, 30)
            assert told[-1].error == "It answered 500 Internal Server Error"
            collector.status = 200
            until(lambda: not told[-1].is_away, 30)
    assert changes(told) == [True, False, True, False]
    assert told[-1].error == "It answered 500 Internal Server Error", "the last error stays to be seen"
    assert server_log.getvalue() == ""


def test_a_slow_collector_holds_up_nobody(face: FakeFace, told: list[Push]) -> None:
    """It takes a push and does not answer: the server answers meanwhile, and StatsD gets its figures."""
    collector = Collector()
    collector.held.clear()
    with collecting(collector) as url, bound() as server:
        statsd = f"127.0.0.1:{server.getsockname()[1]}"
        with pushed(face, told, OTEL_EXPORTER_OTLP_ENDPOINT=url, TIDEMARK_STATSD=statsd):
            assert collector.asked.wait(30)
            assert readings(face) and lines(server, LAST)
            until(lambda: any(push.is_away for push in told), 30)
            assert "did not answer in time" in next(push.error for push in told if push.is_away)
        assert not collector.requests, "it had not answered yet"


def test_a_server_that_ends_waits_for_no_collector(face: FakeFace, told: list[Push], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    collector = Collector()
    collector.held.clear()
    with collecting(collector) as url:
        with pushed(face, told, OTEL_EXPORTER_OTLP_ENDPOINT=url):
            assert collector.asked.wait(30)
        assert not collector.requests and told == [Push("OTLP", f"{url}/v1/metrics", 0.1)], "nothing has come of its push yet"


def test_a_statsd_server_that_goes_and_comes_back_is_said(face: FakeFace, told: list[Push], server_log: io.StringIO) -> None:
    port = free_port(socket.SOCK_DGRAM)
    with pushed(face, told, TIDEMARK_STATSD=f"127.0.0.1:{port}"):
        until(lambda: told[-1].is_away, 30)
        assert "Connection refused" in told[-1].error
        with bound(port) as server:
            assert lines(server, LAST)
            until(lambda: not told[-1].is_away, 30)
    assert server_log.getvalue() == ""


def test_one_lone_packet_that_is_refused_is_said_once(face: FakeFace, told: list[Push]) -> None:
    """A refusal comes back after it was sent: the next push must not look as if it had arrived."""
    face.answers(ListJobs(), [])
    with pushed(face, told, TIDEMARK_STATSD=f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"):
        until(lambda: len([push for push in told if push.failed_ms]) > 4, 60)
    assert changes(told) == [True] and "Connection refused" in told[-1].error


def test_a_name_that_nobody_knows_is_said(face: FakeFace, told: list[Push]) -> None:
    with pushed(face, told, TIDEMARK_STATSD="statsd.invalid:8125"):
        until(lambda: told[-1].is_away, 60)
    assert told[-1].error


def test_figures_that_cannot_be_read_are_said_and_pushed_later(face: FakeFace, told: list[Push]) -> None:
    jobs = face.ask(ListJobs())
    face.refuses(ListJobs, Unavailable("catalog.busy", "The catalog does not answer", "Try again."))
    with bound() as server, pushed(face, told, TIDEMARK_STATSD=f"127.0.0.1:{server.getsockname()[1]}"):
        until(lambda: told[-1].is_away, 30)
        assert told[-1].error == "The catalog does not answer"
        face.answers(ListJobs(), jobs)
        until(lambda: told[-1].pushed_ms, 30)


def test_what_cannot_be_noted_ends_no_push(face: FakeFace, caplog: pytest.LogCaptureFixture) -> None:
    full = threading.Event()

    def note(push: Push) -> None:
        if push.pushed_ms and not full.is_set():
            full.set()
            raise Unavailable("storage.full", "The disk is full", "")

    with bound() as server, pushing(chosen({**SOON, "TIDEMARK_STATSD": f"127.0.0.1:{server.getsockname()[1]}"}), face, "w", note):
        assert full.wait(30)
        assert lines(server, LAST) and lines(server, LAST)
    assert "could not be noted" in caplog.text


def test_nothing_is_pushed_unless_it_is_asked_for() -> None:
    for environ in (
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " ", "TIDEMARK_STATSD": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_METRICS_EXPORTER": "none"},
        {"TIDEMARK_STATSD": "a:1", "DD_DOGSTATSD_DISABLE": "true"},
        {"DD_AGENT_HOST": "agent", "OTEL_TRACES_EXPORTER": "otlp"},
    ):
        assert pushers(chosen(environ), "w") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:high"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "grpc://collector"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Bearer abc"),
        ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such.pem"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1m"),
        ("TIDEMARK_STATSD", "host:port"),
        ("TIDEMARK_STATSD", "http://host:8125"),
        ("TIDEMARK_STATSD", "unix://relative"),
        ("TIDEMARK_STATSD_FORMAT", "graphite"),
        ("TIDEMARK_STATSD_INTERVAL", "nan"),
        ("DD_DOGSTATSD_URL", "tcp://host:8125"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_by_name(name: str, value: str) -> None:
    others = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"} | ({} if name.startswith("DD") else {"TIDEMARK_STATSD": "a:8125"})
    with pytest.raises(Invalid) as refused:
        chosen({**others, name: value})
    assert refused.value.code == "push.setting" and refused.value.hint
    if "ENDPOINT" not in name:
        assert name in refused.value.message


@pytest.mark.parametrize(
    ("value", "address"),
    [("agent", "udp://agent:8125"), ("[::1]:9", "udp://[::1]:9"), ("udp://a:1", "udp://a:1"), ("unix:///run/dsd", "unix:///run/dsd")],
)
def test_a_place_of_statsd_is_read_as_people_write_it(value: str, address: str) -> None:
    made = chosen({"TIDEMARK_STATSD": value}).statsd
    assert made is not None and made.address == address and made.every_s == 10


def test_what_a_library_lets_through_is_an_error_of_the_push(face: FakeFace, told: list[Push]) -> None:
    class Broken:
        def send(self, all_of: object) -> None:
            raise RuntimeError("no room")

        def close(self) -> None: ...

    with Pusher(Push("StatsD", "x", 0.05), Broken).running(face, told.append):
        until(lambda: len([push for push in told if push.is_away]) > 1, 30)
    assert told[-1].error == "RuntimeError: no room"
