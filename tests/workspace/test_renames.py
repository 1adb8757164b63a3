"""Queries of an attached job that get another name: watched on with their history, saved and forked under it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.jobs import Run
from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.verbs.attach import Attach
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ShowJob
from pipelines.verbs.rename_query import RenameQuery
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.workspace import ingestion
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House, progress_line


@pytest.fixture
def run(house: House, tmp_path: Path) -> Run:
    """The watched run of a job with two queries, the first by a name that was guessed, and one batch of it seen."""
    for query in ("guessed", "other"):
        shutil.copytree(GOLDEN / "rocksdb_format2" / "checkpoint", tmp_path / query)
    places = {query: str(tmp_path / query) for query in ("guessed", "other")}
    run = do(house.face, Attach(name="theirs", checkpoints=places, sink="noop", script="job.py", code=CODE))
    house.append(run, PROGRESS_FILE, progress_line(NEWEST, "2026-01-01T00:35:00.000Z").replace('"counts"', '"guessed"') + "{torn")
    ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))
    return run


def queries(house: House) -> list[str]:
    return [seen.query for seen in house.face.ask(ShowJob("theirs")).queries]


@pytest.mark.parametrize("rebuilt", [False, True], ids=["as it is", "after a rebuild"])
def test_it_is_watched_on_under_its_new_name(house: House, run: Run, rebuilt: bool) -> None:
    plan = house.face.plan(RenameQuery("theirs", "guessed", "counts"))
    assert (plan.query, plan.to, plan.savepoints) == ("guessed", "counts", 0) and plan.checkpoint.endswith("/guessed")
    assert sorted(queries(house)) == ["guessed", "other"]
    renamed = do(house.face, RenameQuery("theirs", "guessed", "counts"))
    if rebuilt:
        do(house.face, RebuildCatalog())
    detail = house.face.ask(ShowJob("theirs"))
    assert [(run.id, run.state) for run in detail.runs] == [(renamed.id, RunState.WATCHED)] and renamed.id != run.id
    assert sorted(queries(house)) == ["counts", "other"]
    assert [(batch.query, batch.batch) for batch in house.face.ask(ListBatches("theirs"))] == [("counts", NEWEST)]
    assert "job.renamed_query" in {event.kind for event in house.face.ask(ListEvents("theirs"))}
    assert not house.face.layout.run(run.job, run.id).exists()


def test_a_fork_of_a_new_savepoint_expects_the_new_name(house: House, run: Run) -> None:
    old = do(house.face, Take("theirs"))
    do(house.face, RenameQuery("theirs", "guessed", "counts"))
    saved = do(house.face, Take("theirs"))
    assert {image.query for image in saved.queries} == {"counts", "other"}
    assert {image.query for image in old.queries} == {"guessed", "other"}, "what was taken is never changed"
    fork = do(house.face, Fork(saved.id, name="ours"))
    assert house.face.context.files.spec(fork.job, fork.id).expected == ("counts", "other")
    assert json.loads((Path(fork.checkpoints) / "counts" / "metadata").read_text())["id"]


@pytest.mark.parametrize(
    ("job", "query", "to", "kind", "code"),
    [
        ("theirs", "counts", "x", NotFound, "query.not_found"),
        ("theirs", "guessed", "other", AlreadyExists, "query.exists"),
        ("ours", "counts", "x", Conflict, "rename.own"),
        ("nobody's", "counts", "x", NotFound, "job.not_found"),
        ("theirs", "guessed", "", Invalid, "query.name"),
        ("theirs", "guessed", "counts ", Invalid, "query.name"),
        ("theirs", "guessed", "c" * 201, Invalid, "query.name"),
    ],
    ids=["no such query", "a name in use", "a job that runs here", "no such job", "none", "a blank", "too long"],
)
def test_what_cannot_be_renamed(house: House, run: Run, job: str, query: str, to: str, kind: type[TidemarkError], code: str) -> None:
    house.ran("ours")
    with pytest.raises(kind) as refused:
        house.face.plan(RenameQuery(job, query, to))
    assert refused.value.code == code
