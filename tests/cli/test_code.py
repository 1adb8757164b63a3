"""The code of a run as it is typed: what comes with a script, what is given by hand, what spark-submit's options become, and projects."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import AlreadyExists
from pipelines.verbs.attach import Attach
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.upgrade import Upgrade
from tests.cli.doors import Door

FIRST = "sp-000000000002"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A script with a module and a file that nothing names."""
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "other.csv").write_text("a\n")
    path = tmp_path / "job.py"
    path.write_text("import helper\nHERE = __file__\n")
    return path


def asked(tidemark: Door, *words: str | Path) -> Any:
    done = tidemark(*words)
    assert done.exit_code == 0, done.output
    return tidemark.face.begun[-1]


def test_modules_come_along_and_it_says_so(tidemark: Door, job: Path) -> None:
    done = tidemark("run", job)
    (run,) = tidemark.face.begun
    assert isinstance(run, RunScript) and run.files == {"helper.py": "x = 1\n"}
    assert "job.py takes along helper.py" in done.stderr and "leaves other.csv" in done.stderr


def test_narration_beside_json_is_json(tidemark: Door, job: Path) -> None:
    told = [json.loads(line) for line in tidemark("run", job, "--json").stderr.splitlines()]
    assert [list(line) for line in told] == [["note"], ["note"]] and "helper.py" in told[0]["note"]
    tidemark.face.refuses(RunScript, AlreadyExists("job.exists", "There is a job job already"))
    assert list(json.loads(tidemark("run", job, "--json").stderr.splitlines()[-1])) == ["error"]
    assert tidemark("run", job).stderr.splitlines()[0].startswith("job.py takes along")


def test_arguments_that_only_this_folder_makes_a_path_are_named(tidemark: Door, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job.parent)
    done = tidemark("run", job, "--", "other.csv", "--in=other.csv", "latest", str(job), "x" * 5_000, "")
    told = [line for line in done.stderr.splitlines() if "folder of its own" in line]
    assert done.exit_code == 0 and [line.split()[0] for line in told] == ["other.csv", "--in=other.csv"]
    assert all(line.endswith(f"give {job.with_name('other.csv')}") for line in told)
    along = tidemark("run", job, "--file", job.with_name("other.csv"), "--", "other.csv")
    assert along.exit_code == 0 and along.stderr.endswith("give {code}/other.csv\n"), along.stderr


def test_a_file_is_given_by_hand(tidemark: Door, job: Path) -> None:
    other = job.with_name("other.csv")
    run = asked(tidemark, "run", job, "--file", other, "--file", f"data/b.csv={other}", "--file", f"helper.py={other}")
    assert run.files == {"helper.py": "a\n", "other.csv": "a\n", "data/b.csv": "a\n"}
    assert tidemark("run", job, "--file", "gone.csv").exit_code == 3


@pytest.mark.parametrize(
    "words", [("run", "job.py"), ("fork", FIRST, "--name", "b"), ("resume", "post_events")], ids=lambda words: words[0]
)
def test_requirements_are_the_text_of_their_file(
    tidemark: Door, job: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.parent)
    Path("requirements.txt").write_text("tiny==1.0\n")
    assert asked(tidemark, *words, "--requirements", "requirements.txt").requirements == "tiny==1.0\n"
    Path("others.txt").write_text("-r requirements.txt\n./lib.whl\n")
    Path("lib.whl").write_text("lib")
    named = asked(tidemark, *words, "--requirements", "others.txt")
    assert (named.requirements, named.files["lib.whl"]) == ("tiny==1.0\n{code}/lib.whl\n", "lib")
    assert asked(tidemark, *words).requirements is None
    assert tidemark(*words, "--requirements", "gone.txt").exit_code == 2


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("fork", FIRST, "--name", "b"), Fork),
        (("resume", "post_events"), Resume),
        (("upgrade", "post_events"), Upgrade),
        (("attach", "far", "s3://lake/c"), Attach),
    ],
    ids=lambda part: part[0] if isinstance(part, tuple) else "",
)
def test_changed_code_comes_with_its_modules(tidemark: Door, job: Path, words: tuple[str, ...], kind: type) -> None:
    change = asked(tidemark, *words, "--code", job, "--file", "old.py=")
    assert isinstance(change, kind) and (change.code, change.files) == (job.read_text(), {"helper.py": "x = 1\n", "old.py": None})  # type: ignore[attr-defined]


