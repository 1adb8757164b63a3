"""Who is let in: names of this server, and changes from its own pages."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from dashboard.guard import Guard
from dashboard.reach import ONLY_HERE, Reach

ORIGIN = "http://127.0.0.1:8501"


async def _answer(_request: Any) -> PlainTextResponse:
    return PlainTextResponse("in")


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


ROUTES = [Route("/", _answer, methods=["GET", "POST"]), WebSocketRoute("/ws", _socket)]
APP = Starlette(routes=ROUTES, middleware=[Middleware(Guard, reach=lambda: ONLY_HERE)])


def ask(method: str = "GET", path: str = "/", **headers: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(APP), base_url=ORIGIN) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(asked())


def websocket_answers(origin: str) -> list[dict[str, Any]]:
    """What the server sends to a websocket that a page of `origin` opens."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8501"), (b"origin", origin.encode())]
    scope = {"type": "websocket", "path": "/ws", "headers": headers, "query_string": b"", "subprotocols": []}
    asyncio.run(APP(scope, receive, send))
    return sent


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost", "LOCALHOST:1", "[::1]:8501"])
def test_own_names_are_let_in(host: str) -> None:
    assert ask(host=host).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8501", "", "[::1"])
def test_foreign_names_are_refused(host: str) -> None:
    answer = ask(host=host)
    assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")
    assert (answer.json()["error"]["code"], answer.json()["status"]) == ("server.foreign_host", 421)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "http://localhost:8501", "null"])
def test_changes_from_elsewhere_are_refused(origin: str) -> None:
    assert ask("POST", origin=origin).status_code == 403
    assert ask(origin=origin).status_code == 200


def test_changes_from_own_pages_and_programs_are_let_in() -> None:
    assert ask("POST", origin=ORIGIN).status_code == 200
    assert ask("POST").status_code == 200


def test_a_websocket_needs_the_own_origin() -> None:
    assert [message["type"] for message in websocket_answers(ORIGIN)] == ["websocket.accept", "websocket.close"]
    (refusal,) = websocket_answers("http://evil.example")
    assert (refusal["type"], refusal["code"]) == ("websocket.close", 1008)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
def test_another_sites_request_without_an_origin_changes_nothing(site: str) -> None:
    assert ask("POST", **{"Sec-Fetch-Site": site}).json()["error"]["code"] == "server.foreign_origin"
    assert ask("GET", **{"Sec-Fetch-Site": site}).status_code == 200, "a link from elsewhere opens a page"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_own_requests_without_an_origin_are_let_in(site: str) -> None:
    assert ask("POST", **{"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "evil.example"])
def test_nobody_frames_a_page(host: str) -> None:
    answer = ask(host=host)
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'" and answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/api/v1/jobs/a%0Ab", "/api/v1/jobs/%00", "/api/v1/jobs/..%2F..%2Fetc", "/flink/v1/jobs/..%5Cx"])
def test_a_call_that_no_route_can_have_is_a_problem(path: str) -> None:
    answer = ask(path=path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["error"]["code"] == "request.no_such_path"


def behind_proxy(client: str, scheme: str, host: str = "tidemark.example") -> int:
    """The status that a server answers behind its proxy, to this client by this scheme."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    app = Guard(Starlette(routes=ROUTES), reach=lambda: Reach("0.0.0.0", ("tidemark.example",), proxy="10.0.0.1"))
    scope = {"type": "http", "method": "GET", "path": "/", "scheme": scheme, "client": (client, 1), "headers": [(b"host", host.encode())]}
    asyncio.run(app({**scope, "query_string": b"", "root_path": ""}, receive, send))
    return int(sent[0]["status"])


def test_past_the_proxy_nobody_comes_in_unencrypted() -> None:
    assert behind_proxy("203.0.113.7", "https") == 200
    assert behind_proxy("203.0.113.7", "http") == 403
    assert behind_proxy("127.0.0.1", "http") == 200, "a command on this machine"
    assert behind_proxy("203.0.113.7", "https", "evil.example") == 421
