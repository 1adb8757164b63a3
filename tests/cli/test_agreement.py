"""A dry run and the real thing end alike: what a plan would be refused for is said before anybody relies on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.start import app_of
from pipelines.verbs.face import do
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.workspace import doers
from tests.workspace.conftest import CODE, House


@pytest.mark.parametrize("harm", ["", "queries/counts/checkpoint/offsets/13"])
def test_a_dry_run_ends_as_the_command_does(harm: str, tmp_path: Path) -> None:
    house, script = House(tmp_path / "ws"), tmp_path / "job.py"
    script.write_text(CODE)
    house.ran()
    saved = do(house.face, Take("a"))
    house.face.close()
    if harm:
        (Path(saved.path) / harm).unlink()
    for words in (
        ["fork", saved.id, "--name", "b"],
        ["run", str(script), "--name", "c", "--from", saved.id],
        ["export", saved.id, str(tmp_path / "x")],
    ):
        planned, done = (CliRunner().invoke(app_of(words), [*words, *more, "--workspace", str(house.root)]) for more in (["--dry-run"], []))
        assert planned.exit_code == done.exit_code, (words, planned.stderr, done.stderr)


def test_what_a_server_would_do_later_is_said_where_none_runs_and_a_syntax_error_names_the_file_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, script, broken = House(tmp_path / "ws"), tmp_path / "better.py", tmp_path / "broken.py"
    house.ran()
    house.face.close()
    script.write_text(f"{CODE}\n# better\n")
    broken.write_text("if x\n")

    def told(*words: str) -> str:
        return CliRunner().invoke(app_of(words), [*words, "--workspace", str(house.root)]).stderr

    watched = ("resume", "a", "--code", str(script), "--probation-batches", "3", "--dry-run")
    assert "No server of this workspace runs: the new code's probation is watched once one does" in told(*watched)
    assert "No server" not in told("resume", "a", "--code", str(script), "--dry-run")
    assert "No server of this workspace runs: what is due" in told("schedule", "a", "--every", "1h")
    assert "No server" not in told("schedule", "a", "--off") and "No server" not in told("schedule", "a")
    assert told("resume", "a", "--code", str(broken), "--dry-run").startswith("error: broken.py, line 1: ")
    planned, planner = list[type](), doers.planner
    monkeypatch.setattr(doers, "planner", lambda kind: planned.append(kind) or planner(kind))
    conf = told("resume", "a", "--conf", "spark.sql.shuffle.partitions=9", "--wait")
    assert planned == [Resume], "the plan that is carried out is the one that warns"
    unchecked, partitions, *_ = conf.splitlines()
    assert unchecked.startswith("warning: The code is not checked before it starts: no savepoint stands for the state")
    assert partitions.startswith("warning: the state of counts stays in 2 partitions, whatever spark.sql.shuffle.partitions says (9)")
