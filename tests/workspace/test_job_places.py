"""Where the bytes of a job lie that is run or forked at a home: what is refused at first, and what is left in the end. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.domain import job_places as places
from pipelines.domain.errors import Conflict, TidemarkError, Unsupported
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QUERIES_FILE
from pipelines.storage.addresses import open_storage
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace import job_places
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace.conftest import CODE, House, query_line

PACKAGE = {places.PACKAGES: "org.apache.hadoop:hadoop-aws:3.5.0"}


def script(home: str, conf: Mapping[str, str] = PACKAGE) -> RunScript:
    return RunScript(name="a", script="job.py", code=CODE, args=("--output", "{output}"), conf=conf, home=home)


def test_its_checkpoint_and_its_output_are_planned_in_a_folder_of_its_own(house: House, s3_url: str) -> None:
    plan = house.face.plan(script(f"{s3_url}/home/"))
    assert plan.place == f"{s3_url.replace('s3://', 's3a://')}/home/a-{plan.run}" and plan.output == f"{plan.place}/output"
    run = do(house.face, script(f"{s3_url}/home"))
    spec = house.face.context.files.spec(run.job, run.id)
    assert spec.checkpoints == run.checkpoints and places.place_of(run.checkpoints) == job_places.of_job(house.face.context, run.job)
    assert spec.args == ("--output", spec.output) and spec.output.startswith("s3a://") and spec.warehouse.startswith(str(house.root))


def test_a_job_without_a_home_is_in_the_workspace(house: House) -> None:
    assert house.face.plan(script("")).place == "" and house.face.plan(script("workspace")).place == ""


@pytest.mark.parametrize(
    ("conf", "code"),
    [
        ({}, "home.connector"),
        ({places.JARS: "/nowhere/hadoop-aws-3.5.0.jar"}, "home.connector"),
        ({**PACKAGE, places.ENDPOINT: "http://elsewhere:9000"}, "home.endpoint"),
        ({**PACKAGE, places.ACCESS_KEY: "another"}, "home.credentials"),
    ],
)
def test_what_could_not_begin_there_is_refused_by_the_plan(house: House, s3_url: str, conf: dict[str, str], code: str) -> None:
    with pytest.raises((Unsupported, Conflict)) as found:
        house.face.plan(script(s3_url, conf))
    assert found.value.code == code and "another" not in f"{found.value.message} {found.value.hint}"
    if code == "home.connector":
        assert "org.apache.hadoop:hadoop-aws" in found.value.hint


def test_the_hint_names_the_artifact_of_the_spark_that_will_run_it(house: House, s3_url: str) -> None:
    with pytest.raises(Unsupported) as found:
        house.face.plan(script(s3_url, {}))
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in found.value.hint


def test_only_s3_is_a_home_of_jobs(house: House, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as found:
        house.face.plan(script(str(tmp_path / "disk")))
    assert found.value.code == "home.scheme"
    with pytest.raises(Unsupported) as found:
        house.face.plan(script("webhdfs://there:9870/home"))
    assert found.value.code == "home.scheme"
    with pytest.raises(Unsupported) as found:
        house.face.plan(script("gs://there/home"))
    assert found.value.code == "home.untried"


def test_a_bucket_that_is_not_there_is_told_by_the_plan(house: House, s3_url: str) -> None:
    with pytest.raises(TidemarkError) as found:
        house.face.plan(script("s3://no-such-bucket-here/home"))
    assert found.value.code.startswith("storage.")


def ran(house: House, home: str, name: str = "a") -> Run:
    """A job at `home` with a golden checkpoint and output there."""
    run = do(house.face, script(home))
    laid = house.root.parent / "laid"
    lay_checkpoint("rocksdb_format2", laid / "checkpoint")
    lay_output("rocksdb_format2", laid / "output")
    output = house.face.context.files.spec(run.job, run.id).output
    pairs = ((laid / "checkpoint", f"{run.checkpoints}/counts"), (laid / "output", f"{output}/counts"))
    for folder, url in pairs:
        target = open_storage(url)
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.endswith(".crc"):
                target.write(str(path.relative_to(folder)), relocated(path, laid / "output", f"{output}/counts"))
    house.append(run, QUERIES_FILE, query_line(f"{run.checkpoints}/counts", f"{output}/counts"))
    return run


def relocated(path: Path, old: Path, new: str) -> bytes:
    data = path.read_bytes()
    return data.replace(f"file://{old}".encode(), new.encode()) if path.parent.name == "_spark_metadata" else data


def test_a_savepoint_of_it_lies_at_its_home_and_is_copied_by_the_server(house: House, s3_url: str) -> None:
    ran(house, f"{s3_url}/home")
    taken = do(house.face, Take("a"))
    manifest = house.face.ask(ReadManifest(taken.id))
    assert taken.path == f"{s3_url}/home/{taken.id}" and manifest.how.keys() <= {"server-copy", "written"}, manifest.how


def test_a_fork_says_what_it_costs_there(house: House, s3_url: str) -> None:
    ran(house, f"{s3_url}/home")
    taken = do(house.face, Take("a"))
    there, here = (house.face.plan(Fork(taken.id, name="b", home=home)) for home in (f"{s3_url}/home", ""))
    assert there.how == "server-copy" and there.requests > 2 * there.files and there.checkpoints.startswith("s3a://")
    assert here.how == "copy" and here.requests == 0 and here.checkpoints.startswith(str(house.root))
    assert there.refusal is None and here.refusal is None, (there.sinks, here.sinks)


def test_state_is_not_rewritten_there(house: House, s3_url: str) -> None:
    ran(house, f"{s3_url}/home")
    taken = do(house.face, Take("a"))
    refused = house.face.plan(Fork(taken.id, name="b", home=f"{s3_url}/home", partitions=4)).refusal
    assert refused is not None and refused.code == "home.rewriting"


def test_forgetting_it_removes_its_bytes_and_keeps_its_savepoints(house: House, s3_url: str) -> None:
    run = ran(house, f"{s3_url}/home")
    house.see(run, run.state.STOPPED)
    place = job_places.of_job(house.face.context, run.job)
    assert list(open_storage(place).list())
    do(house.face, Forget("a"))
    assert not list(open_storage(place).list())


def test_what_a_crash_left_of_a_beginning_is_removed_at_the_next_opening(house: House, s3_url: str) -> None:
    run = ran(house, f"{s3_url}/home")
    place = job_places.of_job(house.face.context, run.job)
    house.face.layout.wanted_file(run.job).unlink()
    (house.folder(run) / QUERIES_FILE).unlink()
    house.reopen()
    assert house.face.context.files.job(run.job) is None and not list(open_storage(place).list())


def test_a_folder_at_a_home_is_unlike_any_other() -> None:
    one, other = (places.at("s3://bucket/home/", JobName("a"), RunId(run)) for run in ("r-1", "r-2"))
    assert one == "s3a://bucket/home/a-r-1" != other and places.place_of(places.checkpoints(one, RunId("r-1"))) == one
    assert places.place_of("/workspace/jobs/a/checkpoints/r-1") == ""
