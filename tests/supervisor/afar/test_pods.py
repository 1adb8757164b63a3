"""What Kubernetes' API says of a driver's pod, asked by the client of Spark: phases, their reasons, a pod that is gone, an API that is."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import segments
from pipelines.domain.applications import UNANSWERED_FILE, Application, Stage, Unanswered
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.kubernetes import application, pod_name
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import EXIT_FILE, Exit
from pipelines.domain.segments import ORDERS_FILE, SEGMENTS, Orders, Span
from pipelines.sandbox import environment
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.supervisor.afar import starting
from pipelines.supervisor.afar.attendant import APPLICATION_FILE, Attendant, Submitted
from pipelines.supervisor.afar.pods import Pods
from pipelines.supervisor.afar.starting import write
from tests import kubernetes
from tests.waiting import until

RUN = RunId("r-0123456789ab")
NAME = pod_name(RUN)
WAITS = {"waiting": {"reason": "ErrImagePull", "message": "no such image\nat all"}}
ENDED = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
SOON = {f"spark.kubernetes.submission.{name}Timeout": "1000" for name in ("request", "connection")}
EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}


@pytest.mark.parametrize(
    ("status", "stage", "report"),
    [
        ({}, Stage.WAITING, "Pending"),
        ({"phase": "Pending", "containerStatuses": [{"state": WAITS}]}, Stage.WAITING, "Pending; ErrImagePull: no such image"),
        ({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}, Stage.RUNNING, "Running"),
        ({"phase": "Unknown", "reason": "NodeLost"}, Stage.RUNNING, "Unknown; NodeLost"),
        ({"phase": "Succeeded"}, Stage.OVER, "Succeeded"),
        ({"phase": "Failed", "containerStatuses": [{"state": ENDED}]}, Stage.OVER, "Failed; OOMKilled; exit code 137"),
        (EVICTED, Stage.OVER, "Failed; Evicted: low on memory"),
    ],
)
def test_a_phase_is_a_stage(status: Mapping[str, Any], stage: Stage, report: str) -> None:
    assert application(NAME, {"status": status}) == Application(NAME, stage, report)


@pytest.mark.spark
def test_one_that_is_gone_and_an_api_that_does_not_answer(tmp_path: Path, s3_url: str) -> None:
    folder, log = tmp_path / RUN, tmp_path / "pods"
    for made in (folder, log):
        made.mkdir()
    with kubernetes.standing(log) as namespace:
        namespace.full.set()
        place = s3_url.replace("s3://", "s3a://")
        spec = RunSpec(1, RUN, JobName("a"), VersionId("v-1"), "a.py", (), SOON, namespace.master, f"{place}/checkpoints/{RUN}", "")
        write(folder, SPEC_FILE, spec)
        write(folder, APPLICATION_FILE, Submitted(NAME))
        environ = {**os.environ, "PYTHONPATH": str(environment.ROOT)}
        pods = Pods(folder, "", environ)
        assert pods.find(RUN) == []
        namespace.add(NAME)
        assert pods.find(RUN) == [Application(NAME, Stage.WAITING, "Pending")]
        namespace.say(NAME, {"phase": "Running"})
        assert pods.application(NAME) == Application(NAME, Stage.RUNNING, "Running")

        attendant = Attendant(folder, "", environ, lambda: 1)
        thread = threading.Thread(target=attendant.attend, daemon=True)
        thread.start()
        home, silence = open_storage(segments.folder(spec.checkpoints, RUN)), folder / UNANSWERED_FILE
        with namespace.silent():
            until(silence.is_file, 120, what="the run's folder does not say that Kubernetes does not answer")
            assert "Kubernetes" in documents.decode(Unanswered, silence.read_bytes(), UNANSWERED_FILE).message
            attendant.stop()
            until(lambda: Orders.parsed(home.read(ORDERS_FILE).decode()).stop, 60, what="a stop waits for an API that it does not need")
            segment = f"{SEGMENTS}/{Span(1, 1).name}"
            home.write(segment, b"nonsense")
            starting.end(folder, 1)
        thread.join(120)
        exit_ = documents.decode(Exit, (folder / EXIT_FILE).read_bytes(), EXIT_FILE)
        assert exit_.reason == "stopped" and exit_.message.startswith(
            "ended by Kubernetes. Kubernetes does not know the driver any more. Segment "
        )
        assert exit_.message.endswith(f"stays at {home.url}") and home.read(segment) == b"nonsense"
        assert not silence.exists() and NAME not in namespace.pods()
    with pytest.raises(Unavailable) as refused:
        pods.find(RUN)
    assert refused.value.code == "master.kubernetes_away"
    pods.close()
