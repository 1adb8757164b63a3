"""Time-outs for who sends or reads slowly: a request's head and its body have so many seconds to arrive, and of an answer some bytes
have to be taken in so many seconds, else the connection is closed.

Uvicorn has none: a client that sends or takes a byte now and then would keep its connection, and what belongs to it, for ever.
"""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from pipelines.api import problems
from pipelines.domain.errors import Invalid

HEAD_SECONDS = 20.0
"""From the connection, or from the first byte of the next request, to the end of its head."""
BODY_SECONDS = 60.0
"""From the end of its head to the end of its body: 16 MiB over a slow line."""
READ_SECONDS = 60.0
"""In this time a client takes `LEAST_BYTES` of what waits for it, or all."""
PAGE_READ_SECONDS = 120.0
"""A browser that draws for long takes nothing of its websocket meanwhile."""
LEAST_BYTES = 16 * 1024
SLOW = Invalid("request.slow", "The request took too long to arrive", "Send its head and its body without long breaks.")
ANSWER = problems.written(SLOW, 408)


class Reader:
    """Who reads a connection: cut off where it has stopped, also where only its end is waited for. What waits for it is forgotten then."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport, self._seconds = transport, seconds
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        # The protocol is told when bytes wait, and when none does any more; with 0 asyncio's TLS would tell it of none that wait, too.
        transport.set_write_buffer_limits(high=1, low=0)

    def expect(self) -> None:
        """Bytes wait for it from now on."""
        self.release()
        self._waiting = _unread(self._transport)
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def release(self) -> None:
        """Nothing waits for it any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if not self._transport.get_write_buffer_size():
            return
        if self._waiting - _unread(self._transport) < LEAST_BYTES:
            self._transport.abort()
        else:
            self.expect()


def _unread(transport: asyncio.Transport) -> int:
    """How many bytes the other side has not confirmed: those that wait here, and those that the system has taken (Linux's SIOCOUTQ).

    The system asks for more only when much has gone, which is no measure of a slow line.
    """
    waiting = transport.get_write_buffer_size()
    try:
        (queued,) = struct.unpack("i", fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)))
    except OSError:  # closed meanwhile, or a system that does not tell
        return waiting
    return waiting + int(queued)


class WatchedReader(asyncio.Protocol):
    """A protocol whose reader is watched while bytes wait for it; the heirs say which reader that is."""

    _reader: Reader

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.release()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader.expect()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reader.release()


class TimedWebsocket(WatchedReader, WebSocketsSansIOProtocol):
    """A websocket whose reader is watched; that it lives at all is seen by its pings."""

    read_seconds = PAGE_READ_SECONDS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._reader = Reader(cast(asyncio.Transport, transport), self.read_seconds)


class TimedProtocol(WatchedReader, H11Protocol):
    """HTTP/1.1 with all time-outs; answers 408 where nothing was answered yet."""

    head_seconds, body_seconds, read_seconds = HEAD_SECONDS, BODY_SECONDS, READ_SECONDS
    _awaited: Any = None
    """What is waited for: the client's state, as h11 has it; None for nothing."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._reader = Reader(transport, self.read_seconds)
        self._await(h11.IDLE, self.head_seconds)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(None, 0)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Begins to wait for what is missing now; goes on where that is the same as before. A websocket has taken its connection over."""
        if self.transport.get_protocol() is not self:
            self._await(None, 0)
        elif self.conn.their_state is h11.SEND_BODY:
            self._await(h11.SEND_BODY, self.body_seconds)
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._await(h11.IDLE, self.head_seconds)
        else:
            self._await(None, 0)

    def _await(self, awaited: Any, seconds: float) -> None:
        if awaited is self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        self._timer = None if awaited is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            length = (b"content-length", str(len(ANSWER)).encode())
            head = h11.Response(
                status_code=408, headers=[(b"content-type", problems.MEDIA_TYPE.encode()), length, (b"connection", b"close")]
            )
            for event in (head, h11.Data(data=ANSWER), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
