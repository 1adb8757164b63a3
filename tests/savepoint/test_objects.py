"""The content store of a home: others take, dispose of and collect savepoints there, one request at a time in any order, and die at any of
them. No file that a savepoint names is ever missing, and in the end nothing is left that none names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import pytest

from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import QueryImage, StoredFile, TakePlan
from pipelines.domain.trust import Trust
from pipelines.savepoint import collection, dispose, library, manifests, objects, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.contents import Part, QueryContents
from pipelines.savepoint.shelves import Shelf
from pipelines.savepoint.source import JobSource
from pipelines.storage import parallel
from pipelines.storage.protocol import Clone
from tests.savepoint.bucket import Actor, Bucket, BucketStorage, Step, in_turns, tag
from tests.savepoint.faulty import Killed
from tests.savepoint.golden import NOW_MS, VERSION
from tests.verified import verified

JOB = JobSource(JobName("job"), RunId("r-1"), VERSION, "4.3.0", ())
IMAGE = QueryImage(QueryName("q"), "id", 1, 0, 0, (), "none", 0, (), {}, "noop", "", 1, 1)
SEEDS = 100
ORIGIN = f"list {objects.FILES}/{objects.origin(BucketStorage(Bucket()))}"
T, R = TypeVar("T"), TypeVar("R")


@pytest.fixture(autouse=True)
def _one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor makes one request at a time: its order is the seed's."""

    def each(work: Callable[[T], R], items: Iterable[T], threads: int, *given: Any, **options: Any) -> list[R]:
        return [work(item) for item in items]

    monkeypatch.setattr(parallel, "each", each)


@cache
def _named(savepoint: str, manifest: bytes) -> frozenset[str]:
    return frozenset(map(objects.path, manifests.decode(manifest, SavepointId(savepoint)).objects.values()))


@dataclass
class Home:
    """A home in a bucket, beside the files of a job; `live` is name -> content."""

    live: dict[str, bytes]
    bucket: Bucket = field(default_factory=Bucket)

    def __post_init__(self) -> None:
        for name, data in self.live.items():
            self.bucket.objects[f"live/{name}"] = data

    def shelf(self, step: Step = lambda: None) -> Shelf:
        return Shelf(BucketStorage(self.bucket, step))

    def take(self, savepoint: str, names: str, step: Step = lambda: None) -> None:
        """A savepoint of the files whose one-letter names are given."""
        clones = [Clone(f"live/{name}", f"queries/q/checkpoint/{name}", len(self.live[name]), tag(self.live[name])) for name in names]
        files = tuple(StoredFile(file.target, file.bytes) for file in clones)
        gathered = [QueryContents(IMAGE, (Part(BucketStorage(self.bucket, step), tuple(clones), files, {}),))]
        look = take.Look(TakePlan(JOB.job, {}, 0, 0, 0, ""), gathered, 0.0)
        take.take(JOB, Newest(), self.shelf(step), take.Naming(SavepointId(savepoint), NOW_MS), first=look)

    def dispose(self, *savepoints: str, step: Step = lambda: None) -> None:
        """One after the other, as they are named together."""
        shelf = self.shelf(step)
        for savepoint in savepoints:
            dispose.dispose(shelf, SavepointId(savepoint), NOW_MS)

    def clean(self, savepoint: str, step: Step = lambda: None) -> None:
        """As the next start does, or one with a wrong clock, which takes everybody for dead."""
        library.cleaned(self.shelf(step), SavepointId(savepoint), NOW_MS, lives=lambda *_: False)

    def published(self) -> list[str]:
        return [key.partition("/")[0] for key in self.bucket.objects if key.endswith("/manifest.json")]

    def named(self, savepoint: str) -> frozenset[str]:
        return _named(savepoint, self.bucket.objects[f"{savepoint}/manifest.json"])

    def check(self) -> None:
        """Nothing that a manifest names is missing."""
        for savepoint in self.published():
            missing = self.named(savepoint) - self.bucket.objects.keys()
            assert not missing, f"{savepoint} misses {missing}"

    def settled(self) -> None:
        """After the next start: whole savepoints, with all their content, and nothing else."""
        for savepoint in {key.partition("/")[0] for key in self.bucket.objects if key.startswith("sp-")}:
            self.clean(savepoint)
        collection.collect(self.shelf().home)
        self.check()
        shelf, published = self.shelf(), self.published()
        for savepoint in published:
            for file in manifests.load(shelf, SavepointId(savepoint)).files:
                if file.path.startswith("queries/"):
                    assert shelf.read(f"{savepoint}/{file.path}") == self.live[file.path[-1]]
        there = {key for key in self.bucket.objects if key.startswith("objects/files/")}
        assert there == {name for savepoint in published for name in self.named(savepoint)}
        assert self.bucket.below(objects.CLAIMS) == []
        assert {key.partition("/")[0] for key in self.bucket.objects} <= {"live", "objects", *published}


def home() -> Home:
    return Home({name: name.encode() * 3 for name in "abcd"})


def test_savepoints_share_what_is_the_same() -> None:
    there = home()
    there.take("sp-1", "abc")
    before = set(there.bucket.objects)
    there.take("sp-2", "bcd")
    new = set(there.bucket.objects) - before
    assert len([key for key in new if key.startswith("objects/")]) == 1 and there.named("sp-1") & there.named("sp-2")
    assert manifests.load(there.shelf(), SavepointId("sp-2")).how == {"shared": 2, "server-copy": 1, "written": 1}
    plans = [dispose.look(there.shelf(), SavepointId(name), NOW_MS).plan for name in ("sp-1", "sp-2")]
    sizes = there.bucket.objects
    own = [sum(len(sizes[key]) for key in there.bucket.below(name)) for name in ("sp-1", "sp-2")]
    assert [plan.frees_bytes for plan in plans] == [own[0] + 3, own[1] + 3], "what the other one needs stays"
    there.dispose("sp-1")
    there.settled()
    there.dispose("sp-2")
    assert set(there.bucket.objects) == {f"live/{name}" for name in "abcd"}


