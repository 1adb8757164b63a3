"""How long the copying of a fork takes, told by savepoints that were copied to the same place. No Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.ids import RunId, SavepointId, VersionId
from pipelines.domain.paces import Pace, pace
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.take import Take
from tests import samples
from tests.workspace.conftest import House

MB = 1_000_000


def before(named: str, new_bytes: int, took_ms: float, files: int = 10) -> Savepoint:
    taken = samples.savepoint(named, "a", version=VersionId("v"), run=RunId("r"))
    return replace(taken, new_bytes=new_bytes, took_ms=took_ms, files=files)


@pytest.mark.parametrize(
    ("files", "new_bytes", "told"),
    [
        (10, 100 * MB, Pace(1_000.0, SavepointId("sp-100"))),
        (10, 400 * MB, Pace(4_000.0, SavepointId("sp-100"))),
        (30, 100 * MB, Pace(3_000.0, SavepointId("sp-100"))),
        (10, 3 * MB, Pace(60.0, SavepointId("sp-2"))),
        (10, 10, Pace(5.0, SavepointId("sp-linked"))),
        (10, 50_000 * MB, None),
    ],
    ids=["as large", "larger", "more files", "like the one nearest to it", "of links", "than which nothing was nearly as large"],
)
def test_the_nearest_says_how_long(files: int, new_bytes: int, told: Pace | None) -> None:
    known = [before("sp-100", 100 * MB, 1_000.0), before("sp-2", 2 * MB, 40.0), before("sp-linked", 0, 5.0)]
    assert pace(files, new_bytes, known) == told


def test_nothing_before_says_nothing() -> None:
    assert pace(10, 10, []) is None and pace(10, 10, [before("sp-1", 10, 5.0, files=0)]) is None


def test_a_fork_is_told_by_what_was_copied_of_its_parent_to_where_it_begins(house: House, disk_url: str) -> None:
    house.ran("a")
    here = do(house.face, Take("a"))
    there = do(house.face, Take("a", home=f"{disk_url}/home"))
    for home, measure in (("", here), (f"{disk_url}/home", there)):
        told = house.face.plan(Fork(here.id, name="b", home=home)).pace
        assert told is not None and told.savepoint == measure.id and told.about_ms >= measure.took_ms
    assert house.face.plan(Fork(here.id, name="b", home=f"{disk_url}/other")).pace is None
