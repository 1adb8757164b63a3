"""What the pages offer to copy: each command is one that the command line reads, each call one that REST routes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer.main

from dashboard import equivalents
from dashboard.equivalents import Equivalent
from pipelines.cli.app import app as command_line
from pipelines.domain.decisions import StateFrom
from pipelines.domain.requests import AttachRequest, ResumeRequest
from pipelines.domain.states import StateQuery, StateRequest
from pipelines.domain.trust import Trust
from tests.api.serving import serving
from tests.faces import FakeFace

URL = "http://127.0.0.1:8501"
ONE = AttachRequest("clicks", {"counts": "s3://lake/c"}, "parquet", "s3://lake/out", "a.py", "x = 1\n", ("--n", "1"))
TWO = AttachRequest("clicks", {"counts": "s3://lake/c", "late": "s3://lake/l"})
CHANGED = ResumeRequest("sp-1", code="x", args=("--n", "2"), conf={"spark.x": "2"}, master="yarn", python="/py", new_queries=("late",))

SAID = {
    "savepoint": (equivalents.savepoint("a", URL, batch=7, label="it's"), "savepoint a --batch 7 --label 'it'\"'\"'s'"),
    "event": (equivalents.savepoint("a", URL, event=("2027-01-15", 5)), "savepoint a --event-time 2027-01-15"),
    "stop": (equivalents.stop("a", URL, with_savepoint=False), "stop a --no-savepoint"),
    "operators": (equivalents.operators("a", URL), "operators a"),
    "plan": (equivalents.plan("a", URL), "plan a"),
    "cancel": (equivalents.cancel("a", URL), "cancel a"),
    "resume": (equivalents.resume("a", URL, from_savepoint="sp-1"), "resume a --from sp-1"),
    "rewind": (equivalents.resume("a", URL, batch=8), "resume a --batch 8"),
    "upgrade": (
        equivalents.upgrade("a", URL, CHANGED, "a.py"),
        "resume a --from sp-1 --code a.py --arg=--n --arg=2 --conf spark.x=2 --master yarn --runtime /py --new-query late",
    ),
    "forget": (equivalents.forget("a", URL), "forget a"),
    "run": (
        equivalents.run("a.py", URL, name="a", args=("--x", "1"), conf={"k": "v"}, master="yarn"),
        "run a.py --name a --conf k=v --master yarn -- --x 1",
    ),
    "attach": (
        equivalents.attach(ONE, URL),
        "attach clicks s3://lake/c --query counts --sink parquet --sink-path s3://lake/out --code a.py --arg=--n --arg=1",
    ),
    "attach two": (equivalents.attach(TWO, URL), "attach clicks --checkpoint counts=s3://lake/c --checkpoint late=s3://lake/l"),
    "verify": (equivalents.verify("sp-1", URL, Trust.INTACT), "verify sp-1 --level intact"),
    "prove": (equivalents.verify("sp-1", URL, Trust.PROVED), "verify sp-1 --level proved"),
    "diagnose": (equivalents.diagnose("a", URL), "verify a"),
    "export": (
        equivalents.export("sp-1", URL, "s3://b/x.tar.zst", archive=True, then_dispose=True),
        "export sp-1 s3://b/x.tar.zst --then-dispose",
    ),
    "export as": (equivalents.export("sp-1", URL, "/x", archive=True, then_dispose=False), "export sp-1 /x --archive"),
    "import": (equivalents.import_savepoint(URL, "s3://b/x"), "import s3://b/x"),
    "annotate": (equivalents.annotate("sp-1", URL, label="it's"), "annotate sp-1 --label 'it'\"'\"'s'"),
    "dispose": (equivalents.dispose(["sp-1", "sp-2"], URL), "dispose sp-1 sp-2"),
    "states": (equivalents.states("sp-1", URL), "state sp-1 --tables"),
    "read state": (
        equivalents.read_state("sp-1", URL, StateRequest("q", 0, "default", "seen", 9)),
        "state sp-1 --query q --operator 0 --store default --variable seen --read-rows 9",
    ),
    "show state": (
        equivalents.query_state("sp-1", URL, StateQuery("q", sort="key.post", descending=True, filter="a b", limit=9)),
        "state sp-1 --query q --filter 'a b' --sort=-key.post --limit 9",
    ),
    "ask state": (
        equivalents.query_state("sp-1", URL, StateQuery(operator=1, store="left", sql="SELECT 'x'")),
        "state sp-1 --operator 1 --store left --sql 'SELECT '\"'\"'x'\"'\"'' --limit 100",
    ),
    "operations": (equivalents.operations(URL), "operations --running"),
    "promote": (equivalents.promote("split", URL, StateFrom.SAVEPOINT), "promote split --state savepoint"),
    "drop": (equivalents.drop("split", URL, with_savepoint=False), "drop split --no-savepoint"),
    "undrop": (equivalents.undrop("split", URL), "undrop split"),
    "differences": (equivalents.differences("sp-1", "a", URL), "diff sp-1 a"),
    "sizes": (equivalents.sizes(URL), "savepoints --sizes"),
}


@pytest.mark.parametrize(("said", "command"), SAID.values(), ids=SAID)
def test_the_command_is_read_by_the_command_line(said: Equivalent, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said.command == f"python -m pipelines {command}"
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    group = typer.main.get_command(command_line)
    verb, *words = shlex.split(command)
    with group.make_context("pipelines", [verb, *words]) as parent:
        found = group.get_command(parent, verb)  # type: ignore[attr-defined]
        assert found is not None
        found.make_context(verb, list(words), parent=parent).close()


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with serving(FakeFace.sample()) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("said", [one for one, _ in SAID.values()], ids=SAID)
def test_the_call_is_one_that_rest_knows(said: Equivalent, http: httpx.Client) -> None:
    nowhere = code_of(http.get("/api/v1/nowhere"))
    for call in said.call.replace("\\\n", " ").splitlines():
        method, url, body = request_of(call)
        answer = http.request(method, url.removeprefix(URL), content=body, headers={"content-type": "application/json"})
        assert answer.status_code not in (405, 422), answer.text
        assert code_of(answer) != nowhere, answer.text


def code_of(answer: httpx.Response) -> str:
    """The error's code; empty for an answer that is none."""
    said = answer.json() if answer.content else {}
    return str(said["error"]["code"]) if isinstance(said, dict) and "error" in said else ""


def request_of(call: str) -> tuple[str, str, str | None]:
    """Method, address and body of a `curl` call."""
    words = shlex.split(call)
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    body = words[words.index("-d") + 1] if "-d" in words else None
    if body is not None:
        json.loads(body)
    return method, next(word for word in words if word.startswith("http")), body