def test_a_file_of_another_content_is_another_object() -> None:
    there = home()
    there.take("sp-1", "a")
    there.live["a"] = there.bucket.objects["live/a"] = b"new"
    there.take("sp-2", "a")
    assert not there.named("sp-1") & there.named("sp-2")
    assert {there.shelf().read(f"{name}/queries/q/checkpoint/a") for name in ("sp-1", "sp-2")} == {b"aaa", b"new"}


def test_many_are_disposed_of_with_each_manifest_read_once() -> None:
    there = home()
    for number in range(6):
        there.take(f"sp-{number}", "abcd"[number % 3 :])
    there.bucket.asked.clear()
    there.dispose("sp-0", "sp-1", "sp-2", "sp-3")
    asked = there.bucket.asked
    assert all(asked[f"sp-{number}/manifest.json"] <= 1 for number in (4, 5)), "as far as collections read them"
    assert all(asked[f"sp-{number}/manifest.json"] <= 2 for number in range(4)), "and once more to list what it shares"
    there.settled()


def test_sealing_lists_what_is_there_once() -> None:
    there = home()
    there.take("sp-1", "abc")
    there.bucket.asked.clear()
    verification = verified(there.shelf(), SavepointId("sp-1"), Trust.INTACT, NOW_MS)
    assert verification.reached is Trust.INTACT
    assert [folder for folder in there.bucket.asked.elements() if folder.startswith("list ")] == ["list sp-1", ORIGIN]
    there.bucket.asked.clear()
    assert verified(there.shelf(), SavepointId("sp-1"), Trust.INTACT, NOW_MS).reached is Trust.INTACT
    assert there.bucket.asked["list sp-1"] == there.bucket.asked[ORIGIN] == 1
    there.bucket.objects[next(iter(there.named("sp-1")))] = b"xyz"
    assert verified(there.shelf(), SavepointId("sp-1"), Trust.INTACT, NOW_MS).reached is None


def actors(there: Home) -> list[Actor]:
    """Two disposals of savepoints that share files with each other, two takings that could use these, and a collection."""
    return [
        Actor(lambda step: there.dispose("sp-1", "sp-5", step=step)),
        Actor(lambda step: there.take("sp-3", "abd", step)),
        Actor(lambda step: there.dispose("sp-2", step=step)),
        Actor(lambda step: there.take("sp-4", "bd", step)),
        Actor(lambda step: collection.collect(there.shelf(step).home)),
    ]


def begun() -> Home:
    there = home()
    there.take("sp-1", "abc")
    there.take("sp-2", "bc")
    there.take("sp-5", "c")
    return there


def refuse_unforeseen(acting: Iterable[Actor], *foreseen: type[BaseException]) -> None:
    for actor in acting:
        if actor.raised is not None and not isinstance(actor.raised, foreseen):
            raise actor.raised


@pytest.mark.parametrize("part", range(4))
def test_in_any_order_nothing_that_is_named_is_missing(part: int) -> None:
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        there = begun()
        acting = actors(there)
        in_turns(acting, seed, there.check)
        refuse_unforeseen(acting)
        assert set(there.published()) == {"sp-3", "sp-4"}, seed
        there.settled()
        assert there.bucket.below(objects.CONDEMNED) == [], seed


@pytest.mark.parametrize("part", range(4))
def test_killed_at_any_request(part: int) -> None:
    """One or two of them, at a request that the seed says; what they left is collected by the next start."""
    longest = in_turns(actors(begun()), 0, lambda: None)
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        there = begun()
        acting = actors(there)
        for number in {seed % len(acting), seed // len(acting) % len(acting)}:
            acting[number].last = 1 + seed * 7 % longest[number]
        in_turns(acting, seed, there.check)
        refuse_unforeseen(acting, Killed)
        there.settled()


def test_killed_at_each_request_of_each() -> None:
    for number in range(5):
        last = 1
        while True:
            there = begun()
            acting = actors(there)
            acting[number].last = last
            for actor in acting:
                in_turns([actor], last, there.check)
            refuse_unforeseen(acting, Killed)
            there.settled()
            if acting[number].raised is None:
                break
            last += 1


def test_who_is_taken_for_dead_by_a_wrong_clock_publishes_nothing_that_is_not_whole() -> None:
    """A cleaner takes a taking away that goes on: it fails, or what it published is whole or gone."""
    failed = 0
    for seed in range(SEEDS):
        there = begun()
        taking = Actor(lambda step, there=there: there.take("sp-3", "abd", step))  # type: ignore[misc]
        others = [
            Actor(lambda step, there=there: there.clean("sp-3", step)),  # type: ignore[misc]
            Actor(lambda step, there=there: there.dispose("sp-1", "sp-5", step=step)),  # type: ignore[misc]
            Actor(lambda step, there=there: there.dispose("sp-2", step=step)),  # type: ignore[misc]
        ]
        in_turns([taking, *others], seed, lambda: None)
        refuse_unforeseen(others)
        refuse_unforeseen([taking], TidemarkError)
        failed += taking.raised is not None
        there.settled()
    assert 0 < failed < SEEDS


def test_a_manifest_that_cannot_be_read_keeps_everything() -> None:
    there = begun()
    there.bucket.objects["sp-2/manifest.json"] = b"{"
    there.dispose("sp-1", "sp-5")
    assert len(there.bucket.below(objects.FILES)) == 3
    there.dispose("sp-2")
    assert there.bucket.below(objects.FOLDER) == []
