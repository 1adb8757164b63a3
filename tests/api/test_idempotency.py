"""A change that is sent again with its key is answered as it was: at once, at the same time, after a restart, and after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from pipelines.api import idempotency
from pipelines.api.app import create_api
from pipelines.domain.about import ServerRole
from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, Conflict, TidemarkError
from pipelines.domain.idempotency import KEPT_MS, MOST_ANSWER
from pipelines.storage.layout import Layout
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import CreateToken
from pipelines.verbs.verb import WARNINGS_HEADER, Begun
from tests.api.serving import as_owner, serving
from tests.faces import FakeFace

TAKE = "/v1/jobs/post_engagement/savepoints"
FIRST = "sp-000000000002"


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key, "content-type": "application/json"}


def taken(face: FakeFace) -> int:
    return sum(isinstance(change, Take) for change in face.begun)


def takes(face: FakeFace) -> None:
    """From now on each savepoint is another one."""
    face.answers(Take, lambda change: face.saved(change.job, label=change.label))


@pytest.mark.parametrize("keys", [("k-1", "k-1"), ("k-2", '"k-2"')])
def test_the_same_call_with_its_key_is_answered_as_it_was(client: httpx.Client, face: FakeFace, keys: tuple[str, str]) -> None:
    takes(face)
    first, again = (client.post(TAKE, json={"label": "x"}, headers=keyed(key)) for key in keys)
    assert (first.status_code, first.json()["label"]) == (201, "x")
    assert (again.status_code, again.content, again.headers["content-type"]) == (201, first.content, first.headers["content-type"])
    assert taken(face) == 1
    assert client.post(TAKE, json={"label": "x"}, headers=keyed("another")).json()["id"] != first.json()["id"]


def test_what_the_first_call_warned_of_is_said_again(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = FakeFace.begin
    monkeypatch.setattr(FakeFace, "begin", lambda face, change: replace(begin(face, change), warnings=("the disk is nearly full",)))
    first, again = (client.post(TAKE, json={}, headers=keyed("warned")) for _ in range(2))
    assert first.headers[WARNINGS_HEADER] == again.headers[WARNINGS_HEADER] == '["the disk is nearly full"]'


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"/v1/savepoints/{FIRST}", {"label": "y"}),
        ("DELETE", f"/v1/savepoints/{FIRST}", None),
        ("DELETE", "/v1/jobs/post_events", None),
        ("POST", "/v1/jobs/post_engagement/stop", {}),
    ],
)
def test_every_kind_of_change_takes_a_key(client: httpx.Client, face: FakeFace, method: str, path: str, body: Any) -> None:
    key = keyed(f"{method} {path}".replace(" ", "-"))
    first, again = (client.request(method, path, json=body, headers=key) for _ in range(2))
    assert first.is_success and (again.status_code, again.content) == (first.status_code, first.content)
    assert len(face.begun) == 1


@pytest.mark.parametrize(("path", "body"), [(TAKE, {"label": "b"}), ("/v1/jobs/post_events/savepoints", {"label": "a"})])
def test_a_key_with_another_call_is_refused(client: httpx.Client, face: FakeFace, path: str, body: Any) -> None:
    key = keyed(f"mine-{len(path)}")
    assert client.post(TAKE, json={"label": "a"}, headers=key).status_code == 201
    refused = client.post(path, json=body, headers=key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "idempotency.other_call")
    assert refused.headers["content-type"] == "application/problem+json"
    assert taken(face) == 1


@pytest.mark.parametrize("key", ["with space", "x" * 256, "é".encode()])
def test_what_is_no_key_is_refused(client: httpx.Client, face: FakeFace, key: str | bytes) -> None:
    refused = client.post(TAKE, json={}, headers=[(b"Idempotency-Key", key if isinstance(key, bytes) else key.encode())])
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "request.invalid")
    assert not face.begun


@pytest.mark.parametrize("group", STATUS_AND_EXIT_CODES)
def test_a_refusal_is_kept_unless_it_says_to_try_again(client: httpx.Client, face: FakeFace, group: str) -> None:
    key = keyed(f"refused-{group}")
    face.refuses(Take, GROUPS.get(group, TidemarkError)("some.code", "a message", "a hint"))
    first = client.post(TAKE, json={}, headers=key)
    takes(face)
    again = client.post(TAKE, json={}, headers=key)
    if group in ("unavailable", "unauthenticated", "forbidden"):
        assert again.status_code == 201
    else:
        assert (again.status_code, again.content) == (first.status_code, first.content)


def test_what_nobody_expected_is_not_done_again(client: httpx.Client, face: FakeFace) -> None:
    face.refuses(Take, RuntimeError("a disk fell off"))
    first, again = (client.post(TAKE, json={}, headers=keyed("unexpected")) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()["error"]["code"]) == (500, 500, "internal")
    assert taken(face) == 1


def test_what_was_no_call_does_not_use_its_key_up(client: httpx.Client, face: FakeFace) -> None:
    assert client.post(TAKE, json={"bacth": 7}, headers=keyed("typo")).status_code == 422
    assert client.post(TAKE, json={"batch": 7}, headers=keyed("typo")).status_code == 201


def test_what_is_shown_once_is_not_shown_again_and_nowhere_kept(client: httpx.Client, face: FakeFace, layout: Layout) -> None:
    body = {"name": "ci", "for_role": "viewer"}
    first, again = (client.post("/v1/tokens", json=body, headers=keyed("token")) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()["error"]["code"]) == (201, 409, "idempotency.answer_withheld")
    assert sum(isinstance(change, CreateToken) for change in face.begun) == 1
    assert all(first.json()["secret"] not in path.read_text() for path in layout.idempotency.iterdir())


def test_an_answer_that_is_too_long_is_not_kept(client: httpx.Client, face: FakeFace) -> None:
    many = tuple(f"sp-{number:012d}" for number in range(900))
    face.answers(Dispose, lambda change: face.plan(change))
    face.refuses(Dispose, Conflict("some.code", "x" * MOST_ANSWER, "a hint"))
    first, again = (client.post("/v1/savepoints/dispose", json={"savepoints": many}, headers=keyed("long")) for _ in range(2))
    assert (first.json()["error"]["code"], again.json()["error"]["code"]) == ("some.code", "idempotency.answer_withheld")


class Held:
    """A change that is under way until it is let go."""

    def __init__(self, face: FakeFace) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()
        face.answers(Take, lambda change: self._take(face, change))

    def _take(self, face: FakeFace, change: Take) -> Begun[Any]:
        self.begun.set()
        assert self.let_go.wait(60)
        return Begun(change, answer=face.saved(change.job))


@pytest.fixture
def held(face: FakeFace) -> Iterator[Held]:
    held = Held(face)
    yield held
    held.let_go.set()


def test_two_at_the_same_time_are_one_change(client: httpx.Client, face: FakeFace, held: Held) -> None:
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(client.post, TAKE, json={}, headers=keyed("twice")) for _ in range(4)]
        assert held.begun.wait(60)
        other = client.post(TAKE, json={"label": "other"}, headers=keyed("twice"))
        held.let_go.set()
        answers = [call.result() for call in calls]
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency.other_call")
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert taken(face) == 1


def test_who_waits_too_long_is_told_to_come_again(client: httpx.Client, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "WAITS_S", 0)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(client.post, TAKE, json={}, headers=keyed("slow"))
        assert held.begun.wait(60)
        second = client.post(TAKE, json={}, headers=keyed("slow"))
        held.let_go.set()
        assert first.result().status_code == 201
    assert (second.status_code, second.json()["error"]["code"]) == (409, "idempotency.under_way")


def test_it_is_answered_by_the_next_server_too(face: FakeFace, layout: Layout) -> None:
    answers = []
    for _ in range(2):
        with serving(face, layout) as url:
            answers.append(httpx.post(f"{url}/api{TAKE}", json={}, headers=keyed("restarted"), trust_env=False, timeout=60))
    assert answers[0].status_code == 201 and answers[1].content == answers[0].content
    assert taken(face) == 1


def test_after_a_day_a_key_is_new(client: httpx.Client, face: FakeFace, layout: Layout) -> None:
    takes(face)
    first = client.post(TAKE, json={}, headers=keyed("yesterday"))
    for path in layout.idempotency.iterdir():
        call = json.loads(path.read_text())
        path.write_text(json.dumps({**call, "begun_ms": call["begun_ms"] - KEPT_MS - 1}))
    assert client.post(TAKE, json={}, headers=keyed("yesterday")).json()["id"] != first.json()["id"]


def test_a_standby_keeps_nothing(face: FakeFace, layout: Layout) -> None:
    api = create_api(face, Layout(layout.root / "standby"), role=ServerRole.STANDBY)
    assert TestClient(as_owner(api)).post(TAKE, json={}, headers=keyed("standby")).status_code == 201
    assert not (layout.root / "standby").exists()


DYING = """
import sys, time
from pathlib import Path
from pipelines.storage.layout import Layout
from pipelines.verbs.take import Take
from tests.api.serving import serving
from tests.faces import FakeFace

face = FakeFace.sample()

def take(change):
    print("begun", flush=True)
    time.sleep(600)

face.answers(Take, take)
with serving(face, Layout(Path(sys.argv[1]))) as url:
    print(url, flush=True)
    time.sleep(600)
"""


def test_a_change_whose_server_died_is_not_known_to_be_done(client: httpx.Client, face: FakeFace, layout: Layout) -> None:
    server = subprocess.Popen([sys.executable, "-c", DYING, str(layout.root)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with ThreadPoolExecutor(1) as threads:
            lost = threads.submit(httpx.post, f"{url}/api{TAKE}", json={}, headers=keyed("died"), trust_env=False, timeout=60)
            assert server.stdout.readline() == "begun\n"
            server.send_signal(signal.SIGKILL)
            assert isinstance(lost.exception(), httpx.TransportError)
    finally:
        server.kill()
        server.communicate()
    again = client.post(TAKE, json={}, headers=keyed("died"))
    assert (again.status_code, again.json()["error"]["code"]) == (409, "idempotency.unknown")
    assert not face.begun
    assert client.post(TAKE, json={}, headers=keyed("anew")).status_code == 201
