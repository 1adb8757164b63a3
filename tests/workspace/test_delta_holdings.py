"""A savepoint whose place in a Delta table is gone is refused by the plan, and said by its holdings. Without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict
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
from pipelines.words import offsets
from tests import delta
from tests.workspace.conftest import House, progress_line, query_line


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for version in range(6):
        delta.commit(tmp_path / "t", version, [*([delta.described()] if version == 0 else []), delta.add(f"part-{version}")])
    return tmp_path / "t"


def saved(house: House, table: Path) -> Savepoint:
    """Of a job that has read the table up to version 2."""
    run = house.ran("a")
    checkpoint = Path(run.checkpoints) / "counts"
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            *head, _ = path.read_text().splitlines()
            path.write_text("\n".join([*head, delta.offset(3)]))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    line = json.loads(query_line(str(checkpoint), str(house.face.layout.output(run.job) / "counts")))
    house.append(run, QUERIES_FILE, json.dumps({**line, "sources": ["delta"], "tables": [str(table)]}) + "\n")
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
