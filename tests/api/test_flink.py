"""Flink's shapes, with requests as its own client of 2.3 sends them (`tests/long/test_flink_client.py` runs it)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from pipelines.api import flink_shapes
from pipelines.domain.errors import Conflict
from pipelines.domain.ids import RunId, VersionId
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from tests import samples
from tests.faces import FakeFace

JOB = "post_engagement"
ID = flink_shapes.job_id(JOB)
FIRST, NEXT = "sp-000000000002", "sp-000000000100"
HEADERS = {"content-type": "application/json; charset=UTF-8"}


@pytest.fixture
def flink(client: httpx.Client) -> Any:
    """Sends a request as Flink's client does."""

    def send(method: str, path: str, body: str | None = None, status: int = 200) -> Any:
        url = client.base_url.copy_with(path=f"/flink/v1{path.partition('?')[0]}", query=path.partition("?")[2].encode())
        answer = client.request(method, url, content=body, headers=HEADERS)
        assert answer.status_code == status, answer.text
        return answer.json()

    return send


def test_a_job_has_an_id_of_32_hex_digits_made_of_its_name(flink: Any) -> None:
    listed = {job["name"]: job for job in flink("GET", "/jobs/overview")["jobs"]}
    assert listed[JOB]["jid"] == ID and len(ID) == 32 and int(ID, 16) and listed[JOB]["state"] == "RUNNING"
    assert {"start-time", "end-time", "duration", "last-modification"} <= listed[JOB].keys()
    assert listed[JOB]["tasks"].keys() == set(flink_shapes.TASKS)
    assert {"id": ID, "status": "RUNNING"} in flink("GET", "/jobs")["jobs"]
    assert flink("GET", f"/jobs/{ID}")["name"] == JOB and flink("GET", f"/jobs/{ID}/status") == {"status": "RUNNING"}
    assert flink("GET", f"/jobs/{ID}/checkpoints")["latest"]["savepoint"]["external_path"].startswith("/fake/savepoints/sp-")
    assert flink("GET", "/overview")["jobs-running"] == sum(job["state"] == "RUNNING" for job in listed.values())
    assert flink("GET", "/config")["features"]["web-submit"] is False


def knows_the_next(face: FakeFace) -> str:
    """Where the savepoint is that the fake answers with; it lists none that was only begun."""
    taken = samples.savepoint(NEXT, JOB, version=VersionId("v-1"), run=RunId(""))
    face.savepoints_by_id[taken.id] = taken
    return taken.path


def test_a_savepoint_is_triggered_and_polled(flink: Any, face: FakeFace) -> None:
    body = '{"target-directory":null,"cancel-job":false,"formatType":"CANONICAL","triggerId":null}'
    taken = knows_the_next(face)
    asked = flink("POST", f"/jobs/{ID}/savepoints", body, 202)["request-id"]
    status = flink("GET", f"/jobs/{ID}/savepoints/{asked}")
    assert face.begun == [Take(JOB)] and len(asked) == 32 and status == {"status": {"id": "COMPLETED"}, "operation": {"location": taken}}
    elsewhere = flink("POST", f"/jobs/{ID}/savepoints", body.replace("null", '"s3://lake/x"', 1), 202)["request-id"]
    assert flink("GET", f"/jobs/{ID}/savepoints/{elsewhere}")["operation"]["location"].startswith("s3://lake/x")


def test_a_stop_and_a_cancel(flink: Any, face: FakeFace) -> None:
    body = '{"targetDirectory":null,"drain":false,"formatType":"CANONICAL","triggerId":null}'
    taken = knows_the_next(face)
    asked = flink("POST", f"/jobs/{ID}/stop", body, 202)["request-id"]
    assert flink("GET", f"/jobs/{ID}/savepoints/{asked}")["operation"] == {"location": taken}
    assert flink("PATCH", f"/jobs/{ID}?mode=cancel", "{}", 202) == {}
    assert face.begun == [Stop(JOB), Stop(JOB, at_once=True)]
    assert "drained" in flink("POST", f"/jobs/{ID}/stop", body.replace('"drain":false', '"drain":true'), 501)["errors"][0]


@pytest.mark.parametrize("body", ["", "{}", '{"formatType": "NATIVE"}'])
def test_a_body_may_be_left_out(client: httpx.Client, face: FakeFace, body: str) -> None:
    url = client.base_url.copy_with(path=f"/flink/v1/jobs/{ID}/savepoints")
    assert client.post(url, content=body, headers=HEADERS).status_code == 202 and face.begun == [Take(JOB)]


@pytest.mark.parametrize("path", ["savepoints", "stop"])
@pytest.mark.parametrize("body", ["[]", "{", '{"formatType": "AVRO"}'])
def test_a_body_that_flink_would_not_read_is_refused(flink: Any, face: FakeFace, path: str, body: str) -> None:
    assert flink("POST", f"/jobs/{ID}/{path}", body, 400)["errors"] and not face.begun


def test_checkpoints_are_summed_up_and_states_have_their_times(flink: Any) -> None:
    """Flink's own classes refuse an answer without them (`CheckpointingStatistics`, `JobDetailsInfo`)."""
    checkpoints = flink("GET", f"/jobs/{ID}/checkpoints")
    sizes = [checkpoint["state_size"] for checkpoint in checkpoints["history"]]
    summary = checkpoints["summary"]
    assert summary.keys() == set(flink_shapes.SUMMED_UP)
    assert (summary["state_size"]["min"], summary["state_size"]["max"]) == (min(sizes), max(sizes))
    assert summary["state_size"].keys() == {"min", "max", "avg", *flink_shapes.QUANTILES}
    assert flink_shapes.summed_up([])["state_size"]["max"] == 0
    detail = flink("GET", f"/jobs/{ID}")
    assert detail["timestamps"].keys() == set(flink_shapes.STATUSES)
    assert detail["timestamps"]["RUNNING"] == detail["start-time"] and detail["timestamps"]["FAILED"] == 0


def test_a_disposal(flink: Any, face: FakeFace) -> None:
    asked = flink("POST", "/savepoint-disposal", json.dumps({"savepoint-path": FIRST}), 202)["request-id"]
    assert flink("GET", f"/savepoint-disposal/{asked}") == {"status": {"id": "COMPLETED"}, "operation": {}}
    assert face.begun == [Dispose((FIRST,))]


def test_refusals_have_flinks_shape(flink: Any, face: FakeFace) -> None:
    face.refuses(Stop, Conflict("job.not_running", "It does not run", "Resume it."))
    assert flink("PATCH", f"/jobs/{ID}?mode=cancel", "{}", 409) == {"errors": ["It does not run. Resume it. (job.not_running)"]}
    assert flink("GET", f"/jobs/{'0' * 32}", status=404)["errors"]
    for unknown in ("z" * 32, "0" * 32, flink_shapes.trigger("op-x"), flink_shapes.trigger("sp-x"), flink_shapes.trigger("disposed")):
        assert flink("GET", f"/jobs/{ID}/savepoints/{unknown}", status=404)["errors"]
        if unknown != flink_shapes.trigger("disposed"):
            assert flink("GET", f"/savepoint-disposal/{unknown}", status=404)["errors"]
