"""A job of two queries, one of which has committed no batch: it is saved, checked, moved, forked and resumed like any other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, Corrupt
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.savepoints import NOT_BEGUN, Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiments import Diff
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.workspace.conftest import NEWEST, House, query_line

QUERY = "waiting"
KAFKA = 'v1\n{"clicks":{"0":17}}'
FILE = 'v1\n{"path":"file:///in/0.json","timestamp":1,"batchId":0}'


@pytest.fixture
def run(house: House) -> Run:
    """Its second query has planned its first batch, of a topic, whose first offset it keeps, and of files."""
    run = house.ran()
    checkpoint = waiting(run)
    for path, text in {"metadata": '{"id":"q-2"}', "sources/0/0": KAFKA, "sources/1/0": FILE, "offsets/0": "v1\n{}\n-\n-"}.items():
        (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / path).write_text(text)
    line = json.loads(query_line(str(checkpoint), str(house.face.layout.output(run.job) / QUERY)))
    house.append(run, QUERIES_FILE, json.dumps({**line, "query": QUERY, "query_id": "q-2"}) + "\n")
    return run


@pytest.fixture
def saved(house: House, run: Run) -> Savepoint:
    return do(house.face, Take("a"))


def waiting(run: Run) -> Path:
    return Path(run.checkpoints) / QUERY


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_is_saved_as_not_begun_with_where_its_sources_begin(house: House, saved: Savepoint) -> None:
    assert [(image.query, image.batch, image.begun) for image in saved.queries] == [("counts", NEWEST, True), (QUERY, NOT_BEGUN, False)]
    assert saved.batch == NEWEST
    assert files(Path(saved.path) / "queries" / QUERY) == {"checkpoint/metadata", "checkpoint/sources/0/0"}
    plan = house.face.plan(Take("a"))
    assert (plan.batches, plan.not_begun) == ({"counts": NEWEST}, (QUERY,))


def test_it_is_trusted_moved_and_compared(house: House, saved: Savepoint, tmp_path: Path) -> None:
    verified = do(house.face, Verify(saved.id, Trust.INTACT))
    assert (verified.reached, verified.damages) == (Trust.INTACT, ())
    assert all(diagnosis.sound for diagnosis in do(house.face, Diagnose(saved.id)))
    assert not house.face.ask(Diff(saved.id, "a")).section("progress").differing
    do(house.face, Export(saved.id, str(tmp_path / "elsewhere")))
    do(house.face, Dispose((saved.id,)))
    do(house.face, Import(str(tmp_path / "elsewhere")))
    assert house.face.ask(ShowSavepoint(saved.id)).queries == saved.queries
    assert do(house.face, Verify(saved.id, Trust.INTACT)).reached is Trust.INTACT


def test_a_fork_begins_it_at_its_start(house: House, saved: Savepoint) -> None:
    plan = house.face.plan(Fork(saved.id, name="b"))
    assert plan.refusal is None
    assert [(sink.query, sink.action) for sink in plan.sinks] == [("counts", "continue"), (QUERY, "fresh")]
    fork = do(house.face, Fork(saved.id, name="b"))
    assert files(waiting(fork)) == {"metadata", "sources/0/0"}
    assert (waiting(fork) / "sources/0/0").read_text() == KAFKA
    assert "q-2" not in (waiting(fork) / "metadata").read_text()


def test_a_resume_sets_aside_what_its_sink_was_given_since(house: House, saved: Savepoint) -> None:
    again = do(house.face, Resume("a", from_savepoint=saved.id))
    assert (waiting(again) / "metadata").read_text() == '{"id":"q-2"}'
    log = Path(house.face.context.files.spec(again.job, again.id).sink_logs[QUERY])
    assert files(log) == {"root", "own"}


def test_before_its_first_commit_is_not_begun_too(house: House, run: Run) -> None:
    """A point in time at which one query had batches, and the other none yet."""
    (waiting(run) / "commits").mkdir()
    (waiting(run) / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    commits = (Path(run.checkpoints) / "counts" / "commits").iterdir()
    newest_ms = int(max(path.stat().st_mtime for path in commits) * 1000)

    os.utime(waiting(run) / "commits" / "0", (newest_ms / 1000 + 60,) * 2)
    assert house.face.plan(Take("a", at_ms=newest_ms + 1)).not_begun == (QUERY,)
    assert house.face.plan(Take("a")).batches == {"counts": NEWEST, QUERY: 0}


def test_lost_commits_are_damage_and_no_beginning(house: House, run: Run) -> None:
    (waiting(run) / "offsets" / "1").write_text("v1\n{}\n-\n-")
    with pytest.raises(Corrupt, match="commits/0"):
        house.face.plan(Take("a"))


def test_where_no_query_has_begun_there_is_nothing_to_save(house: House, run: Run) -> None:
    for path in [*(Path(run.checkpoints) / "counts" / "commits").iterdir(), *(Path(run.checkpoints) / "counts" / "offsets").iterdir()]:
        path.unlink()
    with pytest.raises(Conflict, match=f"Queries counts, {QUERY} have not committed a batch yet") as refused:
        house.face.plan(Take("a"))
    assert refused.value.code == "savepoint.no_batch"
