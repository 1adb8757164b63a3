"""Masters: what no Spark understands is refused, the plan names what changes, and one-off work stays beside Tidemark."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid, Unsupported
from pipelines.domain.masters import CLUSTER_FILE, Cluster, beside, is_local
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.words import clusters, formats, plans
from pipelines.workspace import rehearsals
from tests.workspace.conftest import CODE, House

URL = "spark://a:7077,b:7077"


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2,3]", URL, "yarn", "k8s://https://a:443", "local-cluster[2,1,512]"])
def test_masters_of_spark_are_taken(house: House, master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "yarn-site.xml").write_text("<configuration/>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert do(house.face, RunScript(name="a", script="a.py", code=CODE, master=master)).job == "a"


@pytest.mark.parametrize("master", ["mesos://a:5050", "spark://a", "spark://a:7077/", "a:7077", "local[two]", "k8s://", "yarn-cluster"])
def test_any_other_is_refused_before_anything_is_kept(house: House, master: str) -> None:
    with pytest.raises(Invalid) as refused:
        house.face.plan(RunScript(name="a", script="a.py", code=CODE, master=master))
    assert refused.value.code == "master.unknown" and "spark://host:port" in refused.value.hint
    assert house.face.ask(ListJobs()) == []


@pytest.mark.parametrize(
    ("master", "code", "text"), [(URL, "master.deploy_mode", "standalone"), ("k8s://https://a:6443", "master.cluster_mode", "--home")]
)
def test_a_driver_on_a_cluster_that_cannot_be_is_refused(house: House, master: str, code: str, text: str) -> None:
    conf = {"spark.submit.deployMode": "cluster"}
    with pytest.raises(Unsupported) as refused:
        house.face.plan(RunScript(name="a", script="a.py", code=CODE, master=master, conf=conf))
    assert refused.value.code == code and text in f"{refused.value.message} {refused.value.hint}"


def test_another_master_in_the_confs_is_refused(house: House) -> None:
    """A driver passes it over: the option stands before confs, as spark-submit has it."""
    run, conf = RunScript(name="b", script="a.py", code=CODE), {"spark.master": "local[1]"}
    house.ran()
    fork = Fork(savepoint=do(house.face, Take("a")).id, name="c")
    for change in (run, fork):
        with pytest.raises(Invalid) as refused:
            house.face.plan(replace(change, conf=conf))
        assert refused.value.code == "master.conf" and "--master 'local[1]'" in refused.value.hint
        house.face.plan(replace(change, conf=conf, master="local[1]"))


def test_the_plan_of_a_fork_names_another_master_and_what_it_needs(house: House) -> None:
    house.ran()
    saved = do(house.face, Take("a"))
    far = house.face.plan(Fork(savepoint=saved.id, name="b", master=URL))
    assert ("master", f"{URL}, where it was local[2]") in plans.restore(far)
    assert [warning for warning in far.warnings if URL in warning and "a disk that all of them share" in warning]
    near = house.face.plan(Fork(savepoint=saved.id, name="b"))
    assert "master" not in dict(plans.restore(near)) and not [warning for warning in near.warnings if "share" in warning]
    with pytest.raises(Invalid):
        house.face.plan(Fork(savepoint=saved.id, name="b", master="spark:/a:7077"))


def test_one_off_work_stays_here(house: House, tmp_path: Path) -> None:
    masters = (URL, "local[7]", "local", "local[*]", "local[4, 2]", "")
    assert [beside(master) for master in masters] == ["local[2,3]", "local[7,3]", "local[1,3]", "local[*,3]", "local[4, 2]", ""]
    assert is_local("local[*]") and not is_local("local-cluster[1,1,512]")
    house.ran()
    manifest = house.face.ask(ReadManifest(do(house.face, Take("a")).id))
    far = do(house.face, Fork(savepoint=manifest.id, name="b", master=URL))
    frozen = house.face.context.files.version(far.version)
    assert frozen is not None and frozen.master == URL
    spec = rehearsals.scratch_spec(house.face.context, manifest, frozen, tmp_path / "scratch", str(tmp_path))
    assert spec.master == "local[2,3]"


def test_a_job_says_where_it_runs(house: House) -> None:
    run = house.ran()
    assert house.face.ask(ShowJob("a")).cluster is None
    seen = Cluster(URL, "client", "app-20260101000000-0001", 2)
    (house.folder(run) / CLUSTER_FILE).write_text(json.dumps(asdict(seen)))
    assert house.face.ask(ShowJob("a")).cluster == seen
    assert clusters.where(seen) == f"2 executors alive on {URL}, the driver here (client mode)"
    assert clusters.where(Cluster("local[2]", "client", "local-1", 0)) == clusters.HERE
    page = "http://manager:8088/cluster/app/application_1_1"
    assert clusters.application(Cluster("yarn", "client", "application_1_1", 1, page)) == f"application_1_1 {page}"
    assert (clusters.application(seen), clusters.application(None)) == (seen.application, formats.MISSING)
