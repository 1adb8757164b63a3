"""What people say of savepoints is in the files, so that the index can be made anew from them."""

from __future__ import annotations

import threading

import pytest

from pipelines.domain.errors import NotFound
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.experiments import ShowTree
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from tests.workspace.conftest import House


def take(house: House) -> Savepoint:
    house.ran("a")
    return do(house.face, Take("a", label="first"))


def test_it_is_listed_said_and_outlasts_the_catalog(house: House) -> None:
    taken = take(house)
    changed = do(house.face, Annotate(taken.path, label="second", note="why\nso", best_before_ms=5))
    assert (changed.label, changed.note, changed.best_before_ms) == ("second", "why\nso", 5)
    assert list(house.face.ask(ListSavepoints())) == [changed]
    assert [event.message for event in house.face.ask(ListEvents()) if event.kind == "savepoint.annotated"] == [
        f"label, note, best before of savepoint {taken.id} changed"
    ]
    assert house.face.ask(ShowTree()).marks[0].label == "second"
    do(house.face, RebuildCatalog())
    assert list(house.face.ask(ListSavepoints())) == [changed]
    assert list(house.reopen().ask(ListSavepoints())) == [changed]
    assert house.face.ask(ReadManifest(taken.id)).label == "first"


def test_of_no_savepoint(house: House) -> None:
    with pytest.raises(NotFound):
        do(house.face, Annotate("sp-none", label="x"))


def test_two_at_once_lose_nothing(house: House) -> None:
    """Each changes another part: both changes are there at the end, however the threads run."""
    taken = take(house)
    start = threading.Barrier(2)

    def repeat(change: Annotate) -> None:
        start.wait()
        for _ in range(20):
            do(house.face, change)

    changes = Annotate(taken.id, label="both"), Annotate(taken.id, note="changed")
    threads = [threading.Thread(target=repeat, args=(change,)) for change in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = house.face.ask(ShowSavepoint(taken.id))
    assert (seen.label, seen.note) == ("both", "changed")
