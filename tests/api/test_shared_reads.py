"""The same read by many is done once; what has changed since is never answered from before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pipelines.api import shared_reads
from pipelines.api.app import create_api
from pipelines.api.shared_reads import MOST_BYTES, ShareReads
from pipelines.verbs.face import do
from pipelines.verbs.take import Take
from tests.api.serving import as_owner
from tests.workspace.conftest import House


class Counted:
    """Answers with how many times it was asked; the catalog's generation is a number to set."""

    def __init__(self) -> None:
        self.asked = 0
        self.generation = 0
        self.status, self.more = 200, 0
        inner = Starlette(routes=[Route("/{path}", self.answer, methods=["GET", "POST"])])
        self.app = ShareReads(inner, lambda: self.generation)

    async def answer(self, request: Request) -> Response:
        self.asked += 1
        number = str(self.asked)
        await asyncio.sleep(0.01)
        if self.status == 500:
            raise LookupError("out of answers")
        return PlainTextResponse(number + " " * self.more, self.status)


def asking(app: object, steps: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://tests") as client:  # type: ignore[arg-type]
            await steps(client)

    asyncio.run(run())


def test_many_who_ask_at_once_get_one_answer() -> None:
    counted = Counted()

    async def steps(client: httpx.AsyncClient) -> None:
        answers = await asyncio.gather(*(client.get("/a") for _ in range(20)))
        assert {answer.text for answer in answers} == {"1"}
        assert (await client.get("/a")).text == "1"
        assert [(await client.get(path)).text for path in ("/b", "/a?x=1")] == ["2", "3"]

    asking(counted.app, steps)


def test_what_was_written_meanwhile_is_read() -> None:
    counted = Counted()

    async def steps(client: httpx.AsyncClient) -> None:
        under_way = asyncio.create_task(client.get("/a"))
        while not counted.asked:
            await asyncio.sleep(0)
        counted.generation += 1
        assert (await client.get("/a")).text == "2"
        await under_way
        assert (await client.get("/a")).text == "2"
        await client.post("/a")
        assert (await client.get("/a")).text == "4"

    asking(counted.app, steps)


@pytest.mark.parametrize(("status", "more"), [(404, 0), (500, 0), (200, MOST_BYTES)], ids=["a refusal", "a failure", "a large one"])
def test_what_is_not_kept(status: int, more: int) -> None:
    counted = Counted()
    counted.status, counted.more = status, more

    async def steps(client: httpx.AsyncClient) -> None:
        for _ in range(2):
            try:
                await client.get("/a")
            except LookupError:
                assert status == 500
        assert counted.asked == 2 and not counted.app._answers

    asking(counted.app, steps)


def test_an_answer_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "KEPT_SECONDS", 0)
    monkeypatch.setattr(shared_reads, "STALE_SECONDS", 0)
    counted = Counted()

    async def steps(client: httpx.AsyncClient) -> None:
        assert [(await client.get("/a")).text for _ in range(2)] == ["1", "2"]

    asking(counted.app, steps)


def test_who_asks_often_does_not_wait_for_a_newer_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "KEPT_SECONDS", 0)
    monkeypatch.setattr(shared_reads, "STALE_SECONDS", 600)
    counted = Counted()

    async def steps(client: httpx.AsyncClient) -> None:
        answers = [(await client.get("/a")).text for _ in range(3)]
        assert answers == ["1", "1", "1"], "the second is begun beside, once, and is not waited for"
        while (await client.get("/a")).text == "1":
            await asyncio.sleep(0.01)
        while counted.app._newer:
            await asyncio.sleep(0.01)
        counted.generation += 1
        newest = str(counted.asked + 1)
        assert (await client.get("/a")).text == newest, "what has changed is never answered from before"

    asking(counted.app, steps)


def test_a_newer_answer_that_failed_ends_the_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "KEPT_SECONDS", 0)
    monkeypatch.setattr(shared_reads, "STALE_SECONDS", 600)
    counted = Counted()

    async def steps(client: httpx.AsyncClient) -> None:
        assert (await client.get("/a")).text == "1"
        counted.status = 404
        assert (await client.get("/a")).text == "1"
        while (await client.get("/a")).status_code == 200:
            await asyncio.sleep(0.01)
        assert not counted.app._answers

    asking(counted.app, steps)


def test_answers_take_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reads, "MOST_BYTES_IN_ALL", 2_500)
    counted = Counted()
    counted.more = 1_000

    async def steps(client: httpx.AsyncClient) -> None:
        for name in "abcd":
            await client.get(f"/{name}")
        assert [key[0] for key in counted.app._answers] == ["/c", "/d"]

    asking(counted.app, steps)


def test_who_changed_something_sees_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    house = House(tmp_path_factory.mktemp("shared") / "ws")
    house.ran("a", "stateless")
    api = as_owner(create_api(house.face, generation=lambda: house.face.context.catalog.generation))

    async def steps(client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/savepoints")).json() == []
        taken = do(house.face, Take("a"))  # as a page does it
        assert [savepoint["label"] for savepoint in (await client.get("/v1/savepoints")).json()] == [""]
        changed = await client.patch(f"/v1/savepoints/{taken.id}", json={"label": "new"})
        assert changed.status_code == 200
        assert [savepoint["label"] for savepoint in (await client.get("/v1/savepoints")).json()] == ["new"]

    asking(api, steps)
    house.face.close()
