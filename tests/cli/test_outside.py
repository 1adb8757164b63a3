"""A job that runs elsewhere, from end to end over the command line and the real workspace: real checkpoints, no Spark."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pipelines.cli.start import app_of
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket
from tests.savepoint.golden import lay_checkpoint

Shell = Callable[..., Result]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The checkpoint of a job that somebody else runs."""
    return lay_checkpoint("rocksdb_format2", tmp_path / "lake" / "counts")


@pytest.fixture
def tidemark(tmp_path: Path) -> Shell:
    return shell(tmp_path / "workspace")


@pytest.fixture
def attached(tidemark: Shell, lake: Path) -> Shell:
    """A workspace with the job `clicks`, attached."""
    assert tidemark("attach", "clicks", lake, "--query", "counts").exit_code == 0
    return tidemark


def shell(workspace: Path) -> Shell:
    def tidemark(*words: str | Path) -> Result:
        typed = [*map(str, words), "--workspace", str(workspace)]
        return CliRunner().invoke(app_of(typed), typed)

    return tidemark


def json_answer(tidemark: Shell, *words: str | Path, code: int = 0) -> Any:
    done = tidemark(*words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_attached_job_is_watched_and_left_alone(attached: Shell, lake: Path) -> None:
    before = files(lake)
    row = attached("list").stdout.splitlines()[1].split()
    assert row[:3] == ["clicks", "watched", "13"]
    assert [batch["batch"] for batch in json_answer(attached, "batches", "clicks", "--retained")][-1] == 13
    assert attached("stop", "clicks").exit_code == 5
    assert attached("resume", "clicks").exit_code == 5
    assert attached("attach", "again", lake).exit_code == 4
    assert attached("attach", "nothing", lake.parent / "none").exit_code == 3
    assert files(lake) == before


@pytest.mark.parametrize("words", [("list",), ("show", "clicks"), ("stop", "clicks"), ("catalog", "rebuild"), ("address",)])
def test_what_is_asked_where_there_is_no_workspace_makes_none(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("missing", "empty"):
        error = json.loads(shell(tmp_path / place)(*words, "--json").stderr)["error"]
        assert (error["group"], error["code"]) == ("not_found", "workspace.not_found") and str(tmp_path / place) in error["message"]
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_what_sets_a_workspace_up_makes_it_and_its_dry_run_does_not(tidemark: Shell, tmp_path: Path) -> None:
    assert json_answer(tidemark, "token", "create", "ci", "--role", "viewer", "--dry-run")["name"] == "ci"
    assert not (tmp_path / "workspace").exists()
    assert tidemark("token", "create", "ci", "--role", "viewer").exit_code == 0
    assert (tmp_path / "workspace" / "workspace.json").exists() and json_answer(tidemark, "list") == []


def test_a_savepoint_of_it_is_verified_and_shown(attached: Shell) -> None:
    done = attached("savepoint", "clicks", "--batch", "12")
    path = Path(done.stdout.rstrip("\n"))
    assert (done.exit_code, path.is_dir()) == (0, True)
    verification = json_answer(attached, "verify", path)
    assert (verification["savepoint"], verification["reached"], verification["diagnosis"]) == (path.name, "intact", [])
    shown = json_answer(attached, "show", path.name)
    assert shown["queries"][0]["batch"] == 12
    assert shown["levels"].keys() == {"complete", "intact"} == shown["verification"]["levels"].keys()


@pytest.mark.parametrize("name", ["elsewhere", "elsewhere.tar.zst"])
def test_it_goes_to_another_workspace_and_is_the_same_there(attached: Shell, lake: Path, tmp_path: Path, name: str) -> None:
    taken = json_answer(attached, "savepoint", "clicks", "--label", "before ads")
    target = tmp_path / "archive" / name
    plan = json_answer(attached, "export", taken["id"], target, "--dry-run")
    assert (plan["archive"], plan["bytes"], target.exists()) == (name.endswith(".zst"), taken["bytes"], False)
    done = attached("export", taken["id"], target, "--then-dispose")
    assert (done.exit_code, done.stdout) == (0, f"{target}\n")
    assert json_answer(attached, "savepoints") == []
    shutil.rmtree(lake)
    there = shell(tmp_path / "another")
    assert there("import", target).stdout == f"{taken['id']}\n"
    brought = json_answer(there, "show", taken["id"])
    assert [brought[field] for field in ("job", "label", "files", "bytes")] == ["clicks", "before ads", taken["files"], taken["bytes"]]
    assert json_answer(there, "verify", taken["id"])["reached"] == "intact"
    again = there("import", target)
    assert (again.exit_code, again.stdout) == (4, "")
    kinds = [(operation["kind"], operation["state"]) for operation in json_answer(there, "operations")]
    assert kinds == [("import", "failed"), ("verify", "done"), ("import", "done")]


def test_a_savepoint_is_taken_to_a_url(attached: Shell, tmp_path: Path) -> None:
    done = attached("savepoint", "clicks", "--to", tmp_path / "archive")
    path = Path(done.stdout.rstrip("\n"))
    assert (done.exit_code, path.parent) == (0, tmp_path / "archive")
    assert json_answer(attached, "savepoints") == []
    assert attached("import", path).stdout == f"{path.name}\n"


def test_sizes_count_what_is_shared_once(attached: Shell, lake: Path) -> None:
    for batch in ("12", "13"):
        assert attached("savepoint", "clicks", "--batch", batch).exit_code == 0
    space = json_answer(attached, "savepoints", "clicks", "--sizes")
    assert len(space["savepoints"]) == 2
    assert 0 < space["shared_bytes"] < space["disk_bytes"] < space["full_bytes"]
    held = space["frees_bytes"]
    shutil.rmtree(lake)
    alone = json_answer(attached, "savepoints", "clicks", "--sizes")
    assert alone["frees_bytes"] == alone["disk_bytes"] > held
    assert attached("savepoints", "--sizes").stdout.splitlines()[-1].startswith("together on disk")


def test_the_doctor_finds_what_is_missing_and_what_can_still_be_restored(attached: Shell, lake: Path) -> None:
    taken = json_answer(attached, "savepoint", "clicks")
    assert attached("verify", "clicks").exit_code == 0
    (lake / "offsets" / "13").unlink()
    for subject in ("clicks", lake):
        (diagnosis,) = json_answer(attached, "verify", subject, code=7)
        assert [finding["damage"]["kind"] for finding in diagnosis["findings"]] == ["missing"]
        assert diagnosis["findings"][0]["damage"]["path"] == "offsets/13" and 13 in diagnosis["findings"][0]["batches"]
        assert diagnosis["restorable"][-1] == 12
    text = attached("verify", "clicks")
    assert text.exit_code == 7 and "can be restored   batches " in text.stdout and "–12\n" in text.stdout
    assert json_answer(attached, "verify", taken["id"])["reached"] == "intact"


def test_a_damaged_savepoint_says_what_is_damaged(attached: Shell) -> None:
    path = Path(attached("savepoint", "clicks").stdout.rstrip("\n"))
    assert attached("verify", path).exit_code == 0
    victim = next(path.rglob("offsets/13"))
    data = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    done = attached("verify", path)
    assert done.exit_code == 7
    assert "offsets/13" in done.stdout and "damaged file" in done.stderr
    assert "damaged" in attached("savepoints").stdout.splitlines()[1].split()


def test_a_fork_of_it_is_planned_with_the_code_it_was_attached_with(tidemark: Shell, lake: Path, tmp_path: Path) -> None:
    script = tmp_path / "counts.py"
    script.write_text("print('counts')\n")
    assert tidemark("attach", "clicks", lake, "--query", "counts", "--code", script).exit_code == 0
    taken = json_answer(tidemark, "savepoint", "clicks")
    plan = json_answer(tidemark, "fork", taken["id"], "--name", "mine", "--dry-run")
    assert (plan["job"], plan["savepoint"], plan["keeps_query_id"]) == ("mine", taken["id"], False)
    assert len(json_answer(tidemark, "list")) == 1


@pytest.mark.parametrize("command", ["export", "import", "verify"])
def test_who_leaves_cancels_and_nothing_is_left(attached: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    taken, there = json_answer(attached, "savepoint", "clicks"), shell(tmp_path / "another")
    exported, again = tmp_path / "archive" / "one.tar.zst", tmp_path / "archive" / "again"
    assert attached("export", taken["id"], exported).exit_code == 0
    open_workspace(tmp_path / "another").close()
    assert json_answer(there, "savepoints") == []
    before = files(tmp_path / "archive")
    monkeypatch.setattr(Ticket, "advance", _until_its_end_is_asked_for)
    monkeypatch.setattr("pipelines.cli.session._sleep", _interrupted_once())
    runs: dict[str, tuple[Any, ...]] = {
        "export": (attached, "export", taken["id"], again),
        "import": (there, "import", exported),
        "verify": (attached, "verify", taken["id"]),
    }
    used, *words = runs[command]
    done = used(*words)
    assert (done.exit_code, done.stdout) == (130, "")
    assert f"the {command} was cancelled\n" in done.stderr
    monkeypatch.undo()
    assert files(tmp_path / "archive") == before
    newest = json_answer(used, "operations")[0]
    assert (newest["kind"], newest["state"]) == (command, "cancelled")
    assert [savepoint["id"] for savepoint in json_answer(there, "savepoints")] == []
    assert [name for name in files(tmp_path / "another") if name.startswith(("savepoints/", "exports/"))] == []
    assert json_answer(attached, "verify", taken["id"])["reached"] == "intact"


def _until_its_end_is_asked_for(ticket: Ticket, done: int) -> None:
    """An amount that is never done: the work stands here until somebody cancels it."""
    ticket._ending.wait()
    ticket.check()


def _interrupted_once() -> Callable[[float], None]:
    """A pause during which Ctrl-C is pressed, the first time."""
    pauses = iter([lambda seconds: signal.raise_signal(signal.SIGINT)])
    return lambda seconds: next(pauses, time.sleep)(seconds)
