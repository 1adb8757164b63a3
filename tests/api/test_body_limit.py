"""Bodies that are too large are refused before they are in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.client import HTTPConnection

import httpx
import pytest
from starlette.types import Message

from pipelines.api.body_limit import MOST_BYTES, LimitBody
from pipelines.domain import texts

JSON = {"content-type": "application/json"}
PIECE = b"x" * 65_536


@pytest.fixture
def sent() -> list[int]:
    return [0]


def endless(sent: list[int]) -> Iterator[bytes]:
    yield b'{"label": "'
    while sent[0] < 40 * MOST_BYTES:
        sent[0] += len(PIECE)
        yield PIECE


def test_a_body_that_says_that_it_is_too_large_is_not_read(client: httpx.Client) -> None:
    """Only its head is sent: who waited for the rest would never answer."""
    server = HTTPConnection(client.base_url.host, client.base_url.port, timeout=60)
    server.putrequest("POST", "/api/v1/jobs/post_engagement/savepoints")
    server.putheader("Content-Type", "application/json")
    server.putheader("Content-Length", str(512 * 1024 * 1024))
    server.endheaders()
    refused = server.getresponse()
    assert (refused.status, json.loads(refused.read())["error"]["code"]) == (413, "request.refused")
    server.close()


def test_an_endless_body_is_cut_off(sent: list[int]) -> None:
    """Its reader never gets more than the limit, whatever comes."""
    read = 0

    async def reader(scope: object, receive: object, send: object) -> None:
        nonlocal read
        while True:
            read += len((await receive())["body"])  # type: ignore[operator]

    pieces = endless(sent)

    async def receive() -> Message:
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    with pytest.raises(Exception, match="more than") as refused:
        asyncio.run(LimitBody(reader)({"type": "http", "headers": []}, receive, send))
    assert getattr(refused.value, "status_code", None) == 413
    assert read <= MOST_BYTES and sent[0] <= MOST_BYTES + 2 * len(PIECE)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "new", "script": "new.py", "code": "x" * (texts.CODE.most + 1)}, 422),
        ({"name": "new", "script": "new.py", "code": "", "args": ["x"] * (texts.MOST_ITEMS + 1)}, 422),
        ({"name": "new", "script": "new.py", "code": "", "conf": {"x" * 2_000: "1"}}, 422),
        ({"name": "new", "script": "new.py", "code": "", "conf": {"spark.x": "a\0b"}}, 422),
    ],
)
def test_what_is_too_long_or_no_text_is_refused(client: httpx.Client, body: dict[str, object], status: int) -> None:
    refused = client.post("/v1/jobs", json=body)
    assert refused.status_code == status and len(refused.content) < 2_000
    assert "\0" not in json.loads(refused.content)["error"]["message"]


@pytest.mark.parametrize("batch", [True, "1", 1.5, 2**70])
def test_a_number_is_a_number(client: httpx.Client, batch: object) -> None:
    refused = client.post("/v1/jobs/post_engagement/savepoints", content=json.dumps({"batch": batch}), headers=JSON)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "request.invalid")


@pytest.mark.parametrize("body", [b"\xff", b"[" * 100_000, b"{", b'{"label": "\\ud800"}', b'{"batch": 1e999}'])
def test_what_is_no_json_is_refused_as_described(client: httpx.Client, body: bytes) -> None:
    assert client.post("/v1/jobs/post_engagement/savepoints", content=body, headers=JSON).status_code == 422


def test_a_name_without_end_is_refused(client: httpx.Client) -> None:
    assert client.get("/v1/jobs/" + "x" * 10_000).status_code == 422
    assert client.get("/v1/jobs/a%00b").status_code == 422
