"""Class data sharing: Spark starts from the archive, without a word; whatever is wrong with an archive, Spark starts."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.sandbox import classes
from pipelines.sandbox.java import JavaHome, java_home
from tests.sandbox.interpreters import interpreter, keeping
from tests.waiting import until

JAVA = JavaHome(Path("/opt/java"), "17.0.1", packaged=False)
START = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("rows", spark.range(5).count(), spark._jvm.System.getProperty("mine"))
"""
CONFS = "--conf spark.driver.extraJavaOptions=-Dmine=kept --conf spark.ui.showConsoleProgress=false pyspark-shell"
SHARED = "shared objects file (top)"


@pytest.fixture
def made() -> Path:
    """The archive that tests start Spark with; asked for before `cache`."""
    archive = classes.find(java_home(), "")
    assert archive is not None
    return archive


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache #1 (ä)"))
    return classes.cache_folder()


def options(python: str, present: str = "") -> str:
    return classes.submit_options(JAVA, python, {classes.SUBMIT_OPTIONS: present})


def test_an_archive_is_made_once_and_is_the_users_alone(cache: Path, tmp_path: Path) -> None:
    python = interpreter(tmp_path, f"echo run >> {tmp_path}/runs; {keeping('classes')}")
    assert options(python, "-Dmine") == "-Dmine"
    classes.make(JAVA, python)
    classes.make(JAVA, python)
    assert (tmp_path / "runs").read_text() == "run\n"
    archive = classes.find(JAVA, python)
    assert archive is not None and archive.read_text() == "classes"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (cache, archive)} == {0o700, 0o600}
    assert options(python, "-Dmine") == f'"-XX:SharedArchiveFile={archive}" {classes.CHECKED} -Dmine'
    assert sorted(path.suffix for path in cache.iterdir()) == ["", ".jsa"], "nothing else is left"


def test_another_java_or_other_jars_have_another_archive(cache: Path, tmp_path: Path) -> None:
    python = interpreter(tmp_path, keeping("classes"))
    classes.make(JAVA, python)
    assert classes.find(JavaHome(JAVA.path, "17.0.2", packaged=False), python) is None
    os.utime(tmp_path / "pyspark" / "jars", (1, 1))
    assert classes.find(JAVA, python) is None


def test_an_archive_of_another_size_or_that_others_can_write_is_not_used(cache: Path, tmp_path: Path) -> None:
    python = interpreter(tmp_path, keeping("classes"))
    classes.make(JAVA, python)
    archive = classes.find(JAVA, python)
    assert archive is not None
    cache.chmod(0o770)
    assert options(python) == ""
    cache.chmod(0o700)
    archive.write_text("class")
    assert options(python) == ""


@pytest.mark.parametrize(("first_run", "tried_again"), [(":", False), ("exit 1", True)], ids=["keeps nothing", "fails"])
def test_a_java_that_keeps_no_classes_is_asked_once(cache: Path, tmp_path: Path, first_run: str, tried_again: bool) -> None:
    python = interpreter(tmp_path, f"echo run >> {tmp_path}/runs; {first_run}")
    classes.make(JAVA, python)
    classes.make(JAVA, python)
    assert (tmp_path / "runs").read_text().count("run") == 1 + tried_again
    assert options(python, "-Dmine") == "-Dmine"


