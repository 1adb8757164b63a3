"""Every route says what a real workspace refuses: status, code and hint. It is made of golden files once, for a refusal changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from pipelines.domain.runs import RunState
from pipelines.verbs.attach import Attach
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.api.serving import serving
from tests.savepoint.golden import lay_checkpoint
from tests.workspace.conftest import House

FORK = {"name": "c"}
ATTACH = {"name": "elsewhere", "checkpoints": {"counts": "s3://lake/counts/checkpoint"}}
RUN = {"name": "new", "script": "new.py", "code": "print()"}
REFUSALS = [
    ("GET", "/v1/jobs/nobody", None, 404, "job.not_found"),
    ("DELETE", "/v1/jobs/nobody", None, 404, "job.not_found"),
    ("DELETE", "/v1/jobs/post_engagement", None, 409, "job.running"),
    ("POST", "/v1/jobs", {**RUN, "name": "post_events"}, 409, "job.exists"),
    ("POST", "/v1/jobs", {**RUN, "name": "../x"}, 422, "job.name"),
    ("POST", "/v1/jobs/nobody/stop", {}, 404, "job.not_found"),
    ("POST", "/v1/jobs/post_events/stop", {}, 409, "job.not_running"),
    ("POST", "/v1/jobs/nobody/resume", {}, 404, "job.not_found"),
    ("POST", "/v1/jobs/post_engagement/resume", {}, 409, "job.running"),
    ("POST", "/v1/jobs/nobody/savepoints", {}, 404, "job.not_found"),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"batch": 99}, 404, "savepoint.not_retained"),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"home": "gs://lake/savepoints"}, 501, "home.untried"),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"home": "hdfs://lake/savepoints"}, 422, "storage.namenode"),
    ("POST", "/v1/jobs/post_engagement/savepoints", {"home": "s3://lake/savepoints", "to": "/mnt/a"}, 422, "savepoint.to_and_home"),
    ("POST", "/v1/jobs/attach", {**ATTACH, "name": "clicks"}, 409, "job.exists"),
    ("POST", "/v1/jobs/attach", {**ATTACH, "checkpoints": {"counts": "/gone"}}, 404, "checkpoint.not_found"),
    ("POST", "/v1/jobs/clicks/resume", {}, 409, "job.attached"),
    ("POST", "/v1/jobs/post_events/resume", {"batch": 99}, 404, "savepoint.not_retained"),
    ("GET", "/v1/jobs/nobody/logs", None, 404, "job.not_found"),
    ("GET", "/v1/jobs/nobody/retained", None, 404, "job.not_found"),
    ("GET", "/v1/jobs/nobody/batches", None, 404, "job.not_found"),
    ("GET", "/v1/jobs/post_engagement/plan?query=other", None, 404, "plan.not_found"),
    ("GET", "/v1/jobs/nobody/series?from_ms=1&to_ms=2", None, 404, "job.not_found"),
    ("GET", "/v1/jobs/nobody/event-series", None, 404, "job.not_found"),
    ("GET", "/v1/savepoints/sp-none", None, 404, "savepoint.not_found"),
    ("GET", "/v1/savepoints/sp-none/manifest", None, 404, "savepoint.not_found"),
    ("POST", "/v1/savepoints/sp-none/verify", None, 404, "savepoint.not_found"),
    ("POST", "/v1/savepoints/sp-none/verifications", None, 404, "savepoint.not_found"),
    ("GET", "/v1/savepoints/sp-none/verification", None, 404, "savepoint.not_found"),
    ("POST", "/v1/savepoints/sp-none/export", {"url": "s3://lake/one"}, 404, "savepoint.not_found"),
    ("POST", "/v1/savepoints/{first}/export", {"url": "{exported}"}, 409, "export.exists"),
    ("POST", "/v1/savepoints/import", {"url": "file:///none"}, 422, "address.name"),
    ("GET", "/v1/diagnosis?subject=/data/gone", None, 404, "diagnose.nothing"),
    ("GET", "/v1/diagnosis?subject=nobody", None, 404, "diagnose.nothing"),
    ("POST", "/v1/operations/none/cancel", None, 404, "operation.not_found"),
    ("POST", "/v1/operations/{ended}/cancel", None, 409, "operation.ended"),
    ("POST", "/v1/savepoints/sp-none/fork", FORK, 404, "savepoint.not_found"),
    ("POST", "/v1/savepoints/{first}/fork", {"name": "post_events"}, 409, "job.exists"),
    ("PATCH", "/v1/savepoints/sp-none", {"label": "x"}, 404, "savepoint.not_found"),
    ("PATCH", "/v1/savepoints/{first}", {}, 422, "annotation.nothing"),
    ("PATCH", "/v1/savepoints/{first}", {"label": "a\nb"}, 422, "annotation.label"),
    ("PATCH", "/v1/savepoints/{first}", {"labels": "a"}, 422, "request.invalid"),
    ("POST", "/v1/savepoints/dispose", {"savepoints": []}, 422, "dispose.nothing"),
    ("DELETE", "/v1/savepoints/sp-none", None, 404, "savepoint.not_found"),
    ("POST", "/v1/experiments", {"name": "e", "savepoint": "sp-none", "variants": [FORK, {"name": "d"}]}, 404, "savepoint.not_found"),
    ("GET", "/v1/experiments/none", None, 404, "experiment.not_found"),
    ("POST", "/v1/compare", {"a": "post_engagement", "b": "nobody"}, 404, "job.not_found"),
    ("GET", "/v1/intervals?a=post_engagement&b=nobody", None, 404, "job.not_found"),
    ("POST", "/v1/jobs/post_engagement/promote", {}, 409, "decision.no_fork"),
    ("POST", "/v1/jobs/nobody/drop", {}, 404, "job.not_found"),
    ("POST", "/v1/jobs/post_engagement_split/undrop", {}, 409, "decision.not_dropped"),
    ("GET", "/v1/jobs?stat=failed", None, 422, "request.parameter"),
    ("POST", "/v1/savepoints/prune?dry_run=true", {}, 422, "request.parameter"),
    ("DELETE", "/v1/jobs/post_events?dryrun=true", None, 422, "request.parameter"),
    ("GET", "/v1/stream?job=a", None, 422, "request.parameter"),
    ("GET", "/v1/versions/none", None, 404, "version.not_found"),
    ("GET", "/v1/differences?a={first}&b=sp-none", None, 404, "point.not_found"),
    ("GET", "/v1/operations/none", None, 404, "operation.not_found"),
    ("GET", "/v1/nothing", None, 404, "request.no_such_path"),
    ("PUT", "/v1/jobs", RUN, 405, "request.refused"),
]


@dataclass(frozen=True)
class Refusing:
    """A server of the workspace, and what its savepoint, an operation that ended and an export are called."""

    http: httpx.Client
    names: dict[str, str]

    def named(self, value: Any) -> Any:
        """The value with these names in it."""
        text = json.dumps(value)
        for name, known in self.names.items():
            text = text.replace(f"{{{name}}}", known)
        return json.loads(text)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refusing]:
    """A running job with a savepoint, a fork of it, a stopped job, and one that runs elsewhere."""
    root = tmp_path_factory.mktemp("refusing")
    house = House(root / "ws")
    house.ran("post_engagement", state=RunState.RUNNING)
    house.ran("post_events")
    first = do(house.face, Take("post_engagement"))
    do(house.face, Fork(savepoint=first.id, name="post_engagement_split"))
    lay_checkpoint("rocksdb", root / "clicks")
    do(house.face, Attach(name="clicks", checkpoints={"counts": str(root / "clicks")}))
    do(house.face, Export(first.id, str(root / "exported")))
    verifying = house.face.begin(Verify(first.id))
    house.face.answer(verifying)
    assert verifying.operation is not None
    with serving(house.face) as url, httpx.Client(base_url=f"{url}/api", trust_env=False, timeout=60) as http:
        yield Refusing(http, {"first": first.id, "ended": verifying.operation.id, "exported": str(root / "exported")})
    house.face.close()


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSALS)
def test_a_refusal_says_code_and_hint(refusing: Refusing, method: str, path: str, body: Any, status: int, code: str) -> None:
    has_body = method in ("POST", "PUT", "PATCH")
    answer = refusing.http.request(method, refusing.named(path), json=refusing.named({} if body is None else body) if has_body else None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert answer.json()["error"]["hint"]
