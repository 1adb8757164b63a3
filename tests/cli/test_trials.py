"""`try`, `state-key` and `input-rows`: rows on stdout, and exit code 6 for code that does not run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.verbs.input_rows import ReadInputRows
from pipelines.verbs.state_key import LookUpKey
from pipelines.verbs.try_code import TryCode
from tests import changes, samples
from tests.cli.doors import Door

SAVEPOINT, JOB = "sp-000000000002", "post_engagement"


def test_it_prints_the_rows_that_would_be_written(tidemark: Door, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = tidemark("try", SAVEPOINT, "--code", str(tmp_path / "a.py"))
    assert done.exit_code == 0, done.output
    rows, meaning = done.stdout.split("\n\n")
    assert "batch 8, 7 rows in, 2 would be written" in rows and rows.split()[-2:] == ["p2", "5"]
    assert meaning.splitlines() == [
        "counts, operator 0 (aggregation): changed meaning",
        "  computes: sum(n) AS views before, count(n) AS views now",
        "  key post=p1: sum is 120 in the savepoint; after the same batch the old code has 131, the new code has 121.",
    ]


def test_code_that_does_not_run_ends_with_6(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = replace(samples.trial(SAVEPOINT, changes.VERSION), queries=(), note="NameError: x", failed=True)  # type: ignore[arg-type]
    monkeypatch.setitem(changes.ANSWERS, TryCode, lambda face, it: failed)  # type: ignore[index]
    done = tidemark("try", SAVEPOINT)
    assert done.exit_code == 6 and "NameError: x" in done.stderr


def test_a_key_is_a_line_of_json_a_row(tidemark: Door) -> None:
    done = tidemark("state-key", JOB, "--key", "post=p1", "--key", "window.start=2027-01-15T08:00:00Z", "--key", "tag", "--key", "a=")
    assert done.exit_code == 0, done.output
    key = {"post": "p1", "window.start": "2027-01-15T08:00:00Z", "tag": None, "a": ""}
    assert json.loads(done.stdout)["key"] == key and "partition 2" in done.stderr and "at batch 9" in done.stderr
    assert tidemark.face.begun == [LookUpKey(JOB, key)]
    assert tidemark("state-key", JOB, "--key", "=p1").exit_code == 2


def test_the_batches_that_changed_a_key_follow_its_rows(tidemark: Door) -> None:
    done = tidemark("state-key", JOB, "--key", "post=p1", "--since", "7")
    assert done.exit_code == 0 and "changed 1 time since batch 7" in done.stderr
    row, change = map(json.loads, done.stdout.splitlines())
    assert (change["batch"], change["change"], change["row"]) == (9, "update", {name: row[name] for name in ("key", "value")})


def test_an_input_row_is_a_line_of_json_with_its_source(tidemark: Door) -> None:
    done = tidemark("input-rows", JOB, "--limit", "1")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"source": "FileStreamSource", "row": {"post": "p1", "value": "seven"}}
    assert "1 row, the batch has more; 1 value cut after 500 characters" in done.stderr
    assert "socket: no rows: It cannot be read again: a socket gives no row twice." in done.stderr
    assert tidemark.face.begun == [ReadInputRows(JOB, 1)]
