"""Nobody is let in without a token; with one a browser gets a cookie and an address without it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard import cookies, server
from dashboard.entrance import NOBODY, OPEN, WRONG
from pipelines.api import feed
from pipelines.api.app import create_api
from pipelines.client.wire import bearer
from pipelines.domain.access import OWNER, Access, Caller, Role, Token, digest
from pipelines.storage import keys
from pipelines.verbs.jobs import ListJobs
from tests.entering import SHOWN, TOKEN
from tests.faces import FakeFace

ORIGIN = "http://127.0.0.1:8501"
PLACES = (
    *("/", "/job?job=a", "/nowhere", "/api/v1/ping", "/api/v1/jobs", "/api/docs", "/api/openapi.json", "/metrics"),
    *("/assets/style.css", "/static/js/index.js", "/media/a.csv", "/_stcore/host-config", "/_stcore/metrics", "/component/a/b.js"),
    *("/_stcore/health/", "//_stcore/health", "/_stcore/../job", "/%5fstcore/upload_file"),
)


@pytest.fixture(scope="module", autouse=True)
def opened() -> Iterator[Access]:
    """The real server's application, on a workspace in memory."""
    access = Access(TOKEN)
    server.api.app, server.api.access = create_api(FakeFace.sample()), access
    yield access
    server.api.app = server.api.access = None


def ask(path: str, method: str = "GET", **headers: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url=ORIGIN) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(asked())


def cookie_of(access: Access, caller: Caller = OWNER) -> dict[str, str]:
    return {"cookie": cookies.made(access, caller, secure=False).partition(";")[0]}


@pytest.mark.parametrize("path", PLACES)
def test_nobody_is_let_in_without_a_token(path: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        answer = ask(path, method)
        assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer"), method


@pytest.mark.parametrize("path", ["/_stcore/upload_file/s/f", "/download/csv", "/api/v1/jobs/a/stop"])
@pytest.mark.parametrize("headers", [{}, bearer("x"), bearer(TOKEN[:-1]), {"authorization": f"Basic {TOKEN}"}, {"cookie": "tidemark=x"}])
def test_nothing_is_sent_without_a_token(path: str, headers: dict[str, str]) -> None:
    answer = ask(path, "PUT" if "upload" in path else "POST", **headers)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    refused = WRONG if headers.get("authorization", "").startswith("Bearer") else NOBODY
    assert (answer.json()["error"], answer.json()["status"]) == (refused.as_json()["error"], 401)


@pytest.mark.parametrize("path", sorted(OPEN))
def test_health_is_open_and_says_no_more(path: str) -> None:
    assert ask(path).status_code != 401 and len(ask(path).content) < 50


def test_a_token_lets_in() -> None:
    assert ask("/api/v1/jobs", **SHOWN).status_code == 200
    assert "tidemark_job_up" in ask("/metrics", **SHOWN).text
    assert ask("/assets/style.css", **SHOWN).status_code == 200


def test_a_token_in_a_pages_address_becomes_a_cookie(opened: Access) -> None:
    answer = ask(f"/job?job=a%26b&token={TOKEN}&tab=Logs")
    assert (answer.status_code, answer.headers["location"]) == (303, "/job?job=a%26b&tab=Logs")
    kept = answer.headers["set-cookie"]
    assert "HttpOnly" in kept and "SameSite=Strict" in kept and "Secure" not in kept and TOKEN not in kept
    assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("no-referrer", "no-store")
    assert ask("/job?job=a", cookie=kept.partition(";")[0]).status_code == 200
    assert ask("/api/v1/jobs", cookie=kept.partition(";")[0]).status_code == 200


def test_an_address_leads_to_no_other_site() -> None:
    assert ask(f"/%2Fevil.example/?token={TOKEN}").headers["location"] == "/evil.example/"
    assert ask(f"/%5C%5Cevil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/metrics", "/assets/style.css"])
def test_programs_show_no_token_in_an_address(path: str) -> None:
    assert ask(f"{path}?token={TOKEN}").status_code == 401


