"""Questions and changes as what is typed: each command is one that the command line reads, each call one that REST reads as the same."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer.main

from pipelines import verbs
from pipelines.cli.app import app as command_line
from pipelines.domain.errors import NotFound
from pipelines.verbs.declaration import command_of
from pipelines.verbs.experiments import Diff
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.shell import SHOWN_TOKEN, TO_FILL_IN, as_call, as_command
from pipelines.verbs.state import ReadState
from pipelines.verbs.stop import Stop
from pipelines.verbs.verb import Asked
from tests.api.serving import serving
from tests.canned import CannedFace
from tests.verbs.requests import EVERY, FORKED, TYPED

URL = "http://127.0.0.1:8501"
ASKED: dict[str, tuple[Asked[Any], str]] = {
    **TYPED,
    "a variable of state": (ReadState("sp-1", variable="seen"), "state sp-1 --variable seen"),
    "a path with a space": (ShowSavepoint("/data/my savepoints/sp-1"), "show '/data/my savepoints/sp-1'"),
}


def test_each_declaration_is_here() -> None:
    assert {type(asked) for asked, _ in TYPED.values()} == set(verbs.every())


@pytest.mark.parametrize(("asked", "command"), ASKED.values(), ids=ASKED)
def test_the_command_is_read_by_the_command_line(asked: Asked[Any], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_command(asked).removeprefix("python -m pipelines ") == command
    if not command:
        assert command_of(asked) == asked.call
        return
    assert f"{command} ".startswith(f"{command_of(asked)} "), "the audit has what was typed"
    for name in ("a.py", "script.txt"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    group = typer.main.get_command(command_line)
    verb, *words = shlex.split(command)
    with group.make_context("pipelines", [verb, *words]) as parent:
        click_command = group.get_command(parent, verb)  # type: ignore[attr-defined]
        assert click_command is not None
        click_command.make_context(verb, list(words), parent=parent).close()


class Heard(CannedFace):
    """A workspace that notes what it is asked, and knows nothing."""

    def otherwise_asked(self, question: Asked[Any]) -> Any:
        raise NotFound("test.heard", "It was heard", "")

    @property
    def newest(self) -> Asked[Any]:
        return [*self.asked, *self.begun][-1]


@pytest.fixture
def heard(served: tuple[Heard, httpx.Client]) -> Heard:
    served[0].asked.clear()
    served[0].begun.clear()
    return served[0]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Heard, httpx.Client]]:
    face = Heard()
    with serving(face) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        yield face, client


@pytest.fixture
def http(served: tuple[Heard, httpx.Client]) -> httpx.Client:
    return served[1]


@pytest.mark.parametrize("asked", EVERY.values(), ids=EVERY)
def test_the_call_is_read_by_rest_as_the_same(asked: Asked[Any], heard: Heard, http: httpx.Client) -> None:
    method, url, body = request_of(as_call(asked, URL))
    answer = http.request(method, url.removeprefix(URL), content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "test.heard", answer.text
    assert heard.newest == without_code(asked)


def test_only_what_is_not_usual_is_sent() -> None:
    assert as_call(Stop("a"), URL) == f"curl {SHOWN_TOKEN} -X POST {URL}/api/v1/jobs/a/stop \\\n  --json '{{}}'"
    assert as_call(Diff("sp-1", "a b"), URL) == f"curl {SHOWN_TOKEN} '{URL}/api/v1/differences?a=sp-1&b=a+b'"
    assert json.loads(request_of(as_call(FORKED, URL))[2] or "")["code"] == TO_FILL_IN


def without_code(asked: Any) -> Any:
    """The same, with what stands for a script's text in its place."""
    if isinstance(asked, tuple):
        return tuple(map(without_code, asked))
    if not is_dataclass(asked) or isinstance(asked, type):
        return asked
    same = {part.name: without_code(getattr(asked, part.name)) for part in fields(asked)}
    files = {path: text and TO_FILL_IN for path, text in (same.get("files") or {}).items()}
    return replace(asked, **{**same, **({"code": TO_FILL_IN} if same.get("code") else {}), **({"files": files} if files else {})})


def request_of(call: str) -> tuple[str, str, str | None]:
    """Method, address and body of a `curl` call."""
    words = shlex.split(call.replace("\\\n", " "))
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    body = words[words.index("--json") + 1] if "--json" in words else None
    return method, next(word for word in words if word.startswith("http")), body
