"""Every route: what it answers, and which requests are wrong."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import httpx
import pytest

from pipelines.api import logs as log_files
from pipelines.domain.disposals import DisposeOutcome
from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, Conflict, TidemarkError, meaning, refusal
from pipelines.domain.ids import RunId
from pipelines.domain.logs import LogChunk
from pipelines.storage.documents import plain
from pipelines.storage.layout import Layout
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Undrop
from pipelines.verbs.experiments import ShowTree
from pipelines.verbs.jobs import ListBatches, ListJobs, ReadLog
from pipelines.verbs.savepoints import ReadVerification
from pipelines.verbs.system import ListEvents
from tests import questions, samples
from tests.faces import NOW_MS, ROOT, FakeFace

FIRST = "sp-000000000002"
PROVED = "sp-000000000007"
ARCHIVE = "s3://lake/archive/clicks.tar.zst"
FORK = {"name": "c"}
ATTACH = {"name": "elsewhere", "checkpoints": {"counts": "s3://lake/counts/checkpoint"}}
RUN = {"name": "new", "script": "new.py", "code": "print()"}

ANSWERS = [
    ("GET", "/v1/jobs", None, 200),
    ("POST", "/v1/jobs", RUN, 201),
    ("POST", "/v1/jobs/attach", ATTACH, 201),
    ("GET", "/v1/jobs/post_engagement", None, 200),
    ("DELETE", "/v1/jobs/post_events", None, 204),
    ("POST", "/v1/jobs/post_engagement/stop", {}, 202),
    ("POST", "/v1/jobs/post_events/resume", {}, 201),
    ("POST", "/v1/jobs/post_events/resume", {"dry_run": True, "from_savepoint": FIRST}, 200),
    ("POST", "/v1/jobs/post_events/resume", {"batch": 8, "new_queries": ["more"]}, 201),
    ("POST", "/v1/jobs/post_engagement/savepoints", {}, 201),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"event_ms": 5, "to": "s3://lake/one"}, 201),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"batch": 7, "dry_run": True}, 200),
    ("GET", "/v1/jobs/post_engagement/logs?offset=0&limit=10", None, 200),
    ("GET", "/v1/jobs/post_engagement/retained", None, 200),
    ("GET", "/v1/jobs/post_engagement/state-sizes?savepoints=2", None, 200),
    ("GET", "/v1/jobs/post_engagement/batches?limit=2", None, 200),
    ("GET", "/v1/jobs/post_engagement/operators", None, 200),
    ("GET", "/v1/jobs/post_engagement/plan?query=counts", None, 200),
    ("GET", "/v1/jobs/post_engagement/series?from_ms=1&to_ms=2", None, 200),
    ("GET", "/v1/jobs/post_engagement/event-series", None, 200),
    ("GET", "/v1/jobs/post_engagement/events", None, 200),
    ("GET", "/v1/savepoints", None, 200),
    ("GET", "/v1/savepoints?job=post_events", None, 200),
    ("GET", f"/v1/savepoints/{FIRST}", None, 200),
    ("GET", f"/v1/savepoints/{FIRST}/manifest", None, 200),
    ("POST", f"/v1/savepoints/{FIRST}/verify?level=complete", None, 200),
    ("POST", f"/v1/savepoints/{FIRST}/verifications?level=complete", None, 202),
    ("GET", f"/v1/savepoints/{PROVED}/verification", None, 200),
    ("POST", f"/v1/savepoints/{FIRST}/export", {"url": "s3://lake/one", "then_dispose": True}, 202),
    ("POST", f"/v1/savepoints/{FIRST}/export", {"url": "s3://lake/one", "dry_run": True}, 200),
    ("POST", "/v1/savepoints/import", {"url": ARCHIVE}, 202),
    ("GET", "/v1/space", None, 200),
    ("GET", "/v1/space?job=clicks", None, 200),
    ("GET", "/v1/diagnosis?subject=clicks", None, 200),
    ("GET", "/v1/operations", None, 200),
    ("GET", "/v1/operations?running=true", None, 200),
    ("GET", "/v1/operations/op-exporting", None, 200),
    ("POST", "/v1/operations/op-exporting/cancel", None, 202),
    ("POST", f"/v1/savepoints/{FIRST}/fork", {**FORK, "sinks": {"*": "fresh"}, "new_queries": ["more"]}, 201),
    ("POST", f"/v1/savepoints/{FIRST}/fork", {**FORK, "dry_run": True}, 200),
    ("PATCH", f"/v1/savepoints/{FIRST}", {"label": "x", "note": "a\nb", "best_before_ms": 5}, 200),
    ("POST", "/v1/savepoints/dispose", {"savepoints": [FIRST, "sp-none"], "dry_run": True}, 200),
    ("POST", "/v1/savepoints/dispose", {"savepoints": [FIRST]}, 200),
    ("DELETE", f"/v1/savepoints/{FIRST}", None, 200),
    ("GET", "/v1/experiments", None, 200),
    ("POST", "/v1/experiments", {"name": "e", "savepoint": FIRST, "variants": [FORK]}, 201),
    ("GET", "/v1/experiments/ex-1", None, 200),
    ("POST", "/v1/compare", {"a": "post_engagement", "b": "post_engagement_split"}, 200),
    ("POST", f"/v1/savepoints/{FIRST}/replay", {"end": PROVED}, 202),
    ("POST", f"/v1/savepoints/{FIRST}/replay", {"end": PROVED, "dry_run": True}, 200),
    ("POST", "/v1/jobs/post_engagement/bisect", {"good": FIRST, "bad": PROVED, "sql": "SELECT 1"}, 202),
    ("GET", "/v1/intervals?a=post_engagement&b=post_engagement_split", None, 200),
    ("POST", "/v1/jobs/post_engagement_split/promote", {"dry_run": True, "state": "savepoint"}, 200),
    ("POST", "/v1/jobs/post_engagement_split/promote", {}, 202),
    ("POST", "/v1/jobs/post_engagement_split/drop", {"dry_run": True}, 200),
    ("POST", "/v1/jobs/post_engagement_split/drop", {"at_once": True}, 202),
    ("GET", "/v1/tree", None, 200),
    ("GET", f"/v1/differences?a={FIRST}&b=post_engagement", None, 200),
    ("GET", "/v1/ping", None, 200),
    ("GET", "/v1/health", None, 200),
    ("GET", "/v1/about", None, 200),
    ("GET", "/v1/events?limit=1", None, 200),
    ("GET", "/v1/events?kind=failures&text=a%20b&actor=page&from_ms=1&to_ms=2", None, 200),
    ("GET", "/v1/events?before=1700000000000-0123abcd", None, 200),
    ("POST", "/v1/example", None, 201),
    ("POST", "/v1/catalog/rebuild", None, 200),
]
INVALID = [
    ("/v1/jobs", {"name": "x"}, "body.script"),
    ("/v1/jobs", {**RUN, "colour": "red"}, "body.colour"),
    ("/v1/jobs", [], "body"),
    ("/v1/jobs", {**RUN, "conf": {"a": ["b"]}}, "body.conf.a"),
    ("/v1/jobs/post_engagement/stop", {"savepoint": "perhaps"}, "body.savepoint"),
    ("/v1/jobs/post_events/resume", {"args": "x"}, "body.args"),
    ("/v1/jobs/post_engagement/savepoints", {"bacth": 7}, "body.bacth"),
    (f"/v1/savepoints/{FIRST}/verify?level=hopefully", {}, "query.level"),
    (f"/v1/savepoints/{FIRST}/verifications?level=hopefully", {}, "query.level"),
    (f"/v1/savepoints/{FIRST}/export", {}, "body.url"),
    (f"/v1/savepoints/{FIRST}/export", {"url": "s3://x", "then_delete": True}, "body.then_delete"),
    ("/v1/savepoints/import", {"url": 7}, "body.url"),
    ("/v1/savepoints/dispose", {}, "body.savepoints"),
    ("/v1/savepoints/dispose", {"savepoints": FIRST}, "body.savepoints"),
    ("/v1/jobs/attach", {**ATTACH, "checkpoints": "s3://lake"}, "body.checkpoints"),
    (f"/v1/savepoints/{FIRST}/fork", {}, "body.name"),
    ("/v1/experiments", {"name": "e", "savepoint": FIRST, "variants": [{"nam": "c"}]}, "body.variants.0"),
    ("/v1/compare", {"a": "x"}, "body.b"),
    ("/v1/jobs/post_engagement_split/promote", {"state": "elsewhere"}, "body.state"),
    ("/v1/jobs/post_engagement_split/drop", {"atonce": True}, "body.atonce"),
    ("/v1/jobs/post_engagement_split/undrop", {"dry": True}, "body.dry"),
]


def ask(client: httpx.Client, method: str, path: str, body: Any) -> httpx.Response:
    return client.request(method, path, json=({} if body is None else body) if method in ("POST", "PUT", "PATCH") else None)


@pytest.mark.parametrize(("method", "path", "body", "status"), ANSWERS)
def test_answers(client: httpx.Client, method: str, path: str, body: Any, status: int) -> None:
    answer = ask(client, method, path, body)
    assert answer.status_code == status, answer.text
    assert status == 204 or answer.json() is not None


@pytest.mark.parametrize(("path", "body", "where"), INVALID)
def test_a_wrong_body_is_named_and_changes_nothing(client: httpx.Client, face: FakeFace, path: str, body: Any, where: str) -> None:
    answer = client.post(path, json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["group"], error["code"]) == (422, "invalid", "request.invalid")
    assert where in error["message"]
    assert "/api/docs" in error["hint"]
    assert face.begun == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/diagnosis",
        "/v1/diagnosis?subject=",
        "/v1/operations?running=perhaps",
        "/v1/jobs/post_engagement/batches?limit=0",
        "/v1/jobs/post_engagement/series?from_ms=a&to_ms=2",
    ],
)
def test_a_wrong_query_is_refused(client: httpx.Client, path: str) -> None:
    assert client.get(path).json()["error"]["code"] == "request.invalid"


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _, _ in ANSWERS if method in ("POST", "PATCH")])
@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_what_another_site_could_send_is_refused(
    client: httpx.Client, face: FakeFace, method: str, path: str, content_type: str | None
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = client.request(method, path, content=b"{}", headers=headers)
    assert (
        (answer.status_code, answer.json()["error"]["code"])
        == (answer.json()["status"], "request.content_type")
        == (415, "request.content_type")
    )
    assert face.begun == []


BROKEN = {b"{": "JSON decode error", b"[" * 100_000: "nests too deeply", b"[]": "body: Input should be an object"}


@pytest.mark.parametrize("content", BROKEN, ids=["cut", "deep", "a list"])
def test_broken_json_is_a_wrong_request(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/v1/jobs", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "request.invalid")
    assert BROKEN[content] in answer.json()["error"]["message"]


def test_answers_are_the_domain_values(client: httpx.Client, face: FakeFace) -> None:
    assert client.get("/v1/jobs").json() == plain(face.ask(ListJobs()))
    assert client.get("/v1/tree").json() == plain(face.ask(ShowTree()))


def test_a_log_is_a_file_that_is_sent_in_pieces(client: httpx.Client, face: FakeFace, monkeypatch: pytest.MonkeyPatch) -> None:
    face.log = "".join(f"{number} is done\n" for number in range(1_000))
    asked: list[ReadLog] = []

    def piece(question: ReadLog) -> LogChunk:
        asked.append(question)
        return questions.log(face, question)

    face.answers(ReadLog, piece)
    monkeypatch.setattr(log_files, "PIECE_BYTES", 1_000)
    answer = client.get("/v1/jobs/post_engagement/logs/file")
    assert answer.headers["content-disposition"].startswith('attachment; filename="post_engagement-r-')
    assert answer.text == face.log and len(asked) > 10 and max(question.limit for question in asked) == 1_000
    assert client.get("/v1/jobs/nope/logs/file").status_code == 404


@pytest.mark.parametrize("path", ["/v1/events?limit=2&kind=runs&job=post_engagement", "/v1/jobs/post_engagement/events?limit=2"])
def test_events_say_where_the_older_ones_are(client: httpx.Client, face: FakeFace, path: str) -> None:
    newest = face.ask(ListEvents("post_engagement"))[0]
    every = [replace(newest, at_ms=NOW_MS - n, message=f"before {n}") for n in range(4)]
    after = {"": 0, every[1].cursor: 2, every[3].cursor: 4}
    face.answers(ListEvents, lambda question: every[after[question.before] :][: question.limit])
    events = []
    while path:
        answer = client.get(path)
        events += answer.json()
        path = answer.links.get("next", {}).get("url", "")
    assert events == plain(every)


def test_batches_say_where_the_older_ones_are(client: httpx.Client, face: FakeFace) -> None:
    batches, path = list[Any](), "/v1/jobs/post_engagement/batches?limit=2"
    while path:
        answer = client.get(path)
        batches += answer.json()
        path = answer.links.get("next", {}).get("url", "")
    assert batches == plain(face.ask(ListBatches("post_engagement", limit=10_000))) and len(batches) > 2


def test_a_version_and_an_operation_are_found(client: httpx.Client, face: FakeFace) -> None:
    version = next(iter(face.versions.values()))
    assert client.get(f"/v1/versions/{version.id}").json()["code"] == version.code
    begun = client.post("/v1/jobs/post_engagement/stop", json={}).json()
    assert client.get(f"/v1/operations/{begun['id']}").json() == begun


def test_a_dropped_variant_is_taken_back(client: httpx.Client, face: FakeFace) -> None:
    planned = client.post("/v1/jobs/post_engagement_split/undrop", json={"dry_run": True}).json()
    assert (planned["resumes"], planned["run"], len(planned["steps"]), face.begun) == (False, None, 2, [])
    assert client.post("/v1/jobs/post_engagement_split/undrop", json={}).json() == planned
    assert face.begun == [Undrop("post_engagement_split")]


def test_a_savepoint_is_found_by_its_path(client: httpx.Client) -> None:
    quoted = f"{ROOT}/{FIRST}".replace("/", "%2F")
    assert client.get(f"/v1/savepoints/{quoted}").json()["id"] == FIRST
    assert client.get(f"/v1/savepoints/{quoted}/manifest").json()["id"] == FIRST


def test_the_longer_paths_of_a_savepoint_that_is_named_by_its_path(client: httpx.Client, face: FakeFace) -> None:
    quoted = f"{ROOT}/{PROVED}".replace("/", "%2F")
    assert client.get(f"/v1/savepoints/{quoted}/verification").json() == plain(face.ask(ReadVerification(PROVED)))
    assert client.post(f"/v1/savepoints/{quoted}/verifications", json={}).json()["subject"] == PROVED
    assert client.post(f"/v1/savepoints/{quoted}/export", json={"url": "s3://lake/one"}).json()["subject"] == PROVED


def test_before_the_first_verification_there_is_none(client: httpx.Client) -> None:
    answer = client.get(f"/v1/savepoints/{FIRST}/verification")
    assert (answer.status_code, answer.json()) == (200, None)


def test_a_verification_is_followed_to_its_end(client: httpx.Client, face: FakeFace) -> None:
    begun = client.post(f"/v1/savepoints/{FIRST}/verifications?level=proved", json={}).json()
    assert (begun["state"], begun["amount"]["done"], begun["can_cancel"]) == ("running", 0, True)
    seen = [client.get(f"/v1/operations/{begun['id']}").json() for _ in range(4)]
    assert [operation["amount"]["done"] for operation in seen] == [500_000, 1_000_000, 1_500_000, 2_000_000]
    assert [operation["state"] for operation in seen] == ["running"] * 3 + ["done"]
    assert client.get(f"/v1/operations/{begun['id']}/answer").json()["reached"] == "proved"


def test_an_operation_that_failed_says_group_code_and_hint(client: httpx.Client) -> None:
    failed = client.get("/v1/operations/op-failed").json()
    error = [failed[f"error_{part}"] for part in ("group", "code", "hint")]
    assert error == ["already_exists", "savepoint.exists", "Dispose of it first."]


def test_a_dry_run_exports_nothing(client: httpx.Client, face: FakeFace) -> None:
    plan = client.post(f"/v1/savepoints/{FIRST}/export", json={"url": "s3://lake/one.tar.zst", "dry_run": True}).json()
    assert (plan["archive"], plan["files"]) == (True, 12)
    assert face.begun == []


def test_a_dry_run_disposes_of_nothing(client: httpx.Client, face: FakeFace) -> None:
    assert client.delete(f"/v1/savepoints/{FIRST}?dry_run=true").json()["savepoint"] == FIRST
    assert face.begun == []


def test_of_several_each_has_its_outcome(client: httpx.Client, face: FakeFace) -> None:
    needed = Conflict("savepoint.in_use", "It is needed", "Try again later.")
    outcomes = samples.disposed(face.savepoints_by_id[FIRST], refused=[DisposeOutcome(PROVED, None, refusal(needed))])
    face.plans_as(Dispose, outcomes)
    face.answers(Dispose, outcomes)
    asked = {"savepoints": [FIRST, PROVED]}
    preview = client.post("/v1/savepoints/dispose", json={**asked, "dry_run": True}).json()
    assert face.begun == []
    done = client.post("/v1/savepoints/dispose", json=asked).json()
    assert done == preview
    assert [(outcome["refusal"] or {}).get("code") for outcome in done["outcomes"]] == [None, "savepoint.in_use"]
    assert (done["frees_bytes"], done["files"], face.begun) == (4_096, 12, [Dispose((FIRST, PROVED))])


def test_ping_says_which_workspace(client: httpx.Client, layout: Layout) -> None:
    layout.workspace_file.write_text('{"format": 1, "id": "ws-1"}')
    answer = client.get("/v1/ping").json()
    assert (answer["name"], answer["workspace"], answer["workspace_id"]) == ("tidemark", str(layout.root), "ws-1")


@pytest.mark.parametrize("group", STATUS_AND_EXIT_CODES)
def test_each_group_has_its_status(client: httpx.Client, face: FakeFace, group: str) -> None:
    error = GROUPS.get(group, TidemarkError)("some.code", "a message", "a hint")

    face.refuses(ListJobs, error)
    answer = client.get("/v1/jobs")
    status = STATUS_AND_EXIT_CODES[group][0]
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    kind = f"/api/problems#{group}"
    problem = {"type": kind, "title": meaning(group), "status": status, "detail": "a message", "instance": "/api/v1/jobs"}
    assert answer.json() == {**problem, **error.as_json()}


def test_the_type_of_a_problem_is_a_place_that_says_what_it_means(client: httpx.Client) -> None:
    for path in ("/v1/jobs/nobody", "/v1/nothing", "/v1/audit?limit=0"):
        answer = client.get(path)
        place, _, anchor = answer.json()["type"].partition("#")
        page = client.get(httpx.URL(answer.url).join(place))
        assert page.status_code == 200
        assert f'<tr id="{anchor}">' in page.text and answer.json()["title"] in page.text


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [("GET", "/v1/none", None, 404), ("PUT", "/v1/jobs", None, 405), ("POST", "/v1/jobs", b"{", 422), ("POST", "/v1/jobs", b"", 422)],
)
def test_what_reaches_no_route_is_a_problem_too(client: httpx.Client, method: str, path: str, content: bytes | None, status: int) -> None:
    answer = client.request(method, path, content=content, headers={"content-type": "application/json"})
    body = answer.json()
    assert (answer.status_code, answer.headers["content-type"], body["status"]) == (status, "application/problem+json", status)
    assert body["instance"] == f"/api{path}" and body["detail"] == body["error"]["message"]


def test_what_nobody_expected_is_logged_with_its_traceback(client: httpx.Client, face: FakeFace, caplog: pytest.LogCaptureFixture) -> None:
    face.refuses(ListJobs, RuntimeError("secret detail"))
    with caplog.at_level(logging.ERROR, "pipelines.api"):
        answer = client.get("/v1/jobs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret detail" not in answer.text
    # Not `caplog.text`: a logger of PySpark's gives each handler that it meets, also pytest's, a format of its own.
    (logged,) = [record for record in caplog.records if record.name.startswith("pipelines.api")]
    assert logged.exc_info and repr(logged.exc_info[1]) == "RuntimeError('secret detail')"


@pytest.mark.parametrize(("header", "actor"), [({}, "REST"), ({"X-Tidemark-Actor": "nightly-ci"}, "nightly-ci")])
def test_a_call_says_who_it_is_by(client: httpx.Client, face: FakeFace, header: dict[str, str], actor: str) -> None:
    assert client.post("/v1/example", headers={"content-type": "application/json", **header}).status_code == 201
    assert face.actor == actor


def test_a_name_that_is_no_name_is_refused(client: httpx.Client) -> None:
    answer = client.get("/v1/jobs", headers={"X-Tidemark-Actor": "x" * 61})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "actor.invalid")


def test_runs_are_listed_in_pages(client: httpx.Client, face: FakeFace) -> None:
    newest = face.runs["post_engagement"][-1]
    face.runs["post_engagement"] = [replace(newest, id=RunId(f"r-{number}"), created_ms=NOW_MS + number) for number in range(5)]
    url, names = "/v1/jobs/post_engagement/runs?limit=2&sort=-created_ms", []
    while url:
        answer = client.get(url)
        names += [row["id"] for row in answer.json()]
        url = answer.links.get("next", {}).get("url", "")
    assert names == [f"r-{number}" for number in reversed(range(5))]
    assert client.get("/v1/jobs/post_engagement/runs?sort=nothing").status_code == 422
    assert client.get(f"/v1/jobs/post_engagement/runs?state={newest.state}&from_ms={NOW_MS + 4}").json()[0]["id"] == "r-4"


@pytest.mark.parametrize("query", ["", "sort=-name", "sort=created_ms", "state=failed"])
@pytest.mark.parametrize("limit", [1, 3])
def test_a_list_is_followed_page_by_page(client: httpx.Client, query: str, limit: int) -> None:
    url, names = f"/v1/jobs?limit={limit}&{query}", []
    while url:
        answer = client.get(url)
        assert answer.status_code == 200 and len(answer.json()) <= limit
        names += [row["job"]["name"] for row in answer.json()]
        url = answer.links.get("next", {}).get("url", "")
    assert names == [row["job"]["name"] for row in client.get(f"/v1/jobs?{query}").json()]
    assert "Link" not in client.get(f"/v1/jobs?{query}").headers


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("sort=colour", "list.sort"),
        ("after=x", "list.after"),
        ("limit=-1", "request.invalid"),
        ("limit=10001", "request.invalid"),
        ("state=x", "request.invalid"),
    ],
)
def test_what_a_list_cannot_be_asked_for_is_refused(client: httpx.Client, query: str, code: str) -> None:
    answer = client.get(f"/v1/jobs?{query}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, code) and "Value error" not in error["message"]
