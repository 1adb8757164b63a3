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
from pipelines.domain.decisions import StateFrom
from pipelines.domain.errors import NotFound
from pipelines.domain.trust import Trust
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, Diff, ListExperiments, ShowExperiment, ShowIntervals, ShowTree, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import (
    ListBatches,
    ListJobs,
    ListOperators,
    ListPlans,
    ListRetained,
    ReadLog,
    ShowEventSeries,
    ShowJob,
    ShowSeries,
)
from pipelines.verbs.operations import CancelOperation, ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.shell import TO_FILL_IN, as_call, as_command
from pipelines.verbs.state import ListStates, QueryState, ReadState
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowAbout, ShowHealth, ShowSpace, StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Asked, Begun
from pipelines.verbs.verify import Verify
from tests.api.serving import serving

URL = "http://127.0.0.1:8501"
AT_MS = 1_800_000_000_000
ONE = Attach(
    name="clicks",
    checkpoints={"counts": "s3://lake/c"},
    sink="parquet",
    sink_path="s3://lake/out",
    script="a.py",
    code="x = 1\n",
    args=("--n", "1"),
)
TWO = Attach(name="clicks", checkpoints={"counts": "s3://lake/c", "late": "s3://lake/l"})
CHANGED = Resume(
    "a",
    from_savepoint="sp-1",
    code="x = 1\n",
    script="a.py",
    args=("--n", "2"),
    conf={"spark.x": "2"},
    master="yarn",
    python="/py",
    new_queries=("late",),
)
FORKED = Fork(savepoint="sp-1", name="b", code="x = 1\n", script="a.py", sinks={"*": "fresh", "counts": "continue"})
COMPARED = StartExperiment(
    "ads", "sp-1", (Variant(name="b", code="x = 1\n", script="a.py"), Variant(name="c", args=("--fast",))), with_parent=True
)
QUOTED = "'it'\"'\"'s'"
ASKED: dict[str, tuple[Asked[Any], str]] = {
    "savepoint": (Take("a", batch=7, label="it's"), f"savepoint a --batch 7 --label {QUOTED}"),
    "event": (Take("a", event_ms=AT_MS), "savepoint a --event-time 2027-01-15T08:00:00+00:00"),
    "moment": (Take("a", at_ms=AT_MS + 7, to="/mnt/a"), "savepoint a --at 2027-01-15T08:00:00.007+00:00 --to /mnt/a"),
    "stop": (Stop("a", savepoint=False), "stop a --no-savepoint"),
    "cancel": (Stop("a", savepoint=False, at_once=True), "cancel a"),
    "operators": (ListOperators("a"), "operators a"),
    "plan": (ListPlans("a"), "plan a"),
    "resume": (Resume("a", from_savepoint="sp-1"), "resume a --from sp-1"),
    "rewind": (Resume("a", batch=8), "resume a --batch 8"),
    "upgrade": (
        CHANGED,
        "resume a --code a.py --arg=--n --arg 2 --conf spark.x=2 --master yarn --runtime /py --from sp-1 --new-query late",
    ),
    "fork": (FORKED, "fork sp-1 --name b --code a.py --sink fresh --sink counts=continue"),
    "experiment": (COMPARED, "experiment sp-1 --name ads --with-parent --variant b=a.py --variant c="),
    "forget": (Forget("a"), "forget a"),
    "run": (
        RunScript(name="a", script="a.py", code="x = 1\n", args=("--x", "1"), conf={"k": "v"}, master="yarn"),
        "run a.py --name a --conf k=v --master yarn -- --x 1",
    ),
    "attach": (
        ONE,
        "attach clicks --checkpoint counts=s3://lake/c --code a.py --arg=--n --arg 1 --sink parquet --sink-path s3://lake/out",
    ),
    "attach two": (TWO, "attach clicks --checkpoint counts=s3://lake/c --checkpoint late=s3://lake/l"),
    "verify": (Verify("sp-1"), "verify sp-1"),
    "prove": (Verify("sp-1", Trust.PROVED), "verify sp-1 --level proved"),
    "diagnose": (Diagnose("a"), "verify a"),
    "export": (Export("sp-1", "s3://b/x.tar.zst", then_dispose=True), "export sp-1 s3://b/x.tar.zst --then-dispose"),
    "export as": (Export("sp-1", "/x", archive=True), "export sp-1 /x --archive"),
    "export not as": (Export("sp-1", "/x.tar.zst", archive=False), "export sp-1 /x.tar.zst --directory"),
    "import": (Import("s3://b/x"), "import s3://b/x"),
    "annotate": (Annotate("sp-1", label="it's"), f"annotate sp-1 --label {QUOTED}"),
    "no date": (Annotate("sp-1", best_before_ms=0), "annotate sp-1 --best-before none"),
    "date": (Annotate("sp-1", note="a\nb", best_before_ms=AT_MS), "annotate sp-1 --note 'a\nb' --best-before 2027-01-15T08:00:00+00:00"),
    "dispose": (Dispose(("sp-1", "sp-2")), "dispose sp-1 sp-2"),
    "states": (ListStates("sp-1"), "state sp-1 --tables"),
    "read state": (
        ReadState("sp-1", query="q", operator=0, store="default", variable="seen", limit=9),
        "state sp-1 --query q --operator 0 --store default --variable seen --read-rows 9",
    ),
    "show state": (
        QueryState("sp-1", query="q", sort="key.post", descending=True, filter="a b", limit=9),
        "state sp-1 --query q --sort=-key.post --filter 'a b' --limit 9",
    ),
    "ask state": (
        QueryState("sp-1", operator=1, store="left", sql="SELECT 'x'"),
        "state sp-1 --operator 1 --store left --sql 'SELECT '\"'\"'x'\"'\"'' --limit 100",
    ),
    "operations": (ListOperations(running=True), "operations --running"),
    "cancel operation": (CancelOperation("op-1"), "cancel-operation op-1"),
    "promote": (Promote("split", StateFrom.SAVEPOINT), "promote split --state savepoint"),
    "drop": (Drop("split", savepoint=False), "drop split --no-savepoint"),
    "drop at once": (Drop("split", at_once=True), "drop split --at-once"),
    "undrop": (Undrop("split"), "undrop split"),
    "differences": (Diff("sp-1", "a"), "diff sp-1 a"),
    "space": (ShowSpace(), "savepoints --sizes"),
    "space of a job": (ShowSpace("a"), "savepoints a --sizes"),
    "list": (ListJobs(), "list"),
    "job": (ShowJob("a"), "show a"),
    "log": (ReadLog("a", run="r-1"), "logs a --run r-1"),
    "retained": (ListRetained("a"), "batches a --retained"),
    "batches": (ListBatches("a", limit=7), "batches a --limit 7"),
    "series": (ShowSeries("a", from_ms=1, to_ms=2), ""),
    "event series": (ShowEventSeries("a", points=9), ""),
    "events": (
        ListEvents("a", kind="run.failed", actor="page", from_ms=AT_MS, before="7-x"),
        "events a --kind run.failed --by page --since 2027-01-15T08:00:00+00:00 --before 7-x",
    ),
    "operation": (ShowOperation("op-1"), ""),
    "answer": (ReadAnswer("op-1"), ""),
    "version": (ShowVersion("v-1"), "versions v-1"),
    "tree": (ShowTree(), "versions"),
    "savepoints": (ListSavepoints("a"), "savepoints a"),
    "one savepoint": (ShowSavepoint("/data/my savepoints/sp-1"), "show '/data/my savepoints/sp-1'"),
    "manifest": (ReadManifest("sp-1"), ""),
    "verification": (ReadVerification("sp-1"), ""),
    "experiments": (ListExperiments(), "experiments"),
    "one experiment": (ShowExperiment("ex-1"), "experiments --json"),
    "compare": (Compare("a", "b", keys=("post", "day")), "compare a b --key post --key day"),
    "intervals": (ShowIntervals("a", "b"), ""),
    "health": (ShowHealth(60_000), ""),
    "about": (ShowAbout(), "about"),
    "example": (StartExample(), "example"),
    "rebuild": (RebuildCatalog(), "catalog rebuild"),
}


