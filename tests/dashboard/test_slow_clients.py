"""Who sends slowly or stops to read is cut off; who is quick, steady, or only quiet between two requests, is not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.sync.client import connect

from dashboard.slow_clients import ANSWER, LEAST_BYTES, TimedProtocol, TimedWebsocket
from tests.waiting import until

SECONDS = 0.6
MUCH, PIECE = 32 * 1024 * 1024, 256 * 1024
"""More than the system keeps for a client that does not read, and what is sent at once."""
HEAD = b"POST / HTTP/1.1\r\nHost: tests\r\nContent-Length: 4\r\n"


class Hasty(TimedProtocol):
    head_seconds = body_seconds = read_seconds = SECONDS


class HastyWebsocket(TimedWebsocket):
    read_seconds = SECONDS


async def size(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text(await socket.receive_text())


def whole(request: Request) -> Response:
    return Response(bytes(MUCH))


def in_pieces(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MUCH // PIECE):
            yield bytes(PIECE)

    return StreamingResponse(pieces())


async def pour(socket: WebSocket) -> None:
    await socket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            await socket.send_bytes(bytes(PIECE))


ROUTES = [
    Route("/", size, methods=["GET", "POST"]),
    Route("/whole", whole),
    Route("/pieces", in_pieces),
    WebSocketRoute("/echo", echo),
    WebSocketRoute("/pour", pour),
]


@pytest.fixture(scope="module")
def server() -> uvicorn.Server:
    config = uvicorn.Config(
        Starlette(routes=ROUTES), http=Hasty, ws=HastyWebsocket, lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    return uvicorn.Server(config)


@pytest.fixture(scope="module")
def port(server: uvicorn.Server) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()


def dripped(client: socket.socket, data: bytes) -> bytes:
    """The answer to `data`, of which a byte is sent every now and then; all that comes until the connection is closed."""
    client.settimeout(SECONDS / 6)
    answer = b""
    for place in range(1_000):
        try:
            client.sendall(data[place : place + 1])
            piece = client.recv(1_000)
        except TimeoutError:
            continue
        except ConnectionError:
            break
        if not piece:
            break
        answer += piece
    return answer


HALVES = {"nothing": b"", "a word": b"GE", "half a head": HEAD, "no body": HEAD + b"\r\n", "half a body": HEAD + b"\r\nab"}


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_is_closed(half: str, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(HALVES[half])
        client.settimeout(30)
        answer = client.recv(1_000)
        with suppress(ConnectionError):  # of what it has sent and nobody has read
            while piece := client.recv(1_000):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 408") and answer.endswith(ANSWER)


@pytest.mark.parametrize("begun", [b"", HEAD[:-2] + b"0\r\n\r\n"], ids=["a head", "a body"])
def test_a_byte_now_and_then_gains_no_time(begun: bytes, port: int) -> None:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(begun)
        answer = dripped(client, b"X-Long: " + b"x" * 1_000 if not begun else b"x" * 40)
    assert answer.startswith(b"HTTP/1.1 408") and time.monotonic() - began < 30


def answers(client: socket.socket, count: int) -> bytes:
    """So many answers, each of which ends with the size of its request's body."""
    received = b""
    while received.count(b"\r\n\r\n4") < count:
        piece = client.recv(1_000)
        assert piece, received
        received += piece
    return received


def test_requests_that_come_whole_are_answered_however_long_the_client_is_quiet_between_them(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.settimeout(30)
        for _ in range(2):
            client.sendall(HEAD + b"\r\nabcd")
            assert answers(client, 1).startswith(b"HTTP/1.1 200")
            time.sleep(SECONDS * 2)
        client.sendall(HEAD + b"\r\nabcd" + HEAD + b"\r\nabcd")
        assert answers(client, 2).count(b"200 OK") == 2


def test_a_websocket_may_be_quiet(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/echo", open_timeout=60) as client:
        time.sleep(SECONDS * 3)
        client.send("still here")
        assert client.recv() == "still here"


def asking(port: int, path: str) -> socket.socket:
    """A client that has asked for much, and whose system takes little of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
    client.connect(("127.0.0.1", port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: tests\r\n\r\n".encode())
    client.settimeout(30)
    return client


@pytest.mark.parametrize("path", ["/whole", "/pieces"])
def test_who_stops_to_read_is_cut_off(path: str, port: int, server: uvicorn.Server) -> None:
    with asking(port, path) as client:
        assert client.recv(1_000).startswith(b"HTTP/1.1 200")
        until(lambda: not server.server_state.connections and not server.server_state.tasks, 30, what="the connection is still there")


def test_who_reads_slowly_and_steadily_gets_all(port: int) -> None:
    taken, began = 0, time.monotonic()
    with asking(port, "/whole") as client:
        while taken < MUCH and (piece := client.recv(4 * LEAST_BYTES)):
            taken += len(piece)
            if time.monotonic() - began < SECONDS * 4:
                time.sleep(SECONDS / 10)
    assert taken >= MUCH and time.monotonic() - began > SECONDS * 4


def test_a_websocket_that_nobody_reads_is_cut_off(port: int, server: uvicorn.Server) -> None:
    with connect(f"ws://127.0.0.1:{port}/pour", compression=None, close_timeout=0.1, open_timeout=60) as client:
        assert client.recv()
        until(lambda: not server.server_state.connections and not server.server_state.tasks, 30, what="the connection is still there")
