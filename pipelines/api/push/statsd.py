"""Metrics to a StatsD server, by Datadog's own client. Each is a gauge, a counter as what it has come to."""

from __future__ import annotations

import logging
import os
import re
import select
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.api.metrics import Reading
from pipelines.api.push.receiver import away
from pipelines.api.push.settings import Statsd

if TYPE_CHECKING:
    from datadog.dogstatsd.base import DogStatsd

OWN_LOGGER = "datadog.dogstatsd"
WAIT_S = 1.0
"""A socket that takes nothing for so long drops a packet."""
BACK_S = 0.3
"""How long a refusal may take to come back."""
NEVER_S = 10**12
"""The client's figures of itself are not sent, only counted: they say whether packets were dropped."""
_NO_TAG = re.compile(r"[\s,|#\x00-\x1f\x7f]")
"""What would end a tag, or the line it is in."""
_NO_NAME = re.compile(r"[^0-9A-Za-z_-]")


class StatsdReceiver:
    """A StatsD server."""

    def __init__(self, settings: Statsd) -> None:
        self._tags, self._heard = settings.tags, _heard()
        self._client = _client(settings)

    def send(self, readings: Sequence[Reading]) -> None:
        self._heard.last, dropped = "", self._client.packets_dropped
        self._client.open_buffer()
        try:
            for reading in readings:
                self._send(reading)
        finally:
            self._client.close_buffer()
        if self._client.packets_dropped > dropped:
            raise away(self._heard.last or f"A packet was not taken within {WAIT_S:g} s")
        self._listen()

    def _listen(self) -> None:
        """Raises Unavailable where a UDP packet came back as refused: that is known only a moment after it was sent, of the last one by
        nothing else."""
        taken = self._client.socket
        if taken is None or taken.family == socket.AF_UNIX:
            return
        waiting = select.poll()
        waiting.register(taken, select.POLLERR)
        if waiting.poll(BACK_S * 1_000) and (number := taken.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
            raise away(f"[Errno {number}] {os.strerror(number)}")

    def _send(self, reading: Reading) -> None:
        if self._tags:
            tags = [f"{name}:{_NO_TAG.sub('_', value)}" for name, value in reading.labels.items()]
            self._client.gauge(reading.name, reading.value, tags=tags)
            return
        name = ".".join((reading.name, *(_NO_NAME.sub("_", value) for value in reading.labels.values())))
        if reading.value < 0:  # plain StatsD takes a number with a sign as a change of the gauge
            self._client.gauge(name, 0)
        self._client.gauge(name, reading.value)

    def close(self) -> None:
        self._client.close_socket()


def _client(settings: Statsd) -> DogStatsd:
    from datadog.dogstatsd.base import DogStatsd

    place = {"socket_path": settings.path} if settings.path else {"host": settings.host, "port": settings.port}
    client = DogStatsd(
        **place,
        telemetry_min_flush_interval=NEVER_S,
        socket_timeout=WAIT_S,
        track_instance=False,
        origin_detection_enabled=settings.tags,
    )
    if not settings.tags:
        client.constant_tags = []
    return client


class _Heard(logging.Handler):
    """Keeps the newest warning of the client: its answers do not say why."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.last = record.getMessage()


def _heard() -> _Heard:
    """Hears the client's log from now on, instead of the server's log."""
    logger, heard = logging.getLogger(OWN_LOGGER), _Heard()
    logger.handlers, logger.propagate = [heard], False
    return heard
