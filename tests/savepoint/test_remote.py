"""The engine on S3: checkpoints, savepoints and restores in a bucket, in every pairing with the local disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pipelines.checkpoint.closure import closure
from pipelines.domain.errors import AlreadyExists, NotFound
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint import dispose, library, process_marks, restore, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.restore import Restored
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Advance, Clone, How, Storage, unwatched
from tests.savepoint import golden
from tests.savepoint.faulty import Fault, FaultyStorage, Killed, Kills, break_folders
from tests.savepoint.golden import NOW_MS, VERSION, Bench
from tests.savepoint.test_cancelled import Cancelled, Listening
from tests.savepoint.test_take import NAMES
from tests.verified import verified

SP = SavepointId("sp-1")
SMALL, NEWEST = "stateless", 12


@dataclass(frozen=True)
class Setting:
    """Where the parts of a job are: each a local path or a URL."""

    checkpoint: str
    output: str
    savepoints: str
    forks: str

    @property
    def library(self) -> Storage:
        return open_storage(self.savepoints)

    def source(self) -> JobSource:
        place = QueryLocation(QueryName("counts"), self.checkpoint, "parquet", f"{self.output}/counts")
        return JobSource(JobName("job"), RunId("r-1"), VERSION, "4.3.0", (place,))

    def take(self, to: Storage | None = None, savepoint: SavepointId = SP) -> Savepoint:
        return take.take(self.source(), Newest(), to or self.library, take.Naming(savepoint, NOW_MS))

    def fork(self, bench: Bench, forks: str) -> Restored:
        """A fork on the local disk or in the bucket; it can only continue an output that is on the local disk."""
        choice = {"*": "fresh"} if self.output.startswith("s3:") else {}
        target = replace(bench.fork(), checkpoints=f"{forks}/fork", parent_output=self.output, sinks=choice)
        return restore.restore(self.library, SP, target, NOW_MS)


def upload(folder: Path, url: str) -> str:
    source = LocalStorage(folder)
    list(open_storage(url).clone(source, [Clone(entry.path, entry.path) for entry in source.list()]))
    return url


def setting(bench: Bench, s3_url: str, checkpoint: str, savepoints: str) -> Setting:
    """The golden job of `bench` with its checkpoint and savepoints each on the local disk (`local`) or in the bucket (`s3`)."""
    places = {"local": str(bench.folder), "s3": s3_url}
    if checkpoint == "s3":
        upload(bench.checkpoint, f"{s3_url}/live/counts")
        upload(bench.output, f"{s3_url}/output")
    return Setting(
        f"{places[checkpoint]}/live/counts",
        f"{places[checkpoint]}/output",
        f"{places[savepoints]}/savepoints",
        f"{places[savepoints]}/forks",
    )


def contents(url: str) -> dict[str, bytes]:
    storage = open_storage(url)
    return {entry.path: storage.read(entry.path) for entry in storage.list()}


@pytest.mark.parametrize("name", NAMES)
def test_every_golden_job_is_saved_in_s3_and_comes_back(name: str, s3_url: str, tmp_path: Path) -> None:
    """What is restored from the bucket is, byte for byte, what is restored from the local disk."""
    bench = golden.bench(tmp_path, name)
    here, there = (setting(bench, s3_url, "local", where) for where in ("local", "s3"))
    taken = there.take()
    assert taken.queries == here.take().queries
    assert taken.path == f"{s3_url}/savepoints/sp-1"
    assert library.shelf(there.library).savepoints == (taken,)
    verification = verified(there.library, SP, Trust.INTACT, NOW_MS)
    assert (verification.reached, verification.damages) == (Trust.INTACT, ())
    made = there.fork(bench, str(bench.folder / "forks"))
    back = contents(made.checkpoints)
    Path(made.checkpoints).rename(bench.folder / "from-s3")
    assert back == contents(here.fork(bench, str(bench.folder / "forks")).checkpoints)
    assert closure(LocalStorage(bench.folder / "from-s3" / "counts"), taken.batch).query_id == "a-new-id"


@pytest.mark.parametrize(
    ("checkpoint", "savepoints", "how"), [("local", "s3", How.COPY), ("s3", "s3", How.SERVER_COPY), ("s3", "local", How.COPY)]
)
def test_from_anywhere_to_anywhere(checkpoint: str, savepoints: str, how: How, s3_url: str, bench: Bench) -> None:
    """Taken, verified, restored to both places, disposed of; then nothing is left of it."""
    job = setting(bench, s3_url, checkpoint, savepoints)
    assert take.look(job.source(), Newest(), job.library).plan.how == how
    taken = job.take()
    manifest = library.manifest(job.library, SP)
    assert manifest.how == {how: sum(manifest.how.values()) - manifest.how["written"], "written": manifest.how["written"]}
    assert taken.new_bytes >= taken.bytes
    assert verified(job.library, SP, Trust.INTACT, NOW_MS).reached is Trust.INTACT
    for forks in (str(bench.folder / "forks"), f"{s3_url}/forks"):
        made = job.fork(bench, forks)
        assert closure(open_storage(f"{made.checkpoints}/counts"), taken.batch).query_id == "a-new-id"
        assert checkpoint == "s3" or "9.compact" in contents(made.sink_logs[QueryName("counts")])
        assert [path for path in contents(forks) if not path.startswith("fork/")] == []
        with pytest.raises(AlreadyExists):
            job.fork(bench, forks)
    dispose.dispose(job.library, SP, NOW_MS)
    assert contents(job.savepoints) == {}
    with pytest.raises(NotFound):
        library.load(job.library, SP)


@pytest.mark.parametrize(("checkpoint", "savepoints"), [("s3", "local"), ("local", "s3")])
def test_a_cancelled_copy_leaves_nothing(checkpoint: str, savepoints: str, s3_url: str, bench: Bench) -> None:
    """Of a savepoint from or to a bucket, cancelled half way; the next one is whole."""
    job, counting = setting(bench, s3_url, checkpoint, savepoints), Listening()
    take.take(job.source(), Newest(), job.library, take.Naming(SavepointId("sp-0"), NOW_MS), counting)
    assert sum(counting.told) == counting.steps[0][1] > 0
    before = contents(job.savepoints)
    with pytest.raises(Cancelled):
        take.take(job.source(), Newest(), job.library, take.Naming(SP, NOW_MS), Listening(counting.words // 2))
    assert contents(job.savepoints) == before
    job.take()
    assert verified(job.library, SP, Trust.INTACT, NOW_MS).reached is Trust.INTACT


def test_damage_in_a_bucket_is_found(s3_url: str, bench: Bench) -> None:
    job = setting(bench, s3_url, "local", "s3")
    job.take()
    assert verified(job.library, SP, Trust.INTACT, NOW_MS).damages == ()
    victim = "sp-1/queries/counts/checkpoint/metadata"
    job.library.write(victim, b"x" * len(job.library.read(victim)))
    assert [damage.path for damage in verified(job.library, SP, Trust.INTACT, NOW_MS).damages] == [victim.removeprefix("sp-1/")]
    job.library.delete([victim])
    assert verified(job.library, SP, Trust.COMPLETE, NOW_MS).damages[0].kind == "missing"


@dataclass(frozen=True)
class Noting(FaultyStorage):
    """Notes where files are copied to."""

    targets: list[str] = field(default_factory=list)

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Iterable[How]:
        self.targets.extend(file.target for file in files)
        return super().clone(source, files, advance)


def test_a_restore_in_a_bucket_copies_each_file_once_and_never_over_another(s3_url: str, bench: Bench) -> None:
    job = setting(bench, s3_url, "local", "s3")
    job.take()
    target, targets = replace(bench.fork(), checkpoints=f"{job.forks}/fork", parent_output=job.output), list[str]()
    made = restore.restore(job.library, SP, target, NOW_MS, lambda url: Noting(open_storage(url), Fault(0), targets))
    written = contents(job.forks).keys() - set(targets)
    assert len(targets) == len(set(targets)) == made.files - len(written) > len(written)
    with pytest.raises(AlreadyExists):
        restore.restore(job.library, SP, target, NOW_MS)
    assert len(contents(job.forks)) == made.files
    forks, mark = open_storage(job.forks), "fork/making.json"
    forks.write(mark, documents.encode(process_marks.this_process(NOW_MS, f"restore {SP}")))
    assert restore.clean(job.forks, NOW_MS, lambda *_: False) == ()
    assert len(contents(job.forks)) == made.files, "what was built aside is whole, and may run: its mark alone is left of a crash"
    forks.write(mark, documents.encode(process_marks.this_process(NOW_MS, f"{restore.IN_PLACE} {SP}")))
    assert restore.clean(job.forks, NOW_MS, lambda *_: False) == (f"{job.forks}/fork",)
    assert contents(job.forks) == {}


def strike(fault: Fault, job: Setting, bench: Bench, verb: str) -> bool:
    """Whether `verb` was killed by `fault` before it was done."""

    def faulty(url: str) -> Storage:
        return FaultyStorage(open_storage(url), fault)

    with pytest.MonkeyPatch.context() as patch:
        break_folders(patch, fault)
        try:
            if verb == "take":
                job.take(faulty(job.savepoints))
            elif verb == "dispose":
                dispose.dispose(faulty(job.savepoints), SP, NOW_MS)
            else:
                target = replace(bench.fork(), checkpoints=f"{job.forks}/fork", parent_output=job.output)
                restore.restore(faulty(job.savepoints), SP, target, NOW_MS, faulty)
        except Killed:
            return True
    return False


def assert_clean(job: Setting) -> None:
    """After a cleaning: whole savepoints and whole checkpoints, and nothing else."""
    library.clean(job.library, NOW_MS, lives=lambda *_: False)
    restore.clean(job.forks, NOW_MS, lives=lambda *_: False)
    listed = library.shelf(job.library)
    assert listed.unreadable == ()
    files = {f"{savepoint.id}/{file.path}" for savepoint in listed.savepoints for file in library.manifest(job.library, savepoint.id).files}
    assert files <= set(contents(job.savepoints)) <= files | {f"{savepoint.id}/manifest.json" for savepoint in listed.savepoints}
    left = contents(job.forks)
    if left:
        assert closure(open_storage(f"{job.forks}/fork/counts"), NEWEST).query_id == "a-new-id"
        assert {path.split("/")[0] for path in left} == {"fork"}


@pytest.mark.parametrize("verb", ["take", "fork", "dispose"])
def test_what_a_kill_leaves_in_a_bucket_is_cleaned(verb: str, s3_url: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, SMALL)
    counting = Fault(0)
    for part in (1.0, 0.02, 0.4, 0.75, 0.97):
        job = setting(bench, f"{s3_url}/{part}", "local", "s3")
        if verb != "take":
            job.take()
        if part == 1.0:
            assert not strike(counting, job, bench, verb)
        else:
            assert strike(Kills(max(1, round(counting.steps * part))), job, bench, verb), part
        assert_clean(job)
