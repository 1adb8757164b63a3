"""Hadoop's configuration: YARN is found before a job begins, and the workspace's paths are local whatever Hadoop's default is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain import hadoop_conf
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.domain.hadoop_conf import LOCAL_CONF
from pipelines.domain.masters import UPLOADED
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.workspace import hadoop, run_confs
from tests.workspace.conftest import CODE, House

CORE = "<configuration><property><name>{}</name><value> {} </value></property></configuration>"
DEFAULT, AWAY = "fs.defaultFS", "hdfs://namenode:8020"
JARS = {"spark.yarn.jars": "hdfs:///spark/*.jar"}


@pytest.fixture(autouse=True)
def nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in hadoop_conf.FOLDERS:
        monkeypatch.delenv(name, raising=False)


def configured(folder: Path, core: str = "", yarn: bool = False) -> str:
    """A folder of Hadoop's configuration."""
    folder.mkdir()
    if core:
        (folder / hadoop_conf.CORE_SITE).write_text(core)
    if yarn:
        (folder / hadoop_conf.YARN_SITE).write_text("<configuration/>")
    return str(folder)


def on_yarn(**conf: str) -> RunScript:
    return RunScript(name="a", script="a.py", code=CODE, master="yarn", conf=conf)


def test_yarn_is_refused_where_nothing_says_where_it_is(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable) as refused:
        house.face.plan(on_yarn())
    assert refused.value.code == "master.yarn" and "HADOOP_CONF_DIR nor YARN_CONF_DIR" in refused.value.message
    assert "Start the server with HADOOP_CONF_DIR" in refused.value.hint
    monkeypatch.setenv("HADOOP_CONF_DIR", configured(tmp_path / "hdfs", CORE.format(DEFAULT, AWAY)))
    with pytest.raises(Unavailable) as refused:
        house.face.plan(on_yarn())
    assert refused.value.code == "master.yarn" and f"no yarn-site.xml in {tmp_path / 'hdfs'}" in refused.value.message
    assert house.face.ask(ListJobs()) == []
    assert house.face.plan(on_yarn(**{"spark.hadoop.yarn.resourcemanager.address": "manager:8032"})).master == "yarn"
    monkeypatch.setenv("YARN_CONF_DIR", configured(tmp_path / "yarn", yarn=True))
    assert house.face.plan(on_yarn()).master == "yarn"


def test_a_fork_to_yarn_is_refused_alike(house: House) -> None:
    house.ran()
    with pytest.raises(Unavailable, match="where YARN is"):
        house.face.plan(Fork(savepoint=do(house.face, Take("a")).id, name="b", master="yarn"))


def test_the_plan_says_what_is_shared_and_what_each_start_costs(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", configured(tmp_path / "conf", yarn=True))
    shared, uploaded = house.face.plan(on_yarn()).remarks
    assert "must be on a disk that all of them share" in shared and uploaded == UPLOADED
    assert house.face.plan(on_yarn(**JARS)).remarks == (shared,)
    assert house.face.plan(RunScript(name="a", script="a.py", code=CODE)).remarks == ()


@pytest.mark.parametrize(
    ("core", "conf", "default"),
    [
        ("", {}, "file:///"),
        (CORE.format(DEFAULT, AWAY), {}, AWAY),
        (CORE.format("fs.default.name", AWAY), {}, AWAY),
        (CORE.format(DEFAULT, AWAY), {"spark.hadoop.fs.defaultFS": "file:///"}, "file:///"),
        ("", {"spark.hadoop.fs.defaultFS": AWAY}, AWAY),
        (CORE.format("io.file.buffer.size", "4096"), {}, "file:///"),
    ],
    ids=["nothing", "a file", "its older name", "a conf before it", "a conf", "another setting"],
)
def test_the_default_is_that_of_hadoop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, core: str, conf: dict[str, str], default: str
) -> None:
    monkeypatch.setenv("YARN_CONF_DIR", configured(tmp_path / "conf", core))
    assert hadoop.default_fs(conf) == default


def test_the_first_folder_that_says_it_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARN_CONF_DIR", configured(tmp_path / "yarn", CORE.format(DEFAULT, "hdfs://other")))
    monkeypatch.setenv("HADOOP_CONF_DIR", configured(tmp_path / "hadoop"))
    assert hadoop.default_fs({}) == "hdfs://other"
    (tmp_path / "hadoop" / "core-site.xml").write_text(CORE.format(DEFAULT, AWAY))
    assert hadoop.default_fs({}) == AWAY


def test_a_configuration_that_hadoop_cannot_read_is_refused(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", configured(tmp_path / "conf", "<configuration>"))
    with pytest.raises(Invalid) as refused:
        house.face.plan(RunScript(name="a", script="a.py", code=CODE))
    assert refused.value.code == "hadoop.conf" and str(tmp_path / "conf" / "core-site.xml") in refused.value.message


def test_output_and_state_stay_on_this_machine(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = house.begin("here")
    monkeypatch.setenv("HADOOP_CONF_DIR", configured(tmp_path / "conf", CORE.format(DEFAULT, AWAY)))
    away, files = house.begin("away"), house.face.context.files
    output = house.face.layout.output(away.job)
    assert files.spec(here.job, here.id).args[-1] == str(house.face.layout.output(here.job))
    spec, version = files.spec(away.job, away.id), files.version(away.version)
    assert spec.args[-1] == f"file://{output}" and spec.output == str(output)
    assert version is not None and run_confs.confs(house.face.context, version) == LOCAL_CONF
    assert hadoop_conf.located(spec.checkpoints, AWAY) == f"file:{spec.checkpoints}"
    assert hadoop_conf.located("s3a://bucket/x", AWAY) == "s3a://bucket/x" and hadoop_conf.located("/x", "file:///") == "/x"