def test_each_declaration_is_here() -> None:
    assert {type(asked) for asked, _ in ASKED.values()} == set(verbs.every())


@pytest.mark.parametrize(("asked", "command"), ASKED.values(), ids=ASKED)
def test_the_command_is_read_by_the_command_line(asked: Asked[Any], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_command(asked).removeprefix("python -m pipelines ") == command
    if not command:
        return
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    group = typer.main.get_command(command_line)
    verb, *words = shlex.split(command)
    with group.make_context("pipelines", [verb, *words]) as parent:
        found = group.get_command(parent, verb)  # type: ignore[attr-defined]
        assert found is not None
        found.make_context(verb, list(words), parent=parent).close()


class Heard:
    """A workspace that notes what it is asked, and knows nothing."""

    def __init__(self) -> None:
        self.newest: Asked[Any] | None = None

    def acting(self, actor: str) -> Heard:
        return self

    def ask(self, asked: Asked[Any]) -> Any:
        self.newest = asked
        raise NotFound("test.heard", "It was heard", "")

    plan = begin = ask

    def answer(self, begun: Begun[Any]) -> Any:
        raise AssertionError(f"nothing was begun: {begun}")


@pytest.fixture(scope="module")
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="module")
def http(heard: Heard) -> Iterator[httpx.Client]:
    with serving(heard) as url, httpx.Client(base_url=url, trust_env=False) as client:  # type: ignore[arg-type]
        yield client


@pytest.mark.parametrize("asked", [asked for asked, _ in ASKED.values()], ids=ASKED)
def test_the_call_is_read_by_rest_as_the_same(asked: Asked[Any], heard: Heard, http: httpx.Client) -> None:
    heard.newest = None
    method, url, body = request_of(as_call(asked, URL))
    answer = http.request(method, url.removeprefix(URL), content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "test.heard", answer.text
    assert heard.newest == without_code(asked)


def test_only_what_is_not_usual_is_sent() -> None:
    assert as_call(Stop("a"), URL) == f"curl -X POST {URL}/api/v1/jobs/a/stop \\\n  --json '{{}}'"
    assert as_call(Diff("sp-1", "a b"), URL) == f"curl '{URL}/api/v1/differences?a=sp-1&b=a+b'"
    assert json.loads(request_of(as_call(FORKED, URL))[2] or "")["code"] == TO_FILL_IN


def without_code(asked: Any) -> Any:
    """The same, with what stands for a script's text in its place."""
    if isinstance(asked, tuple):
        return tuple(map(without_code, asked))
    if not is_dataclass(asked) or isinstance(asked, type):
        return asked
    same = {part.name: without_code(getattr(asked, part.name)) for part in fields(asked)}
    return replace(asked, **{**same, **({"code": TO_FILL_IN} if same.get("code") else {})})


def request_of(call: str) -> tuple[str, str, str | None]:
    """Method, address and body of a `curl` call."""
    words = shlex.split(call.replace("\\\n", " "))
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    body = words[words.index("--json") + 1] if "--json" in words else None
    return method, next(word for word in words if word.startswith("http")), body
