"""What people say of savepoints is in the files, so that the index can be made anew from them."""

from __future__ import annotations

import threading

import pytest

from pipelines.domain.errors import NotFound
from pipelines.domain.requests import AnnotateRequest, TakeRequest
from pipelines.domain.savepoints import Savepoint
from tests.workspace.conftest import House


def take(house: House) -> Savepoint:
    house.ran("a")
    taken = house.face.take("a", TakeRequest(label="first"))
    assert isinstance(taken, Savepoint)
    return taken


def test_it_is_listed_said_and_outlasts_the_catalog(house: House) -> None:
    taken = take(house)
    changed = house.face.annotate(taken.path, AnnotateRequest("second", "why\nso", 5))
    assert (changed.label, changed.note, changed.best_before_ms) == ("second", "why\nso", 5)
    assert list(house.face.savepoints()) == [changed]
    assert [one.message for one in house.face.events() if one.kind == "savepoint.annotated"] == [
        f"label, note, best before of savepoint {taken.id} changed"
    ]
    assert house.face.tree().marks[0].label == "second"
    house.face.rebuild_catalog()
    assert list(house.face.savepoints()) == [changed]
    assert list(house.reopen().savepoints()) == [changed]
    assert house.face.manifest(taken.id).label == "first"


def test_of_no_savepoint(house: House) -> None:
    with pytest.raises(NotFound):
        house.face.annotate("sp-none", AnnotateRequest("x"))


def test_two_at_once_lose_nothing(house: House) -> None:
    """Each changes another part: both changes are there at the end, however the threads run."""
    taken = take(house)
    start = threading.Barrier(2)

    def change(request: AnnotateRequest) -> None:
        start.wait()
        for _ in range(20):
            house.face.annotate(taken.id, request)

    threads = [threading.Thread(target=change, args=(one,)) for one in (AnnotateRequest("both"), AnnotateRequest(note="changed"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = house.face.savepoint(taken.id)
    assert (seen.label, seen.note) == ("both", "changed")
