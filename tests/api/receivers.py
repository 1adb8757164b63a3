"""Receivers of metrics: a collector of OTLP and a StatsD server, as other programs are, on ports of their own."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Collector:
    """Takes OTLP over HTTP, as a collector of OpenTelemetry does; answers `status`, and only once `held` is set."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], ExportMetricsServiceRequest]] = []
        self.status = 200
        self.asked, self.held = threading.Event(), threading.Event()
        self.held.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.asked.set()
                outer.held.wait(60)
                data = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.requests.append((self.path, headers, ExportMetricsServiceRequest.FromString(data)))
                self.send_response(outer.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *given: Any) -> None:
                """Nothing: tests look at what was sent."""

        self.handler = Handler

    def samples(self, at: int = -1) -> Samples:
        """Those of a request, the newest by default."""
        return {
            (metric.name, frozenset((attribute.key, attribute.value.string_value) for attribute in point.attributes)): point.as_double
            for resource in self.requests[at][2].resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in (metric.gauge if metric.HasField("gauge") else metric.sum).data_points
        }

    def resource(self) -> dict[str, str]:
        attributes = self.requests[-1][2].resource_metrics[0].resource.attributes
        return {attribute.key: attribute.value.string_value for attribute in attributes}


@contextmanager
def collecting(collector: Collector, port: int = 0) -> Iterator[str]:
    """The URL of a collector, as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", port), collector.handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        collector.held.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def bound(port: int = 0) -> Iterator[socket.socket]:
    """A UDP socket, as a StatsD server's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        server.bind(("127.0.0.1", port))
        server.settimeout(10)
        yield server


def lines(server: socket.socket, last: str) -> list[str]:
    """Lines that arrive, until one that begins with `last`."""
    read: list[str] = []
    while not any(line.startswith(last) for line in read):
        read += server.recv(65_536).decode().splitlines()
    return read


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
