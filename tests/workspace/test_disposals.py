"""Several savepoints at once: what the set frees is what the disk gets back, and one that is refused keeps no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import leases
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.take import Take
from pipelines.workspace import disposals
from pipelines.workspace.tickets import Ticket
from tests.savepoint.test_space import used
from tests.workspace.conftest import House


@pytest.fixture
def three(house: House) -> list[str]:
    """Three savepoints of one job; of two batches, so that each shares files with another, and all with the live checkpoint."""
    house.ran("a")
    taken = [do(house.face, Take("a", batch=batch)) for batch in (12, 13, 13)]
    return [savepoint.id for savepoint in taken]


def disk(house: House) -> int:
    """What jobs and savepoints take, each file once."""
    return used(house.face.layout.jobs, house.face.layout.savepoints)


def purge(house: House) -> None:
    """The live checkpoint goes, as Spark lets go of what it no longer needs: the savepoints are alone with their files."""
    shutil.rmtree(house.face.layout.jobs / "a" / "checkpoints")


@pytest.mark.parametrize("kept", ["checkpoint kept", "checkpoint gone"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_disk_gets_back_what_the_preview_said(house: House, three: list[str], kept: str, count: int) -> None:
    if kept == "checkpoint gone":
        purge(house)
    chosen = three[-count:]
    preview = house.face.plan(Dispose(tuple(chosen)))
    before = disk(house)
    done = do(house.face, Dispose(tuple(chosen)))
    assert before - disk(house) == preview.frees_bytes == done.frees_bytes > 0
    assert [outcome.savepoint for outcome in preview.outcomes] == [outcome.savepoint for outcome in done.outcomes] == chosen
    assert (preview.files, preview.bytes) == (done.files, done.bytes)
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints())] == three[:-count][::-1]


def test_together_they_free_more_than_each_alone(house: House, three: list[str]) -> None:
    purge(house)
    preview = house.face.plan(Dispose(tuple(three)))
    assert preview.frees_bytes > sum(plan.frees_bytes for plan in preview.plans)
    assert preview.frees_bytes < preview.bytes == sum(plan.bytes for plan in preview.plans)
    assert len(house.face.ask(ListSavepoints())) == 3


def test_one_that_is_needed_keeps_no_other(house: House, three: list[str]) -> None:
    context = house.face.context
    names = [three[0], "sp-none", house.face.ask(ShowSavepoint(three[1])).path, three[0], three[2]]
    with leases.lease(context.library, house.face.ask(ShowSavepoint(three[1])).id, "fork b", context.now_ms()):
        preview = house.face.plan(Dispose(tuple(names)))
        done = do(house.face, Dispose(tuple(names)))
    for disposal in (preview, done):
        refused = [(outcome.savepoint, outcome.refusal.code) for outcome in disposal.refused if outcome.refusal]
        assert refused == [("sp-none", "savepoint.not_found"), (three[1], "savepoint.in_use")]
        assert [plan.savepoint for plan in disposal.plans] == [three[0], three[2]]
    assert done.refused[1].refusal and "fork b" in done.refused[1].refusal.error.message
    assert preview.frees_bytes == done.frees_bytes
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints())] == [three[1]]
    assert not house.face.layout.savepoint(house.face.ask(ShowSavepoint(three[1])).id).joinpath("disposing.json").exists()


def test_one_that_fails_keeps_no_other(house: House, three: list[str], tmp_path: Path) -> None:
    """A savepoint whose folder vanished behind Tidemark's back."""
    shutil.rmtree(house.face.layout.savepoint(house.face.ask(ShowSavepoint(three[0])).id))
    done = do(house.face, Dispose(tuple(three)))
    assert [outcome.savepoint for outcome in done.refused] == [three[0]]
    assert len(done.plans) == 2


def test_none_named_is_a_mistake(house: House) -> None:
    with pytest.raises(Invalid) as refused:
        do(house.face, Dispose(()))
    assert refused.value.code == "dispose.nothing"


@pytest.mark.parametrize("kept", ["checkpoint kept", "checkpoint gone"])
def test_what_a_fork_needs_since_the_preview_is_not_counted_as_freed(house: House, three: list[str], kept: str) -> None:
    if kept == "checkpoint gone":
        purge(house)
    context = house.face.context
    planned, before = disposals.plan(context, Dispose(tuple(three))), disk(house)
    with leases.lease(context.library, SavepointId(three[1]), "fork b", context.now_ms()):
        done = planned.do(Ticket())
    assert [outcome.savepoint for outcome in done.refused] == [three[1]]
    assert before - disk(house) == done.frees_bytes > 0
