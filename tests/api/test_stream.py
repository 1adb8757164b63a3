"""Server-sent events: everything that changes is told once and in order, to who comes back what he missed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from pipelines.api import feed
from pipelines.api.looking import Looking, Said
from pipelines.domain.errors import Unavailable
from pipelines.domain.jobs import Event
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.updates import UpdateKind
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.system import ListEvents
from tests import samples
from tests.api.serving import serving
from tests.faces import NOW_MS, FakeFace
from tests.waiting import until

JOBS = ["clicks", "post_engagement", "post_engagement_split", "post_events"]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "EVERY_S", 0.01)


@pytest.fixture
def face() -> FakeFace:
    return FakeFace.busy()


@pytest.fixture
def url(face: FakeFace) -> Iterator[str]:
    with serving(face) as url:
        yield f"{url}/api/v1"


@contextmanager
def listening(url: str, last: str = "") -> Iterator[Iterator[dict[str, Any]]]:
    """The updates of a stream: `event`, `id` and `data`."""
    headers = {"Last-Event-ID": last} if last else {}
    with httpx.stream("GET", url, headers=headers, timeout=60, trust_env=False) as answer:
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        yield told(answer.iter_lines())


def told(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    update: dict[str, Any] = {}
    for line in lines:
        if not line and update:
            yield {**update, "data": json.loads(update["data"])}
            update = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            update[name] = value


def some(stream: Iterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [next(stream) for _ in range(count)]


def test_first_comes_every_job_as_it_is(url: str, face: FakeFace) -> None:
    with listening(f"{url}/stream") as stream:
        first = some(stream, len(JOBS))
    assert {update["event"] for update in first} == {"job"}
    rows = {row["job"]["name"]: row for row in httpx.get(f"{url}/jobs", trust_env=False, timeout=60).json()}
    assert {update["data"]["job"]["name"]: update["data"] for update in first} == rows and sorted(rows) == JOBS


def test_then_what_changes_as_it_happens(url: str, face: FakeFace) -> None:
    with listening(f"{url}/stream") as stream:
        some(stream, len(JOBS))
        face.ended("clicks")
        job = next(stream)
        assert (job["event"], job["data"]["job"]["name"], job["data"]["state"]) == ("job", "clicks", RunState.STOPPED)
        happened = Event(NOW_MS + 1, "job.remark", None, "clicks", "new machines", "page")
        face.answers(ListEvents, [happened])
        assert (event := next(stream))["event"] == "event" and event["data"]["message"] == "new machines"
        operation = face.under_way(samples.begun("op-new", "take", "clicks", ""))
        assert (began := next(stream))["event"] == "operation" and began["data"]["id"] == operation.id
        face.under_way(replace(operation, state=OperationState.DONE))
        assert next(stream)["data"]["state"] == "done"
        del face.runs["post_events"]
        gone = next(stream)
        assert (gone["event"], gone["data"]) == ("gone", {"job": "post_events"})


def test_of_one_job_only_what_is_about_it(url: str, face: FakeFace) -> None:
    with listening(f"{url}/jobs/clicks/stream") as stream:
        assert next(stream)["data"]["job"]["name"] == "clicks"
        face.ended("post_engagement")
        face.ended("clicks")
        assert next(stream)["data"]["job"]["name"] == "clicks"


@pytest.mark.parametrize("path", ["stream", "jobs/clicks/stream"])
def test_who_comes_back_is_told_what_he_missed(url: str, face: FakeFace, path: str) -> None:
    with listening(f"{url}/{path}") as stream, listening(f"{url}/{path}") as other:
        some(stream, len(JOBS) if path == "stream" else 1)
        some(other, len(JOBS) if path == "stream" else 1)
        face.ended("clicks")
        seen = next(stream)
        face.under_way(samples.begun("op-new", "take", "clicks", ""))
        assert next(stream)["event"] == "operation"
        missed = some(other, 2)
    with listening(f"{url}/{path}", seen["id"]) as again:
        assert next(again) == missed[1]
    assert missed[0] == seen


@pytest.mark.parametrize("last", ["nonsense", "00000000-1", "-", "x" * 100])
def test_who_comes_from_elsewhere_is_told_what_is_now(url: str, last: str) -> None:
    with listening(f"{url}/stream", last) as stream:
        assert sorted(update["data"]["job"]["name"] for update in some(stream, len(JOBS))) == JOBS


def test_a_job_that_is_not_there_has_no_stream(url: str) -> None:
    answer = httpx.get(f"{url}/jobs/nobody/stream", trust_env=False, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "job.not_found")
    assert answer.headers["content-type"] == "application/problem+json"


def test_more_than_may_listen_are_refused_and_may_when_others_have_left(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_LISTENERS", 1)
    with listening(f"{url}/stream") as stream:
        next(stream)
        refused = httpx.get(f"{url}/stream", trust_env=False, timeout=60)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "stream.full")
    until(lambda: may_listen(url))


def may_listen(url: str) -> bool:
    with httpx.stream("GET", f"{url}/stream", timeout=60, trust_env=False) as answer:
        return answer.status_code == 200


def test_who_does_not_keep_up_is_let_go() -> None:
    listener, told = feed.Listener("a"), feed.Told(1, Said(UpdateKind.GONE, "a", "{}"))
    assert all(listener.offer(told) for _ in range(feed.MOST_WAITING)) and not listener.offer(told)
    assert listener.offer(feed.Told(1, Said(UpdateKind.GONE, "another", "{}")))
    listener.end()
    assert (listener.queue.qsize(), listener.queue.get_nowait()) == (1, None)


def test_all_jobs_are_told_first_however_many_they_are(url: str, face: FakeFace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_WAITING", 1)
    with listening(f"{url}/stream") as stream:
        assert len(some(stream, len(JOBS))) == len(JOBS)


def test_a_stream_ends_after_its_time(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "LONGEST_S", 0.2)
    with listening(f"{url}/stream") as stream:
        assert len(list(stream)) == len(JOBS)


def test_a_look_that_fails_ends_the_stream_and_is_told_to_who_comes_back(url: str, face: FakeFace) -> None:
    with listening(f"{url}/stream") as stream:
        some(stream, len(JOBS))
        face.refuses(ListJobs, Unavailable("storage.full", "The disk is full", "Free space."))
        assert list(stream) == []
    answer = httpx.get(f"{url}/stream", trust_env=False, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage.full")


def test_what_was_not_written_is_not_looked_at(face: FakeFace) -> None:
    generation = 1
    face.now = {}
    looking = Looking(lambda: generation)
    assert looking.look(face) == [] and sorted(looking.jobs) == JOBS
    asked = len(face.asked)
    face.ended("clicks")
    assert looking.look(face) == [] and len(face.asked) == asked
    generation = 2
    assert [update.job for update in looking.look(face)] == ["clicks"]


def test_a_standby_tells_of_jobs_alone(face: FakeFace) -> None:
    face.refuses(ListOperations, Unavailable("server.standby", "This server is a standby", "Ask the other."))
    looking = Looking(None)
    looking.look(face)
    face.ended("clicks")
    assert [update.job for update in looking.look(face)] == ["clicks"]
