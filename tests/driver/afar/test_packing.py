"""What travels to a cluster: whole without this machine, with paths of where it was unpacked, and no log that would be written here."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipelines.domain import event_logs
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.afar import packing


def spec(code: Path, *, alone: bool = False) -> RunSpec:
    return RunSpec(
        format=1,
        run=RunId("r-0123456789ab"),
        job=JobName("a"),
        version=VersionId("v-0"),
        script=str(code / "job.py"),
        args=(f"{code}/table.csv", "s3a://lake/out"),
        conf={event_logs.ENABLED: "true", event_logs.DIRECTORY: (code / "events").as_uri(), "spark.app.name": "a"},
        master="yarn",
        checkpoints="s3a://lake/home/a-r-0123456789ab/checkpoints/r-0123456789ab",
        output="s3a://lake/out",
        code="" if alone else str(code),
        outside={"/here/model.bin": "0" * 64},
        warehouse="/here/warehouse",
    )


@pytest.fixture
def unpacked(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    code = tmp_path / "code"
    (code / "lib").mkdir(parents=True)
    for name in ("job.py", "lib/helper.py", "table.csv"):
        (code / name).write_text("pass\n")
    archive, there = packing.pack(spec(code, alone=request.param), tmp_path), tmp_path / "container" / packing.UNPACKED
    with zipfile.ZipFile(archive) as file:
        file.extractall(there)
    return there


@pytest.mark.parametrize("unpacked", [False], indirect=True)
def test_paths_are_those_of_where_it_was_unpacked(unpacked: Path) -> None:
    there = packing.unpacked(unpacked)
    assert Path(there.script) == unpacked / "code" / "job.py" and Path(there.script).is_file()
    assert Path(there.code, "lib", "helper.py").is_file() and Path(there.args[0]).is_file() and there.args[1] == "s3a://lake/out"
    assert not there.outside and not there.warehouse
    assert event_logs.ENABLED not in there.conf and there.conf["spark.app.name"] == "a"


@pytest.mark.parametrize("unpacked", [True], indirect=True)
def test_of_a_script_that_is_alone_its_neighbours_stay(unpacked: Path) -> None:
    there = packing.unpacked(unpacked)
    assert Path(there.script).is_file() and not there.code
    assert [path.name for path in (unpacked / packing.CODE).rglob("*")] == ["job.py"]


@pytest.mark.parametrize("unpacked", [True], indirect=True)
def test_the_driver_is_whole_without_this_machine(unpacked: Path, tmp_path: Path) -> None:
    code = "import sys; sys.path.insert(0, 'tidemark'); import pipelines.driver.afar.entry as entry; print(entry.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=unpacked.parent, env={}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert Path(unpacked.parent, ran.stdout.strip()).resolve().is_relative_to(unpacked.resolve())
