"""A job that moves on while savepoints of it are taken, forked, sealed, exported and disposed of, with crashes at any step in between,
beside a model of what must be there: any order of these, tried by hypothesis."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from pipelines.checkpoint.closure import closure
from pipelines.domain.errors import AlreadyExists, NotFound
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trust import Trust
from pipelines.domain.watch import Unwatched
from pipelines.savepoint import checksums, dispose, exports, imports, library, process_marks, restore, take, verify
from pipelines.savepoint.addresses import address
from pipelines.savepoint.batch_choice import BatchChoice, Newest, OfBatch
from pipelines.savepoint.contents import retained_batches
from pipelines.savepoint.exports import Target
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from tests.conftest import in_ci
from tests.savepoint.faulty import Fault, FaultyStorage, Killed, Kills, break_folders
from tests.savepoint.golden import NOW_MS, VERSION
from tests.savepoint.moving import MovingJob
from tests.verified import verified

STORES = ("stateless", "hdfs", "rocksdb_changelog", "rocksdb_format2")
FORMS = ("", ".tar.zst")
MOST = 4
"""Savepoints, checkpoints and exports at a time: enough for each to be in another's way."""
EXAMPLES = 15 if in_ci() else 10
STEPS = 25
Wrap = Callable[[Storage], Storage]


@dataclass(frozen=True)
class Made:
    """A checkpoint that a restore has published."""

    batch: int
    query_id: str


@dataclass(frozen=True)
class Exported:
    """An export that is at its place."""

    manifest: Manifest
    seal: checksums.Seal


class Purges(Fault):
    """At the k-th step the job commits a batch, and Spark purges all but the newest."""

    def __init__(self, at: int, job: MovingJob) -> None:
        super().__init__(at)
        self._job = job

    def strike(self) -> None:
        if self.steps == self.at and self._job.newest < self._job.last:
            self._job.commit()
            self._job.purge(1)


