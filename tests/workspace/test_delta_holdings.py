"""A savepoint whose place in a Delta table is gone is refused by the plan, and said by its holdings. Without Spark."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from pipelines.domain.delta import removals as removals_of
from pipelines.domain.errors import Conflict, Invalid, TidemarkError, Unsupported
from pipelines.domain.holdings import Usable
from pipelines.domain.runs import PROGRESS_FILE, QUERIES_FILE, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ListJobs, ListOperators, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.words import holdings as words
from pipelines.words import offsets
from tests import delta
from tests.workspace.conftest import House, progress_line, query_line

MADE_AT = "2026-11-01T0{}:00:00+00:00"
"""When a version was made."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for version in range(6):
        delta.commit(tmp_path / "t", version, [*([delta.described()] if version == 0 else []), delta.add(f"part-{version}")])
        at_s = datetime.fromisoformat(MADE_AT.format(version)).timestamp()
        os.utime(tmp_path / "t" / "_delta_log" / f"{version:020d}.json", (at_s, at_s))
    return tmp_path / "t"


def saved(house: House, table: Path, offset: str = delta.offset(3), kind: str = "delta", removals: str = "fail") -> Savepoint:
    """Of a job that has read the table up to version 2."""
    run = house.ran("a")
    checkpoint = Path(run.checkpoints) / "counts"
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            *head, _ = path.read_text().splitlines()
            path.write_text("\n".join([*head, offset]))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    line = json.loads(query_line(str(checkpoint), str(house.face.layout.output(run.job) / "counts")))
    house.append(
        run,
        QUERIES_FILE,
        json.dumps({**line, "sources": [kind], "tables": [str(table)], "removals": [removals] if removals else []}) + "\n",
    )
    return do(house.face, Take("a"))


def test_what_a_vacuum_took_is_refused_before_anything_starts(house: House, table: Path) -> None:
    savepoint = saved(house, table)
    plan = house.face.plan(Fork(savepoint.id, name="b"))
    assert plan.refusal is None
    assert any("has all 3 files from version 3 on: it is 3 versions behind" in warning for warning in plan.warnings)
    asked = do(house.face, AskHoldings(savepoint.id)).holdings
    assert asked is not None and asked.usable is Usable.YES and asked.until_ms is not None
    (table / "part-4").unlink()
    for change in (Fork(savepoint.id, name="b"), Resume("a", from_savepoint=savepoint.id), Resume("a"), Resume("a", batch=7)):
        refused = house.face.plan(change).refusal
        assert refused is not None and refused.code == "source.gone" and "such as part-4" in refused.message
        with pytest.raises(Conflict, match=r"1 of the 3 files that Delta table .*/t added from version 3 on are gone"):
            do(house.face, change)
    assert house.face.plan(Fork(savepoint.id, name="b", force=True)).refusal is None
    assert do(house.face, AskHoldings(savepoint.id)).holdings.usable is Usable.NO  # type: ignore[union-attr]
    assert len(house.face.ask(ListSavepoints("a"))) == len(house.face.ask(ListJobs())) == 1


@pytest.mark.parametrize("removals", ["readChangeFeed", "failOnDataLoss"])
def test_of_what_no_commit_adds_or_a_source_passes_over_nothing_is_said(house: House, table: Path, removals: str) -> None:
    savepoint = saved(house, table, removals=removals)
    (table / "part-4").unlink()
    assert do(house.face, AskHoldings(savepoint.id)).holdings.usable is Usable.UNKNOWN  # type: ignore[union-attr]
    assert house.face.plan(Fork(savepoint.id, name="b")).refusal is None
    with pytest.raises(Unsupported, match="not noted"):
        house.face.plan(Fork(savepoint.id, name="b", offsets={"0": "latest"}))


@pytest.mark.parametrize(
    ("position", "version", "skipped", "again"),
    [
        ("latest", 6, ["part-3", "part-4", "part-5"], []),
        ("earliest", 0, [], ["part-0", "part-1", "part-2"]),
        ('{"version":4}', 4, ["part-3"], []),
        (delta.offset(1, 0), 1, [], ["part-2"]),
        (MADE_AT.format(5), 5, ["part-3", "part-4"], []),
        (MADE_AT.format(2), 2, [], ["part-2"]),
    ],
)
def test_it_goes_on_elsewhere(house: House, table: Path, position: str, version: int, skipped: list[str], again: list[str]) -> None:
    savepoint = saved(house, table)
    fork = Fork(savepoint.id, name="b", offsets={"0": position})
    plan = house.face.plan(fork)
    (moved,) = plan.moved
    assert plan.refusal is None and (moved.skipped, moved.again, moved.unit) == (len(skipped), len(again), "files")
    assert [*moved.examples] == [*skipped, *again] and f"version {version}" in offsets.moved(moved)
    entries = Path(do(house.face, fork).checkpoints) / "counts" / "offsets"
    assert {entry.read_text().splitlines()[-1] for entry in entries.iterdir() if entry.name.isdigit()} == {moved.after}, "both batches"