def test_an_archive_of_the_users_own_stays(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = interpreter(tmp_path, keeping("classes"))
    monkeypatch.setenv(classes.SUBMIT_OPTIONS, "-XX:SharedArchiveFile=own.jsa")
    assert classes.make_beside(JAVA, python) is None
    classes.make(JAVA, python)
    assert options(python, "-XX:SharedArchiveFile=own.jsa") == "-XX:SharedArchiveFile=own.jsa"


def test_an_archive_of_ours_gives_way_to_that_of_the_spark_which_is_started(cache: Path, tmp_path: Path) -> None:
    pythons = [interpreter(tmp_path / name, keeping("classes")) for name in ("one", "other")]
    for python in pythons:
        classes.make(JAVA, python)
    first, other = (options(python, "-Dmine") for python in pythons)
    assert first != other and options(pythons[1], first) == other
    assert options(str(tmp_path / "absent"), first) == "-Dmine"


def test_those_that_were_used_last_stay(cache: Path, tmp_path: Path) -> None:
    pythons = [interpreter(tmp_path / str(number), keeping("classes")) for number in range(classes.KEPT + 1)]
    for number, python in enumerate(pythons[:-1]):
        classes.make(JAVA, python)
        archive = classes.find(JAVA, python)
        assert archive is not None
        os.utime(archive, (number + 1,) * 2)
    assert options(pythons[0])
    classes.make(JAVA, pythons[-1])
    assert [bool(options(python)) for python in pythons] == [True, False, *[True] * (classes.KEPT - 1)]


def test_one_that_is_made_keeps_nobody_waiting_for_another(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(classes.SUBMIT_OPTIONS, raising=False)
    slow = interpreter(tmp_path / "slow", f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/over ]; do sleep 0.01; done")
    maker = classes.make_beside(JAVA, slow)
    assert maker is not None
    until((tmp_path / "begun").exists)
    other = interpreter(tmp_path / "other", keeping("classes"))
    classes.make(JAVA, other)
    assert classes.find(JAVA, other) is not None and maker.poll() is None
    (tmp_path / "over").touch()
    assert maker.wait(60) == 0


@pytest.mark.parametrize("name", classes.CLASS_PATH)
def test_a_folder_with_files_on_the_class_path_ends_what_an_archive_is_for(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Java archives none that has one, and takes one whose class path goes on with one; before Spark's jars it leaves nothing of it."""
    for each in classes.CLASS_PATH:
        monkeypatch.delenv(each, raising=False)
    folder = tmp_path / "conf"
    folder.mkdir()
    python = interpreter(tmp_path, f"env >> {tmp_path}/environ; {keeping('classes')}")
    classes.make(JAVA, python)
    plain = classes.find(JAVA, python)
    (folder / "core-site.xml").touch()
    monkeypatch.setenv(name, str(folder))
    assert classes.find(JAVA, python) == (None if name == "SPARK_CONF_DIR" else plain)
    classes.make(JAVA, python)
    os.utime(tmp_path / "pyspark" / "jars", (1, 1))
    classes.make(JAVA, python)
    assert f"{name}=" not in (tmp_path / "environ").read_text()


def test_an_interpreter_without_spark_or_a_cache_that_cannot_be_is_no_failure(cache: Path, tmp_path: Path) -> None:
    assert options(str(tmp_path / "absent")) == ""
    assert classes.make_beside(JAVA, str(tmp_path / "absent")) is None
    cache.parent.parent.write_text("in the way")
    assert options(interpreter(tmp_path)) == ""


def test_it_is_made_beside_by_a_process_of_its_own(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(classes.SUBMIT_OPTIONS, raising=False)
    python = interpreter(tmp_path, keeping("classes"))
    maker = classes.make_beside(JAVA, python)
    assert maker is not None and maker.wait(60) == 0
    assert classes.find(JAVA, python) is not None


def start(submit_options: str, folder: Path) -> str:
    """What a Spark says that is started with these options; which classes it loads from where is in `loaded`."""
    folder.mkdir(exist_ok=True)
    environ = {
        **os.environ,
        classes.SUBMIT_OPTIONS: f"{submit_options} -XX:TieredStopAtLevel=1 -Xlog:class+load:file={folder}/loaded",
        "PYSPARK_SUBMIT_ARGS": CONFS,
    }
    started = subprocess.run([sys.executable, "-c", START], cwd=folder, env=environ, capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    assert "rows 5 kept" in started.stdout
    return "\n".join(line for line in (started.stdout + started.stderr).splitlines() if line.startswith("[") or "archive" in line)


def shared(folder: Path) -> int:
    """How many of Spark's own classes came from the archive."""
    lines = (folder / "loaded").read_text().splitlines()
    return sum("org.apache.spark" in line and SHARED in line for line in lines)


@pytest.mark.spark
def test_spark_starts_from_an_archive_whose_class_path_goes_on_with_a_folder(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hadoop").mkdir()
    (tmp_path / "hadoop" / "core-site.xml").write_text("<configuration/>")
    java_options = classes.submit_options(java_home(), "", {})
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", f"{os.environ['SPARK_DIST_CLASSPATH']}{os.pathsep}{tmp_path}/hadoop")
    assert str(made) in java_options and start(java_options, tmp_path / "shared") == ""
    assert shared(tmp_path / "shared") > 1000


@pytest.mark.spark
def test_spark_starts_from_the_archive_or_without_a_damaged_one_and_says_nothing(made: Path, cache: Path, tmp_path: Path) -> None:
    cache.mkdir(mode=0o700, parents=True)
    archive = Path(shutil.copy(made, cache))
    java_options = classes.submit_options(java_home(), "", {})
    assert str(archive) in java_options
    assert start(java_options, tmp_path / "sound") == ""
    assert shared(tmp_path / "sound") > 1000

    with archive.open("r+b") as file:
        for place in range(1_000_000, archive.stat().st_size, 10_000_000):
            file.seek(place)
            file.write(b"damage")
    assert classes.submit_options(java_home(), "", {}) == java_options
    assert start(java_options, tmp_path / "damaged") == ""
    assert shared(tmp_path / "damaged") == 0
