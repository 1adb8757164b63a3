"""Savepoints never expire, also not by an upgrade of Tidemark: each golden workspace opens, and all in it is as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import frozen
from tests.golden.frozen import Tidemark
from tests.places import odd
from tests.waiting import until

NUMBERS = sorted(folder.name for folder in frozen.FOLDER.iterdir())
EXPORTS = sorted((place.parents[1].name, place.name) for place in frozen.FOLDER.glob("*/exported/*"))
FORKS = [("1", "counts", ["--available-now"]), ("1", "stores", []), ("2", "minutes", [])]
"""What a fork of each shows that the others do not: the HDFS-backed store, each way of RocksDB, several files with a table."""


@pytest.fixture(params=NUMBERS)
def number(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tidemark(number: str, tmp_path: Path) -> Tidemark:
    return frozen.copied(number, odd(tmp_path) / "moved")


def without_catalog(tidemark: Tidemark) -> None:
    tidemark.catalog.unlink()


def as_it_is(tidemark: Tidemark) -> None:
    assert tidemark.catalog.is_file()


@pytest.mark.parametrize("prepare", [as_it_is, without_catalog])
def test_everything_is_listed_as_it_was(number: str, tidemark: Tidemark, prepare: Callable[[Tidemark], None]) -> None:
    prepare(tidemark)
    assert list(frozen.missing(frozen.read(number, "answers.json"), frozen.answers(tidemark))) == []


def test_every_savepoint_is_intact(tidemark: Tidemark) -> None:
    for savepoint in tidemark.json("savepoints"):
        verified = tidemark.json("verify", savepoint["id"], "--level", "intact")
        assert verified["levels"].keys() >= {"complete", "intact"} and verified["damages"] == [], savepoint["id"]


def test_state_that_was_read_is_still_there(number: str, tidemark: Tidemark) -> None:
    """Without Spark: the rows that a reading had kept."""
    assert frozen.state(tidemark, frozen.with_state(number)) == frozen.read(number, "state.json")


def test_each_savepoints_tables_of_state_are_known(number: str, tidemark: Tidemark) -> None:
    assert list(frozen.missing(frozen.read(number, "tables.json"), frozen.tables(tidemark))) == []


@pytest.mark.parametrize(("number", "exported"), EXPORTS)
def test_exports_come_back(number: str, tmp_path: Path, exported: str) -> None:
    there = Tidemark(tmp_path / "another")
    saved = frozen.named(number, exported.partition(".")[0])
    assert there("import", frozen.FOLDER / number / "exported" / exported).stdout == f"{saved}\n"
    assert there.json("verify", saved)["reached"] == "intact"
    shown = frozen.read(number, "answers.json")[f"show {saved}"]
    brought = there.json("show", saved)
    fields = ("job", "version", "created_ms", "queries", "label", "files", "bytes")
    assert list(frozen.missing({field: shown[field] for field in fields}, brought)) == []


@pytest.mark.parametrize("number", ["1"])
def test_an_attached_jobs_checkpoint_is_attached_again(tidemark: Tidemark) -> None:
    """It runs elsewhere: where that is now, the workspace must be told."""
    lake = Path(shutil.copytree(frozen.FOLDER.parent / "rocksdb_format2" / "checkpoint", tidemark.workspace.parent / "lake"))
    assert tidemark("forget", frozen.WATCHED).exit_code == 0
    assert tidemark("attach", frozen.WATCHED, lake, "--query", "counts").exit_code == 0
    assert tidemark.json("savepoint", frozen.WATCHED)["queries"][0]["batch"] == 13
    assert len(tidemark.json("savepoints", frozen.WATCHED)) == 2


@pytest.mark.parametrize("number", ["2"])
def test_a_file_known_by_its_hash_that_is_gone_is_named_before_a_fork_starts(number: str, tidemark: Tidemark) -> None:
    refused = tidemark("fork", frozen.named(number, "shipped"), "--name", "forked")
    assert refused.exit_code != 0
    assert "model.bin" in refused.stderr
    assert "forked" not in [summary["job"]["name"] for summary in tidemark.json("list")]


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.parametrize("number", ["1"])
def test_a_savepoint_is_proved(number: str, tidemark: Tidemark) -> None:
    saved = frozen.named(number, "clock")
    verified = tidemark.json("verify", saved, "--level", "proved")
    assert (verified["reached"], verified["damages"]) == ("proved", [])


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.parametrize("number", ["1"])
def test_state_is_read(number: str, tidemark: Tidemark) -> None:
    shutil.rmtree(tidemark.workspace / "cache")
    assert frozen.state(tidemark, frozen.with_state(number)) == frozen.read(number, "state.json")


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.parametrize(("number", "job", "arguments"), FORKS)
def test_a_fork_goes_on_as_if_never_interrupted(number: str, tidemark: Tidemark, job: str, arguments: list[str]) -> None:
    """The rest of the input is named by a pattern: Spark refuses a plain directory that the files it has read already are not in."""
    rest = frozen.lay_rest(number, job, tidemark.workspace.parent / "rest")
    words = [f"--arg={word}" for word in ("--input", f"{rest}/*.json", "--output", "{output}", *arguments)]
    assert tidemark("fork", frozen.named(number, job), "--name", "forked", *words).exit_code == 0
    try:
        until(lambda: not is_live(tidemark, "forked"), every=0.5)
    finally:
        tidemark("cancel", "forked")
    assert tidemark.json("show", "forked")["summary"]["state"] == "finished", tidemark("logs", "forked").stdout
    forked, expected = tidemark.workspace / "jobs" / "forked", frozen.read(number, "expected.json")[job]
    assert {name: frozen.rows(frozen.place(forked, name)) for name in expected} == expected


def is_live(tidemark: Tidemark, job: str) -> bool:
    return tidemark.json("show", job)["summary"]["state"] not in ("finished", "failed", "stopped")