def test_a_file_changes_without_the_script(tidemark: Door, job: Path) -> None:
    fork = asked(tidemark, "fork", FIRST, "--name", "b", "--file", job.with_name("helper.py"))
    assert (fork.code, fork.script, fork.files) == (None, None, {"helper.py": "x = 1\n"})


def test_a_variant_comes_with_its_modules(tidemark: Door, job: Path) -> None:
    started = asked(tidemark, "experiment", FIRST, "--name", "x", "--variant", f"b={job}", "--variant", "c")
    assert isinstance(started, StartExperiment)
    assert [variant.files for variant in started.variants] == [{"helper.py": "x = 1\n"}, None]


def test_options_of_spark_submit_become_files_and_confs(tidemark: Door, job: Path, tmp_path: Path) -> None:
    (tmp_path / "lib.zip").write_bytes(b"PK\xff")
    (tmp_path / "large.jar").write_bytes(bytes(3_000_001))
    csv, large = job.with_name("other.csv"), tmp_path / "large.jar"
    shipped = ("--py-files", f"{tmp_path / 'lib.zip'},s3://b/x.py", "--files", csv, "--jars", f"{large},{csv}", "--packages", "g:a:1,g:b:2")
    run = asked(tidemark, "run", job, "--conf", "k=v", *shipped)
    assert run.conf == {
        "k": "v",
        "spark.submit.pyFiles": "{code}/lib.zip,s3://b/x.py",
        "spark.files": "{code}/other.csv",
        "spark.jars": f"{large},{{code}}/other.csv",
        "spark.jars.packages": "g:a:1,g:b:2",
    }
    assert run.files == {"helper.py": "x = 1\n", "other.csv": "a\n", "lib.zip": "data:;base64,UEv/"}
    assert run.outside == {str(large): hashlib.sha256(large.read_bytes()).hexdigest()}
    run = asked(tidemark, "run", job, "--name", "b", "--archives", f"{large}#environment,{csv}#small")
    assert run.conf == {"spark.archives": f"{large}#environment,{{code}}/other.csv#small"} and list(run.outside) == [str(large)]


PROJECT = {
    "shop/__init__.py": "",
    "shop/job.py": "import shop\n",
    "shop/__main__.py": "import shop\n",
    "shop/names.csv": "a\n",
    "alone.py": "x = 1\n",
    ".git/config": "",
    "venv/lib.py": "",
}
RUNS = {
    "shop.job": ("shop.job.py", 'runpy.run_module("shop.job"', "job"),
    "shop": ("shop.__main__.py", 'runpy.run_module("shop"', "shop"),
    "alone": ("alone.py", "x = 1", "alone"),
}


@pytest.mark.parametrize("module", RUNS)
def test_a_project_is_a_job(tidemark: Door, tmp_path: Path, module: str) -> None:
    for path, text in PROJECT.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    script, code, name = RUNS[module]
    run = asked(tidemark, "run", tmp_path, "-m", module)
    assert (run.script, run.name) == (script, name) and code in run.code
    assert set(run.files) == {path for path in PROJECT if path[:4] not in (".git", "venv")} - {script}
    assert tidemark("run", tmp_path, "-m", "shop.gone").exit_code == 3
    assert "no __main__.py" in tidemark("run", tmp_path).stderr


def test_a_folder_with_an_entry_is_a_job(tidemark: Door, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__main__.py").write_text("x = 1\n")
    run = asked(tidemark, "run", folder)
    assert (run.script, run.code, run.name) == ("__main__.py", "x = 1\n", "shop")


@pytest.mark.parametrize(
    "words", [("run", "job.py"), ("fork", FIRST, "--name", "b"), ("resume", "post_events")], ids=lambda words: words[0]
)
def test_an_event_log_is_a_conf_among_the_others(
    tidemark: Door, job: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.parent)
    conf = asked(tidemark, *words, "--event-log", "--conf", "spark.y=2").conf
    assert {"spark.eventLog.enabled": "true", "spark.y": "2"}.items() <= conf.items()


def test_a_log4j_configuration_beside_a_script_comes_along(tidemark: Door, job: Path) -> None:
    job.with_name("log4j2.xml").write_text("<Configuration/>")
    job.with_name("log4j.properties").write_text("log4j.rootCategory=INFO")
    assert asked(tidemark, "run", job).files == {"helper.py": "x = 1\n", "log4j2.xml": "<Configuration/>"}
