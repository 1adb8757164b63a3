"""A Delta table that goes back to what a savepoint's is: the commit that is written, once, and what it is refused for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.delta_commits import Back
from pipelines.domain.errors import Conflict, Corrupt, Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver import delta_back, delta_tables
from pipelines.driver.records import Records
from tests.delta import QUERY, add, batch, commit, described, remove
from tests.driver.test_delta_tables import LOCAL, asked, kinds

BACK = Back(1, QUERY, 1, 1, 1)
NOW_MS = 1_800_000_000_000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Batches 0 to 3, a file each; a compaction after them, which a vacuum follows."""
    for number in range(4):
        commit(tmp_path / "t", number, [*([described()] if number == 0 else []), *batch(number, add(f"part-{number}", partitionValues={}))])
    return tmp_path / "t"


@pytest.fixture
def image(table: Path, tmp_path: Path) -> Path:
    """The table after batch 1, as a savepoint has it."""
    folder = tmp_path / "restored" / "table"
    shutil.copytree(table, folder)
    for number in (2, 3):
        for path in (f"part-{number}", f"_delta_log/{number:020d}.json"):
            (folder / path).unlink()
    return folder


def written(table: Path, version: int) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (table / "_delta_log" / f"{version:020d}.json").read_text().splitlines()]


def test_one_commit_cuts_what_came_later_and_takes_the_batch_back(table: Path, image: Path) -> None:
    assert delta_back.go_back(None, image, table, BACK, NOW_MS) == 4
    information, transaction, *changes = written(table, 4)
    assert information["commitInfo"]["operation"] == "RESTORE"
    assert transaction == {"txn": {"appId": QUERY, "version": 1, "lastUpdated": NOW_MS}}
    assert [change["remove"]["path"] for change in changes] == ["part-2", "part-3"]
    assert changes[0]["remove"] == {
        "path": "part-2", "partitionValues": {}, "size": 4, "deletionTimestamp": NOW_MS, "dataChange": True, "extendedFileMetadata": True,
    }  # fmt: skip
    assert delta_back.go_back(None, image, table, BACK, NOW_MS) is None, "it is so already"
    assert sorted(path.name for path in (table / "_delta_log").glob("*.tmp")) == []


def test_what_was_compacted_and_vacuumed_comes_back_with_its_table_as_it_was_described(table: Path, image: Path) -> None:
    commit(table, 4, [remove(f"part-{number}", dataChange=False) for number in range(4)] + [add("all", dataChange=False)])
    commit(table, 5, batch(4, described(comment="later"), add("part-4")))
    for number in range(4):
        (table / f"part-{number}").unlink()
    assert delta_back.go_back(None, image, table, BACK, NOW_MS) == 6
    changes = written(table, 6)[2:]
    assert changes[0] == described()
    assert [next(iter(change.values())).get("path") for change in changes[1:]] == ["all", "part-4", "part-0", "part-1"]
    assert [(table / f"part-{number}").exists() for number in range(4)] == [True, True, False, False]
    assert all(change["add"]["dataChange"] for change in changes if "add" in change)


HINDRANCES = {
    "others wrote": ([add("theirs")], "others changed its rows at version 4"),
    "another table": ([described("another")], "another table is there"),
    "append only": ([described(appendOnly="true")], "delta.appendOnly"),
    "writers": ([{"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}}], "rowTracking"),
    "an unknown version": ([{"protocol": {"minReaderVersion": 1, "minWriterVersion": 8}}], "version 8"),
    "a lower protocol": ([{"protocol": {"minReaderVersion": 1, "minWriterVersion": 1}}], "other features"),
}


@pytest.mark.parametrize(("actions", "why"), HINDRANCES.values(), ids=HINDRANCES.keys())
def test_what_it_is_refused_for(actions: list[Mapping[str, Any]], why: str, table: Path, image: Path) -> None:
    commit(table, 4, actions)
    with pytest.raises(Conflict, match=why) as refused:
        delta_back.go_back(None, image, table, BACK, NOW_MS)
    assert refused.value.code == "sink.others" and not (table / "_delta_log" / f"{5:020d}.json").exists()


def test_others_may_write_where_the_query_has_written_nothing_since(table: Path, image: Path) -> None:
    commit(table, 4, [add("theirs")])
    assert delta_back.go_back(None, image, table, replace(BACK, batch=3), NOW_MS) is None


def test_a_file_that_the_savepoint_lost_is_named(table: Path, image: Path) -> None:
    commit(table, 4, [remove("part-0", dataChange=False), add("small", dataChange=False)])
    (table / "part-0").unlink()
    (image / "part-0").unlink()
    with pytest.raises(Corrupt, match="part-0 is gone"):
        delta_back.go_back(None, image, table, BACK, NOW_MS)


def test_a_log_without_a_commit_is_not_guessed_at(table: Path, image: Path) -> None:
    (table / "_delta_log" / f"{2:020d}.json").unlink()
    with pytest.raises(Unsupported, match=r"00002\.json"):
        delta_back.go_back(None, image, table, BACK, NOW_MS)


def test_somebody_who_commits_meanwhile_is_looked_at(table: Path, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = delta_back._write

    def after_another(log: Path, version: int, actions: list[Mapping[str, Any]]) -> bool:
        if version == 4:
            commit(table, 4, [remove("part-0", dataChange=False), add("again", dataChange=False)])
        return write(log, version, actions)

    monkeypatch.setattr(delta_back, "_write", after_another)
    assert delta_back.go_back(None, image, table, BACK, NOW_MS) == 5
    assert [change["add"]["path"] for change in written(table, 5) if "add" in change] == ["part-0"]


@pytest.mark.parametrize("crashed", [False, True])
def test_the_driver_does_it_before_the_query_starts(crashed: bool, table: Path, image: Path, tmp_path: Path) -> None:
    (image.parent / "back.json").write_text(json.dumps(asdict(BACK)))
    spec = RunSpec(
        SPEC_FORMAT, RunId("r-2"), JobName("a"), VersionId("v-1"), "job.py", (), {}, "local", str(tmp_path / "checkpoints"),
        str(tmp_path / "output"), {"sums": str(image.parent)},
    )  # fmt: skip
    if crashed:
        delta_back.go_back(None, image, table, BACK, NOW_MS)
    delta_tables.carry(spec, Records(tmp_path, lambda: NOW_MS), "sums", asked(table), LOCAL, None)
    assert kinds(tmp_path / EVENTS_FILE) == ([] if crashed else ["sink.cut"])
    assert not delta_tables.carries(spec, "sums", asked("/t")) and len(list((table / "_delta_log").glob("*.json"))) == 5


def test_a_newer_note_is_refused(tmp_path: Path) -> None:
    (tmp_path / "back.json").write_text(json.dumps({**asdict(BACK), "format": 2}))
    with pytest.raises(Unsupported, match="format 2"):
        delta_back.asked(tmp_path)