@pytest.mark.parametrize(
    ("removals", "position", "told"),
    [
        ("fail", None, "versions 6, 8 delete rows and version 7 rewrites rows: its source fails there, unless the code gives it {skip}"),
        (
            "fail",
            '{"version":7}',
            "version 8 deletes rows and version 7 rewrites rows: its source fails there, unless the code gives it {skip}",
        ),
        ("fail", '{"version":8}', "version 8 deletes rows: its source fails there, unless the code gives it {skip} or ignoreDeletes"),
        ("ignoreDeletes", None, "version 7 rewrites rows: its source fails there, unless the code gives it {skip}"),
        ("ignoreDeletes", '{"version":8}', ""),
        ("", '{"version":8}', "a source without {skip} or ignoreDeletes fails there, and whether this one has it was not noted"),
        ("ignoreChanges", None, ""),
        ("skipChangeCommits", None, ""),
        ("fail", "latest", ""),
    ],
)
def test_versions_at_which_its_source_fails_are_named(house: House, table: Path, removals: str, position: str | None, told: str) -> None:
    """A compaction is none."""
    delta.commit(table, 6, [delta.remove("part-0", dataChange=True)])
    delta.commit(table, 7, [delta.remove("part-1", dataChange=True), delta.add("part-7", dataChange=True)])
    delta.commit(table, 8, [delta.remove("part-2")])
    delta.commit(table, 9, [delta.remove("part-3", dataChange=False), delta.add("part-9", dataChange=False)])
    savepoint = saved(house, table, removals=removals)
    plan = house.face.plan(Fork(savepoint.id, name="b", offsets={"0": position} if position else {}))
    warnings = [warning for warning in plan.warnings if "fails there" in warning]
    assert plan.refusal is None and len(warnings) == bool(told)
    assert told.format(skip="skipChangeCommits") in "".join(warnings)
    if position is None:
        holdings = do(house.face, AskHoldings(savepoint.id)).holdings
        assert holdings is not None and told.format(skip="skipChangeCommits") in words.why(holdings)


@pytest.mark.parametrize(
    ("options", "does"),
    [
        ({"path": "/t"}, "fail"),
        ({"ignoredeletes": "TRUE", "skipchangecommits": "false"}, "ignoreDeletes"),
        ({"ignoredeletes": "true", "ignorechanges": "true"}, "ignoreChanges"),
        ({"ignorefiledeletion": "true"}, "ignoreChanges"),
        ({"ignorechanges": "true", "skipchangecommits": "true"}, "skipChangeCommits"),
        ({"readchangefeed": "true", "skipchangecommits": "true"}, "readChangeFeed"),
        ({"readchangedata": "TRUE"}, "readChangeFeed"),
        ({"failondataloss": "false", "readchangefeed": "true"}, "failOnDataLoss"),
    ],
)
def test_what_a_source_does_at_removed_rows_is_read_from_its_options(options: dict[str, str], does: str) -> None:
    assert removals_of(options) == does


def test_where_it_cannot_go_on_is_refused(house: House, table: Path) -> None:
    savepoint = saved(house, table)
    for position in ('{"version":7}', '{"version":-1}', '{"snapshot_id":1}', delta.offset(4, table="another")):
        with pytest.raises(Invalid, check=lambda error: error.code == "offsets.position"):
            house.face.plan(Fork(savepoint.id, name="b", offsets={"0": position}))
    (table / "part-3").unlink()
    (table / "_delta_log" / f"{0:020d}.json").rename(table / "away")
    with pytest.raises(TidemarkError):
        house.face.plan(Fork(savepoint.id, name="b", offsets={"0": "latest"}))
    (table / "away").rename(table / "_delta_log" / f"{0:020d}.json")
    refused = house.face.plan(Fork(savepoint.id, name="b")).refusal
    assert refused is not None and refused.code == "source.gone"
    assert house.face.plan(Fork(savepoint.id, name="b", offsets={"0": "latest"})).refusal is None


def test_an_offset_of_a_sources_own_is_taken_as_it_is(house: House, table: Path) -> None:
    savepoint = saved(house, table, offset='{"seen":3}', kind="numbers")
    (moved,) = house.face.plan(Fork(savepoint.id, name="b", offsets={"0": '{\n"seen": 5}'})).moved
    assert (moved.before, moved.after, moved.is_counted) == ('{"seen":3}', '{"seen":5}', False)
    assert "nobody can count" in offsets.moved(moved)
    with pytest.raises(Invalid, match="only to an offset of its own, as JSON: not to latest"):
        house.face.plan(Fork(savepoint.id, name="b", offsets={"0": "latest"}))


def test_versions_that_are_gone_are_named(house: House, table: Path) -> None:
    savepoint = saved(house, table)
    for version in (3, 4):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    refused = house.face.plan(Fork(savepoint.id, name="b")).refusal
    assert refused is None, "a log that nobody can read whole says nothing"
    (table / "_delta_log" / f"{5:020d}.json").unlink()
    refused = house.face.plan(Fork(savepoint.id, name="b")).refusal
    assert refused is None, "it has read all of versions 0 to 2"
    (table / "_delta_log" / f"{2:020d}.json").unlink()
    refused = house.face.plan(Fork(savepoint.id, name="b")).refusal
    assert refused is not None and "was made anew" in refused.message


def test_the_jobs_page_says_how_many_versions_wait(house: House, table: Path) -> None:
    run = house.begin("a")
    line = json.loads(progress_line(0, "1970-01-01T00:00:00.000Z"))
    source = {"description": f"DeltaSource[file:{table}]", "startOffset": None, "endOffset": json.loads(delta.offset(3)), "numInputRows": 5}
    house.append(run, PROGRESS_FILE, json.dumps({**line, "sources": [source]}) + "\n")
    house.append(run, QUERIES_FILE, query_line("/nowhere", "/nowhere"))
    house.see(run, RunState.STOPPED)
    (query,) = house.face.ask(ListOperators("a"))
    (seen,) = query.sources
    assert [(part.amount, part.unit) for part in seen.backlog] == [(3, "versions")]
    assert [offsets.words(text) for text in (seen.end, seen.latest)] == ["version 3", "version 6"]
    assert house.face.ask(ShowJob("a")).summary.job.name == "a"
