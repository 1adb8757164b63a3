"""On YARN: a job runs there, says so, and goes on here with its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.run import RunScript
from tests.cluster import HERE
from tests.hadoop import Yarn
from tests.waiting import until
from tests.workspace import on_masters, on_yarn
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, committed
from tests.workspace.serving import serving
from tests.workspace.standalone import SCRIPT

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_a_job_runs_on_yarn_and_goes_on_here(yarn: Yarn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    yarn.enter(monkeypatch)
    monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
    folder, gate = tmp_path / "in", str(tmp_path / "gate")
    args, conf = (folder.as_uri(), gate, "{output}", "on"), {**on_yarn.conf(), **on_masters.CONF}
    write_files(folder, range(2))
    with serving(tmp_path / "workspace") as server:
        face = server.face
        planned = face.plan(RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=conf, master="yarn"))
        assert len(planned.remarks) == 1 and "a disk that all of them share" in planned.remarks[0]
        do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=conf, master="yarn"))
        until(lambda: committed(server, "a") == 1, 300)
        until(lambda: (seen := face.ask(ShowJob("a")).cluster) is not None and seen.executors == 1, 60)
        seen = face.ask(ShowJob("a")).cluster
        assert seen is not None and (seen.master, seen.deploy_mode) == ("yarn", "client")
        assert seen.link == f"{yarn.web}/cluster/app/{seen.application}"
        assert on_yarn.application(yarn, seen.application)["state"] == "RUNNING"
        saved = server.stop("a", savepoint=True)
        until(lambda: on_yarn.application(yarn, seen.application)["finalStatus"] == "SUCCEEDED", 60)

        write_files(folder, range(2, ALL))
        do(face, Fork(savepoint=saved, name="b", args=(*args[:3], "once"), master="local[2]"))
        until(lambda: server.newest("b").state is RunState.FINISHED or server._fail_if_failed("b"), 300)
        whole = on_masters.undisturbed(spark, folder, tmp_path / "undisturbed")
        before, after = (on_masters.output(spark, server, job) for job in ("a", "b"))
        assert after.windows == whole.windows and sorted(after.keys) == list(range(2, ALL))
        assert {**before.keys, **after.keys} == whole.keys