class Machine(RuleBasedStateMachine):
    """The engine on real files beside the model: `listed`, `sealed`, `made`, `exports` are what must be there."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.library = LocalStorage(self.folder / "savepoints")
        self.now_ms, self.crashed_ms, self.numbers = NOW_MS, NOW_MS, 0
        self.listed: dict[SavepointId, int] = {}
        self.sealed: set[SavepointId] = set()
        self.doomed: set[SavepointId] = set()
        """Listed, though their disposal had begun when the process died: the next start completes it."""
        self.made: dict[str, Made] = {}
        self.lived: set[str] = set()
        """Those of `made` that the job has run on, and so are not what they were."""
        self.exports: dict[str, Exported] = {}
        self.interrupted: list[Target] = []

    @initialize(store=st.sampled_from(STORES), batches=st.integers(1, 12), savepoints=st.integers(1, 3))
    def begin(self, store: str, batches: int, savepoints: int) -> None:
        """A job with some batches, and savepoints of the newest of them."""
        self.job = MovingJob(self.folder, store)
        for _ in range(batches):
            self.job.commit()
        for batch in self.job.retained[-savepoints:]:
            self._take(OfBatch(batch), batch, None)

    def teardown(self) -> None:
        try:
            if hasattr(self, "job"):
                self.restart()
                for url in self.exports:
                    self._check(url)
        finally:
            shutil.rmtree(self.folder)

    # the job

    @precondition(lambda self: self.job.newest < self.job.last)
    @rule(batches=st.integers(1, 4))
    def job_commits(self, batches: int) -> None:
        for _ in range(min(batches, self.job.last - self.job.newest)):
            self.job.commit()

    @precondition(lambda self: self.job.newest < self.job.last)
    @rule()
    def job_plans(self) -> None:
        self.job.plan()

    @rule(keep=st.integers(1, 6))
    def job_purges(self, keep: int) -> None:
        self.job.purge(keep)

    # what is done to savepoints; each may die at any step

    @precondition(lambda self: len(self.listed) < MOST)
    @rule(pick=st.integers(0, 20), die=st.one_of(st.none(), st.integers(1, 90)))
    def take_one(self, pick: int, die: int | None) -> None:
        """The newest batch every other time, else a retained one."""
        batch = self.job.retained[pick // 2 % len(self.job.retained)] if pick % 2 else self.job.newest
        self._take(OfBatch(batch) if pick % 2 else Newest(), batch, die)

    @precondition(lambda self: len(self.listed) < MOST and self.job.newest < self.job.last)
    @rule(step=st.integers(1, 60))
    def take_while_the_job_moves(self, step: int) -> None:
        moves = Purges(step, self.job)
        savepoint = self._id()
        taken = take.take(self.job.source(), Newest(), FaultyStorage(self.library, moves), take.Naming(savepoint, self._now()))
        assert taken.batch in (self.job.newest, self.job.newest - 1)
        self.listed[savepoint] = taken.batch

    @rule()
    def take_what_is_not_there(self) -> None:
        """A batch that is planned at most, and one that is purged or whose batch before is."""
        for batch in {self.job.newest + 1, self.job.oldest} - set(self.job.retained):
            with pytest.raises(NotFound, match="does not keep"):
                take.take(self.job.source(), OfBatch(batch), self.library, take.Naming(self._id(), self._now()))

    @precondition(lambda self: self.listed and len(self.made) < MOST)
    @rule(pick=st.integers(0, 5), resumes=st.booleans(), die=st.one_of(st.none(), st.integers(1, 90)))
    def restore_one(self, pick: int, resumes: bool, die: int | None) -> None:
        savepoint, name = self._pick(pick), f"j-{self._number()}"
        place = str(self.folder / "made" / name)
        fork = restore.Fork(JobName(name), place, VERSION, str(self.folder), lambda: f"id-{name}")
        done: list[restore.Restored] = []

        def work(wrap: Wrap) -> None:
            target = restore.Resume(JobName("job"), place) if resumes else fork
            opened: Callable[[str], Storage] = lambda url: wrap(LocalStorage(url))  # noqa: E731
            done.append(restore.restore(wrap(self.library), savepoint, target, self._now(), opened, self._lives))

        crashed = self._do(work, die)
        if self._happened(Path(place).exists(), crashed):
            images = library.manifest(self.library, savepoint).queries
            self.made[name] = Made(self.listed[savepoint], images[0].query_id if resumes else f"id-{name}")
        if resumes and not crashed:
            self.lived.add(name)
            self.job.go_on_from(done[0], self.listed[savepoint])

    @precondition(lambda self: self.listed)
    @rule(pick=st.integers(0, 5), die=st.one_of(st.none(), st.integers(1, 90)))
    def seal_and_verify(self, pick: int, die: int | None) -> None:
        savepoint = self._pick(pick)
        crashed = self._do(lambda wrap: verified(wrap(self.library), savepoint, Trust.INTACT, self._now()), die)
        self._see_seal(savepoint, crashed)

    @precondition(lambda self: self.listed)
    @rule(pick=st.integers(0, 5), die=st.one_of(st.none(), st.integers(1, 90)))
    def dispose_of(self, pick: int, die: int | None) -> None:
        savepoint = self._pick(pick)
        crashed = self._do(lambda wrap: dispose.dispose(wrap(self.library), savepoint, self._now(), self._lives), die)
        if self._happened(savepoint not in self._shelved(), crashed):
            del self.listed[savepoint]
            self.sealed.discard(savepoint)
            self.doomed.discard(savepoint)
        elif (self.folder / "savepoints" / savepoint / "disposing.json").exists():
            self.doomed.add(savepoint)

    @precondition(lambda self: self.listed and len(self.exports) < MOST)
    @rule(pick=st.integers(0, 5), form=st.sampled_from(FORMS), die=st.one_of(st.none(), st.integers(1, 250)))
    def export(self, pick: int, form: str, die: int | None) -> None:
        savepoint, url = self._pick(pick), str(self.folder / "exports" / f"e-{self._number()}{form}")
        to = self._target(url)

        def work(wrap: Wrap) -> None:
            opened: Callable[[str], Storage] = lambda at: wrap(LocalStorage(at))  # noqa: E731
            exports.export(wrap(self.library), savepoint, to, self._now(), read_back=True, open_at=opened, lives=self._lives)

        crashed = self._do(work, die)
        self._see_seal(savepoint, crashed)
        if crashed:
            self.interrupted.append(to)
        if self._happened(Path(url).exists(), crashed):
            seal = checksums.read(self.library, savepoint)
            assert seal is not None
            self.exports[url] = Exported(library.manifest(self.library, savepoint), seal)
            self._check(url)

    @precondition(lambda self: self.exports)
    @rule(pick=st.integers(0, 5), die=st.one_of(st.none(), st.integers(1, 90)))
    def import_one(self, pick: int, die: int | None) -> None:
        url = list(self.exports)[pick % len(self.exports)]
        manifest = self.exports[url].manifest
        there = (self.folder / "savepoints" / manifest.id).exists()
        work: Callable[[Wrap], object] = lambda wrap: imports.bring(url, wrap(self.library), self._now())  # noqa: E731
        if there:
            with pytest.raises((AlreadyExists, Killed)):
                self._faulted(work, die)
            return
        crashed = self._do(work, die)
        if self._happened(manifest.id in self._shelved(), crashed):
            self.listed[manifest.id] = manifest.queries[0].batch
            self.sealed.add(manifest.id)

    # what happens to the rest

    @precondition(lambda self: len(self.made) > 1)
    @rule(pick=st.integers(0, 5))
    def forget_a_checkpoint(self, pick: int) -> None:
        """A fork is removed with its files; what it was made from does not notice."""
        name = list(self.made)[pick % len(self.made)]
        if self.job.checkpoint.parent.name != name:
            del self.made[name]
            shutil.rmtree(self.folder / "made" / name)

    @precondition(lambda self: self.exports)
    @rule(pick=st.integers(0, 5))
    def remove_an_export(self, pick: int) -> None:
        url = list(self.exports)[pick % len(self.exports)]
        del self.exports[url]
        shutil.rmtree(url) if Path(url).is_dir() else Path(url).unlink()

    @rule()
    def restart(self) -> None:
        """The process is gone, another one opens the workspace: nothing is left but what the model has."""
        self._die()
        now = self._now()
        cleaned = library.clean(self.library, now, self._lives)
        restore.clean(str(self.folder / "made"), now, self._lives)
        for target in self.interrupted:
            exports.clean(target)
        assert self.doomed <= set(cleaned.disposed)
        for savepoint in self.doomed:
            del self.listed[savepoint]
            self.sealed.discard(savepoint)
        self.doomed, self.interrupted = set(), []
        self._nothing_else()

    @invariant()
    def listed_as_the_model_says(self) -> None:
        shelf = library.shelf(self.library)
        assert shelf.unreadable == ()
        assert {savepoint.id: savepoint.batch for savepoint in shelf.savepoints} == self.listed

    @invariant()
    def savepoints_are_whole(self) -> None:
        for savepoint in self.listed:
            level = Trust.INTACT if savepoint in self.sealed else Trust.COMPLETE
            verification = verify.check(self.library, savepoint, level, self.now_ms)
            assert (verification.reached, verification.damages) == (level, ())

    @invariant()
    def checkpoints_are_whole(self) -> None:
        for name, made in self.made.items():
            if name not in self.lived:
                made_closure = closure(LocalStorage(self.folder / "made" / name / "counts"), made.batch)
                assert made_closure.query_id == made.query_id

    @invariant()
    def retained_as_the_model_says(self) -> None:
        if hasattr(self, "job"):
            batches = retained_batches(self.job.source().queries[0])
            assert [batch.batch for batch in batches] == self.job.retained

    # how

    def _take(self, choice: BatchChoice, batch: int, die: int | None) -> None:
        savepoint = self._id()
        naming = take.Naming(savepoint, self._now())
        crashed = self._do(lambda wrap: take.take(self.job.source(), choice, wrap(self.library), naming), die)
        if self._happened(savepoint in self._shelved(), crashed):
            self.listed[savepoint] = batch

    def _do(self, work: Callable[[Wrap], object], die: int | None) -> bool:
        """Whether the process died in it, which makes every mark that it had left a dead one's."""
        try:
            self._faulted(work, die)
        except Killed:
            self._die()
            return True
        return False

    @staticmethod
    def _faulted(work: Callable[[Wrap], object], die: int | None) -> None:
        with pytest.MonkeyPatch.context() as patch:
            fault = Kills(die or 0)
            break_folders(patch, fault)
            work(lambda storage: FaultyStorage(storage, fault))

    @staticmethod
    def _happened(seen: bool, crashed: bool) -> bool:
        """A verb that answered has done it; one that died has done it or not."""
        assert seen or crashed
        return seen

    def _see_seal(self, savepoint: SavepointId, crashed: bool) -> None:
        if self._happened(checksums.read(self.library, savepoint) is not None, crashed):
            self.sealed.add(savepoint)

    def _die(self) -> None:
        self.crashed_ms = self._now()

    def _lives(self, mark: process_marks.ProcessMark, _now_ms: int) -> bool:
        return mark.since_ms > self.crashed_ms

    def _now(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    def _id(self) -> SavepointId:
        return SavepointId(f"sp-{self._number()}")

    def _pick(self, pick: int) -> SavepointId:
        return list(self.listed)[pick % len(self.listed)]

    def _shelved(self) -> set[SavepointId]:
        return {savepoint.id for savepoint in library.shelf(self.library).savepoints}

    def _check(self, url: str) -> None:
        exported = self.exports[url]
        exports.check(address(url).parent, self._target(url), exported.manifest, exported.seal, Unwatched())

    @staticmethod
    def _target(url: str) -> Target:
        return exports.target(address(url), None, "o-1")

    def _nothing_else(self) -> None:
        """On disk is what the model has, to the last file and folder."""
        known = {"manifest.json", "checksums.json", "verified.json", "imported.json"}
        shelved = self.folder / "savepoints"
        for savepoint in self.listed:
            expected = {file.path for file in library.manifest(self.library, savepoint).files} | known
            assert _files(shelved / savepoint) <= expected
        assert _names(shelved) == set(self.listed)
        assert _names(self.folder / "made") == set(self.made)
        for name in self.made:
            assert _names(self.folder / "made" / name) <= {"counts", ".sinks"}
        assert _names(self.folder / "exports") == {Path(url).name for url in self.exports}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def _files(folder: Path) -> set[str]:
    """Every file below, and every folder that is empty."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())}


def run(examples: int, **more: Any) -> None:
    chosen = settings(max_examples=examples, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck), **more)
    run_state_machine_as_test(Machine, settings=chosen)


@pytest.fixture(autouse=True)
def _one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a time: the k-th step is the same each time."""
    monkeypatch.setattr(checksums, "THREADS", 1)


def test_any_order_of_everything() -> None:
    run(EXAMPLES)


def unpublish_last(shelved: Storage, savepoint: SavepointId) -> None:
    """What `discard` must not be: the files are deleted first, the manifest after them."""
    manifest = f"{savepoint}/manifest.json"
    shelved.delete([entry.path for entry in shelved.list(savepoint) if entry.path != manifest])
    shelved.delete([manifest])


def forget_one(shelved: Storage, savepoint: SavepointId) -> None:
    """What a cleaning must not do: nothing."""


@pytest.mark.parametrize(("module", "planted"), [(dispose, unpublish_last), (library, forget_one)], ids=["disposal", "cleaning"])
def test_a_planted_bug_is_found(module: ModuleType, planted: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "discard", planted)
    with pytest.raises(AssertionError):
        run(600, phases=[Phase.generate], report_multiple_bugs=False, derandomize=False, database=None)