def test_a_cookie_of_another_key_or_too_old_lets_nobody_in(opened: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    (own,) = cookie_of(opened).values()
    other = cookies.made(Access("another"), OWNER, secure=False).partition(";")[0].partition("=")[2]
    assert ask("/", cookie=f"{cookies.name_of(opened)}={other}").status_code == 401
    assert ask("/", cookie=own[:-2]).status_code == 401
    assert ask("/", cookie=f"theme=dark; {own}").status_code == 200
    monkeypatch.setattr(cookies, "MAX_AGE_S", -1)
    assert ask("/", cookie=own).status_code == 401


def test_a_wrong_token_is_said_not_passed_over_for_the_cookie(opened: Access) -> None:
    assert ask("/api/v1/jobs", **bearer("wrong"), **cookie_of(opened)).status_code == 401


def test_who_comes_without_reads_how_to_get_in() -> None:
    answer = ask("/job?job=a")
    assert "python3 -m pipelines address" in answer.text and answer.headers["cache-control"] == "no-store"
    assert "misspelt" in ask("/?token=wrong").text


def test_a_link_from_elsewhere_is_loaded_once_more() -> None:
    """A browser sends a strict cookie only where its own page asks: the second time."""
    assert 'http-equiv="refresh"' in ask("/job?job=a", **{"sec-fetch-site": "cross-site"}).text
    assert 'http-equiv="refresh"' not in ask("/job?job=a", **{"sec-fetch-site": "same-origin"}).text


def websocket_answers(**headers: str) -> list[dict[str, Any]]:
    """What the server sends to a websocket that its own page opens."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": "127.0.0.1:8501", "origin": ORIGIN, **headers}
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": pairs, "query_string": b"", "subprotocols": [], "scheme": "ws"}
    asyncio.run(server.app(scope, receive, send))
    return sent


@pytest.mark.parametrize("headers", [{}, bearer("wrong"), {"cookie": "tidemark=x"}], ids=["nothing", "a wrong token", "a strange cookie"])
def test_a_websocket_without_a_token_is_closed(headers: dict[str, str]) -> None:
    (closed,) = websocket_answers(**headers)
    assert (closed["type"], closed["code"]) == ("websocket.close", 1008)


def test_while_no_workspace_is_open_nobody_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.api, "access", None)
    assert ask("/api/v1/jobs", **SHOWN).status_code == 503


def test_a_key_is_kept_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "access.key"
    key = keys.kept_key(path)
    assert keys.kept_key(path) == key == keys.read_key(path) and len(key) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys.kept_key(tmp_path / "other.key") != key


def test_a_key_that_others_could_read_is_none(tmp_path: Path) -> None:
    path = tmp_path / "access.key"
    key = keys.kept_key(path)
    path.chmod(0o640)
    again = keys.kept_key(path)
    assert again != key and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    os.symlink(tmp_path / "elsewhere", path)
    assert keys.kept_key(path) not in (key, again) and not path.is_symlink()
    path.write_text("")
    assert keys.kept_key(path)


def test_no_key_is_no_token(tmp_path: Path) -> None:
    assert keys.read_key(tmp_path / "access.key") == "" and bearer("") == {}
    assert Access(TOKEN).caller("") is None


class Named(Access):
    """Lets in a viewer, too."""

    def __init__(self) -> None:
        viewer = Token("looker", Role.VIEWER, digest("tm_looker"), 0, 2, "alice")
        super().__init__(TOKEN, lambda: [viewer], lambda: 1)


@pytest.fixture
def named(opened: Access) -> Iterator[Access]:
    server.api.access = Named()
    yield server.api.access
    server.api.access = opened


def test_a_named_token_may_what_its_role_may(named: Access) -> None:
    shown = bearer("tm_looker")
    assert ask("/api/v1/jobs", **shown).status_code == 200 and ask("/metrics", **shown).status_code == 200
    refused = ask("/api/v1/jobs/post_engagement/stop", "POST", **shown, **{"content-type": "application/json"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "access.role")
    assert ask("/api/v1/savepoints/sp-000000000002", "DELETE", **shown).status_code == 403
    assert ask("/api/v1/tokens", **shown).status_code == 403 and ask("/api/v1/tokens", **SHOWN).status_code == 200


def test_a_browser_with_a_named_token_is_nobody_else(named: Access) -> None:
    kept = ask("/?token=tm_looker").headers["set-cookie"].partition(";")[0]
    assert ask("/api/v1/jobs", cookie=kept).status_code == 200
    assert ask("/api/v1/tokens", cookie=kept).status_code == 403


@pytest.mark.parametrize("again_s", [0.05, 60.0], ids=["while nothing happens", "at the next update"])
def test_a_stream_ends_once_what_was_shown_lets_in_no_longer(opened: Access, monkeypatch: pytest.MonkeyPatch, again_s: float) -> None:
    monkeypatch.setattr(feed, "AGAIN_S", again_s)
    monkeypatch.setattr(feed, "EVERY_S", 0.01)
    tokens = [Token("looker", Role.VIEWER, digest("tm_looker"), 0, 2, "alice")]
    face = FakeFace.sample()
    api, access = create_api(face), Access(TOKEN, lambda: tokens, lambda: 1)
    monkeypatch.setattr(server.api, "app", api)
    monkeypatch.setattr(server.api, "access", access)
    cookie = cookie_of(access, tokens[0].caller)

    async def followed() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url=ORIGIN) as client:
            shown = (bearer("tm_looker"), cookie)
            streams = [asyncio.create_task(client.get("/api/v1/stream", headers=headers)) for headers in shown]
            while len(api.state.feed._listeners) < len(streams):
                await asyncio.sleep(0.01)
            done, _ = await asyncio.wait(streams, timeout=0.3)
            assert not done
            tokens.clear()
            if again_s > 1:
                face.ended("post_engagement")
            return await asyncio.wait_for(asyncio.gather(*streams), 20)

    for answer in asyncio.run(followed()):
        assert answer.status_code == 200 and answer.text.count("event: job") == len(face.ask(ListJobs())), "and the update is not told"


def test_an_answer_that_is_shared_is_not_another_roles(named: Access) -> None:
    face = FakeFace.sample()
    server.api.app = create_api(face, generation=lambda: 0)
    assert ask("/api/v1/tokens", **SHOWN).status_code == 200
    assert ask("/api/v1/tokens", **bearer("tm_looker")).status_code == 403
