"""Work whose bytes are copied, cancelled at every word that it says: nothing is listed, nothing is left, and the next one is exact."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.domain.watch import Watch
from pipelines.savepoint import clone, library, restore, take
from pipelines.savepoint.batch_choice import Newest, OfBatch
from pipelines.storage import copies
from tests.savepoint import golden
from tests.savepoint.apart import apart, unlinked
from tests.savepoint.faulty import Fails, FaultyStorage
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

SP = SavepointId("sp-1")
SMALL, EARLY = "stateless", OfBatch(3)


class Cancelled(Conflict):
    """What the watch of somebody who cancels raises."""


class Listening:
    """Keeps what it is told; from the `at`-th word on (0: never) everything is answered with a cancel."""

    def __init__(self, at: int = 0) -> None:
        self._at, self._turn = at, threading.Lock()
        self.steps: list[tuple[str, int]] = []
        self.told: list[int] = []
        self.words = 0

    def step(self, step: str, total: int = 0) -> None:
        self._word()
        self.steps.append((step, total))

    def advance(self, done: int) -> None:
        self._word()
        self.told.append(done)

    def _word(self) -> None:
        with self._turn:
            self.words += 1
            if self._at and self.words >= self._at:
                raise Cancelled("operation.cancelled", "cancelled", "Begin it again.")


def taking(bench: Bench, watch: Watch) -> object:
    return take.take(bench.source(), EARLY, bench.library, take.Naming(SP, NOW_MS), watch)


def forking(bench: Bench, watch: Watch) -> object:
    target = replace(bench.fork(), parent_output=str(bench.folder.parent), sinks={"*": "fresh"})
    return restore.restore(bench.library, SP, target, NOW_MS, watch=watch)


def resuming(bench: Bench, watch: Watch) -> object:
    return restore.restore(bench.library, SP, bench.resume(), NOW_MS, watch=watch)


Verb = Callable[[Bench, Watch], object]
VERBS: list[Verb] = [taking, forking, resuming]


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small pieces, so that a file is several words."""
    apart(monkeypatch)
    monkeypatch.setattr(copies, "BUFFER_BYTES", 512)
    yield


def prepared(folder: Path, verb: Verb) -> Bench:
    made = golden.bench(folder, SMALL)
    if verb is not taking:
        made.take(choice=EARLY)
    return made


def linked(first: Bench, folder: Path) -> Bench:
    """Another one like `first`, file by file."""
    shutil.copytree(first.folder, folder, copy_function=os.link)
    return Bench(folder, SMALL)


def contents(bench: Bench) -> dict[str, bytes]:
    """Every file of the savepoints and of what was made from them."""
    places = [bench.folder / "savepoints", bench.folder / "forks"]
    return {str(path.relative_to(bench.folder)): path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb", VERBS)
def test_every_byte_that_is_copied_is_told_once(verb: Verb, two_disks: None, tmp_path: Path) -> None:
    bench, watch = prepared(tmp_path, verb), Listening()
    verb(bench, watch)
    manifest = library.manifest(bench.library, SP)
    clones = [file for file in manifest.files if file.path.startswith("queries/")]
    steps, (_, total) = [step for step, _ in watch.steps], watch.steps[0]
    assert steps == [clone.COPYING, clone.SETTLING]
    assert sum(watch.told) == total > 0
    assert max(watch.told) <= 512 < total <= sum(file.bytes for file in clones)


@pytest.mark.parametrize("verb", VERBS)
def test_cancelled_at_every_word(verb: Verb, two_disks: None, tmp_path: Path) -> None:
    counting, first = Listening(), prepared(tmp_path / "first", verb)
    verb(linked(first, tmp_path / "whole"), counting)
    assert counting.words > 15
    for word in range(1, counting.words + 1):
        bench = linked(first, tmp_path / str(word))
        before, names, shelf = contents(bench), bench.files(), library.shelf(bench.library)
        with pytest.raises(Cancelled):
            verb(bench, Listening(word))
        assert (contents(bench), bench.files()) == (before, names), word
        assert library.shelf(bench.library) == shelf
        assert library.clean(bench.library, NOW_MS, lives=lambda *_: False).unfinished == ()
        assert restore.clean(str(bench.folder / "forks"), NOW_MS, lives=lambda *_: False) == ()
    verb(bench, Listening())
    assert_exact(bench, Bench(tmp_path / "whole", SMALL))


def assert_exact(bench: Bench, whole: Bench) -> None:
    """What is made after a cancel is, file for file, what is made without one."""
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).damages == ()
    here, there = ({path: data for path, data in contents(side).items() if _is_of_spark(path)} for side in (bench, whole))
    assert here == there


def _is_of_spark(path: str) -> bool:
    """Not the records of ours, which say when and how long, nor the sink's log, which names the folder it lies in."""
    return Path(path).suffix != ".json" and "/sink/" not in path and "/.sinks/" not in path


@pytest.mark.parametrize("verb", VERBS)
def test_where_all_is_linked_a_watch_is_told_of_steps_alone(verb: Verb, tmp_path: Path) -> None:
    watch = Listening()
    verb(prepared(tmp_path, verb), watch)
    assert (watch.steps, watch.told) == ([(clone.LINKING, 0), (clone.SETTLING, 0)], [])


@pytest.mark.parametrize("verb", VERBS)
def test_links_that_turn_out_impossible_are_copies(verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, watch = prepared(tmp_path, verb), Listening()
    unlinked(monkeypatch)
    verb(bench, watch)
    steps = [step for step, _ in watch.steps]
    assert set(steps[:-1]) == {clone.LINKING, clone.COPYING} and steps[-1] == clone.SETTLING
    assert sum(watch.told) == sum(total for _, total in watch.steps) > 0
    assert library.shelf(bench.library).unreadable == ()


def test_each_try_is_told_from_its_beginning(two_disks: None, tmp_path: Path) -> None:
    """A file of Spark's vanished while it was copied: the savepoint begins anew."""
    bench, watch = prepared(tmp_path, taking), Listening()

    class Vanishing(Fails):
        def strike(self) -> None:
            if self.steps == self.at:
                raise NotFound("storage.not_found", "the job deleted it", "Try again.")

    shelf = FaultyStorage(bench.library, Vanishing(4))
    assert take.take(bench.source(), Newest(), shelf, take.Naming(SP, NOW_MS), watch).id == SP
    assert [step for step, _ in watch.steps] == [clone.COPYING, clone.COPYING, clone.SETTLING]
