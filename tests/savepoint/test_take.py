from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound, Unavailable
from pipelines.domain.ids import QueryName, SavepointId
from pipelines.domain.savepoints import RetainedBatch, StoredFile
from pipelines.domain.trust import Trust
from pipelines.savepoint import batch_choice, completeness, contents, library, take
from pipelines.savepoint.batch_choice import AtTime, BatchChoice, Newest, OfBatch, OfBatches, point
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Advance, Clone, How, Storage, unwatched
from tests.savepoint import golden
from tests.savepoint.golden import GOLDEN, NEWEST, NOW_MS, Bench

NAMES = sorted(path.name for path in GOLDEN.iterdir() if (path / "checkpoint").is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_every_golden_job_can_be_taken(name: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, name)
    taken = bench.take()
    manifest = library.manifest(bench.library, taken.id)
    on_disk = {path.removeprefix("sp-1/") for path in bench.files()} - {"manifest.json"}
    assert on_disk == {file.path for file in manifest.files}, "what is written is what the manifest says, and no mark stays"
    assert taken.trust is Trust.COMPLETE
    assert library.shelf(bench.library).savepoints == (taken,)
    assert sum(manifest.how.values()) == len(manifest.files)


def test_files_of_spark_are_linked_and_cost_nothing(bench: Bench) -> None:
    planned = take.look(bench.source(), Newest(), bench.library).plan
    taken = bench.take()
    clone = bench.folder / "savepoints" / "sp-1" / "queries" / "counts" / "checkpoint" / "metadata"
    assert os.path.samefile(clone, bench.checkpoint / "metadata")
    written = sum(path.stat().st_size for path in (bench.folder / "savepoints").rglob("*") if path.is_file() and path.stat().st_nlink == 1)
    assert abs(taken.new_bytes - written) <= 8
    assert (planned.how, planned.batches, planned.files, planned.bytes) == ("link", {"counts": NEWEST}, taken.files, taken.bytes)


def test_a_link_of_another_file_than_the_listed_one_is_asked_for_its_size(bench: Bench) -> None:
    source, place = LocalStorage(bench.checkpoint), bench.library
    listed = list(source.list())

    def link(folder: str) -> None:
        place.clone(source, [Clone(entry.path, f"{folder}/{entry.path}", entry.bytes, "", entry.inode) for entry in listed])

    link("same")
    path = bench.checkpoint / "metadata"
    other = path.read_bytes()
    path.unlink()
    path.write_bytes(other)
    link("as-long")
    path.write_bytes(other + b" ")
    with pytest.raises(NotFound, match=f"metadata changed while it was linked: it has {len(other) + 1} bytes, and had {len(other)}"):
        link("longer")


@pytest.mark.parametrize("few", [True, False])
def test_what_is_not_there_as_it_was_listed_is_refused(bench: Bench, few: bool) -> None:
    bench.take()
    path = bench.folder / "savepoints/sp-1/queries/counts/checkpoint/metadata"
    files = [StoredFile("queries/counts/checkpoint/metadata", path.stat().st_size)]
    completeness.require(bench.library, SavepointId("sp-1"), files, few)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(NotFound, match="metadata changed while it was cloned"):
        completeness.require(bench.library, SavepointId("sp-1"), files, few)
    path.unlink()
    with pytest.raises(NotFound, match="metadata changed while it was cloned"):
        completeness.require(bench.library, SavepointId("sp-1"), files, few)


def test_the_image_says_what_it_is(bench: Bench) -> None:
    image = bench.take().queries[0]
    assert (image.batch, image.provider, image.state_format, image.sink) == (NEWEST, "rocksdb", 2, "parquet")
    assert [(operator.name, operator.partitions) for operator in image.operators] == [("stateStoreSave", 2)]
    assert image.watermark_ms > 1_767_225_600_000
    assert [offset.source for offset in image.offsets] == ["0"]


@pytest.mark.parametrize("batch", [0, 3, 9, 10, 12])
def test_a_batch_in_the_past(batch: int, bench: Bench) -> None:
    taken = bench.take(choice=OfBatch(batch))
    assert taken.batch == batch
    home = bench.folder / "savepoints" / "sp-1" / "queries" / "counts"
    assert max(int(path.name) for path in (home / "checkpoint" / "offsets").iterdir() if path.name[0] != ".") == batch
    assert max(int(path.name.removesuffix(".compact")) for path in (home / "sink").iterdir() if path.name[0] != ".") == batch


def test_at_a_time_it_is_the_newest_batch_committed_by_then(bench: Bench) -> None:
    for batch in range(NEWEST + 1):
        os.utime(bench.checkpoint / "commits" / str(batch), (1000 + batch, 1000 + batch))
    assert bench.take("sp-a", AtTime(1_005_000)).batch == 5
    assert bench.take("sp-b", AtTime(1_005_999)).batch == 5
    assert bench.take("sp-c", AtTime(9_999_000)).batch == NEWEST
    with pytest.raises(NotFound, match="keeps 0 to 13") as refused:
        bench.take("sp-d", AtTime(999_000))
    assert refused.value.code == "savepoint.not_retained"


def test_what_cannot_be_taken(bench: Bench) -> None:
    with pytest.raises(NotFound) as refused:
        bench.take(choice=OfBatch(99))
    assert refused.value.code == "savepoint.not_retained"
    with pytest.raises(Invalid):
        point(3, 1000)
    two = (*bench.source().queries, QueryLocation(QueryName("other"), str(bench.checkpoint), "noop", ""))
    with pytest.raises(Invalid):
        take.look(replace(bench.source(), queries=two), OfBatch(3), bench.library)
    with pytest.raises(Conflict) as early:
        take.look(replace(bench.source(), queries=()), Newest(), bench.library)
    assert early.value.code == "savepoint.no_batch"
    assert bench.files() == set()


def test_a_batch_of_each_query_by_its_name(bench: Bench) -> None:
    """Of a query that is not named it is the newest; a name in any script has folders that every path can carry."""
    other = QueryName("zähler 1")
    source = replace(bench.source(), queries=(*bench.source().queries, QueryLocation(other, str(bench.checkpoint), "noop", "")))
    assert take.look(source, OfBatches({"counts": 3, other: 5}), bench.library).plan.batches == {"counts": 3, other: 5}
    assert take.look(source, OfBatches({other: 5}), bench.library).plan.batches == {"counts": NEWEST, other: 5}
    with pytest.raises(Invalid, match="no query 'nobody': it has counts, zähler 1") as unknown:
        take.look(source, OfBatches({"nobody": 1}), bench.library)
    assert unknown.value.code == "savepoint.unknown_query"
    with pytest.raises(NotFound) as gone:
        take.look(source, OfBatches({"counts": 99}), bench.library)
    assert gone.value.code == "savepoint.not_retained"
    taken = take.take(source, OfBatches({other: 5}), bench.library, take.Naming(SavepointId("sp-1"), 1))
    assert [(image.query, image.batch) for image in taken.queries] == [("counts", NEWEST), (other, 5)]
    folders = {path.split("/")[1] for path in bench.files() if path.startswith(("sp-1/queries/", "queries/"))}
    assert all(folder.isascii() and " " not in folder for folder in folders)
    assert library.manifest(bench.library, taken.id).queries[1].query == other


def test_before_the_first_commit(bench: Bench) -> None:
    for path in [*(bench.checkpoint / "commits").iterdir(), *(bench.checkpoint / "offsets").glob("[1-9]*")]:
        path.unlink()
    with pytest.raises(Conflict) as refused:
        bench.take()
    assert (refused.value.code, bool(refused.value.hint)) == ("savepoint.no_batch", True)


def test_an_id_is_used_once(bench: Bench) -> None:
    bench.take()
    with pytest.raises(AlreadyExists):
        bench.take()


def test_several_queries_each_at_its_own_batch(bench: Bench, tmp_path: Path) -> None:
    other = golden.bench(tmp_path / "other", "stateless")
    place = QueryLocation(QueryName("other"), str(other.checkpoint), "noop", "")
    job = replace(bench.source(), queries=(*bench.source().queries, place))
    taken = take.take(job, Newest(), bench.library, take.Naming(SavepointId("sp-1"), NOW_MS))
    assert {image.query: image.batch for image in taken.queries} == {"counts": NEWEST, "other": 12}


class Purging:
    """A library under whose clones Spark deletes a file that was listed, the first `times` times."""

    def __init__(self, inner: LocalStorage, victim: Path, times: int) -> None:
        self.inner, self.victim, self.left = inner, victim, times

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def clone(self, source: Storage, files: list[Clone], advance: Advance = unwatched) -> list[How]:
        if self.left == 0 or not any(str(self.victim).endswith(file.source) for file in files):
            return list(self.inner.clone(source, files, advance))
        self.left -= 1
        data = self.victim.read_bytes()
        self.victim.unlink()
        try:
            return list(self.inner.clone(source, files, advance))
        finally:
            self.victim.write_bytes(data)


@pytest.mark.parametrize("choice", [Newest(), OfBatch(NEWEST)])
def test_a_file_that_vanishes_means_another_try(choice: BatchChoice, bench: Bench) -> None:
    purging = Purging(bench.library, bench.checkpoint / "commits" / str(NEWEST), take.TRIES - 1)
    assert bench.take(choice=choice, library=purging).batch == NEWEST  # type: ignore[arg-type]


def test_files_that_keep_vanishing_are_an_error_that_leaves_nothing(bench: Bench) -> None:
    purging = Purging(bench.library, bench.checkpoint / "commits" / str(NEWEST), take.TRIES)
    with pytest.raises(Unavailable) as refused:
        bench.take(library=purging)  # type: ignore[arg-type]
    assert (refused.value.code, bool(refused.value.hint)) == ("savepoint.moving", True)
    assert bench.files() == set()


@pytest.mark.parametrize("failures", [take.TRIES - 1, take.TRIES])
def test_a_look_at_files_that_vanish_is_another_look(failures: int, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, gather = count(1), contents.gather

    def purged(job: JobSource, choice: BatchChoice, shelf: Storage) -> Sequence[contents.QueryContents]:
        if next(looks) <= failures:
            raise NotFound("storage.not_found", "It was here just now")
        return gather(job, choice, shelf)

    monkeypatch.setattr(take, "gather", purged)
    if failures < take.TRIES:
        assert take.look(bench.source(), Newest(), bench.library).plan.batches == {"counts": NEWEST}
        return
    with pytest.raises(Unavailable, check=lambda error: error.code == "savepoint.moving"):
        take.look(bench.source(), Newest(), bench.library)


def test_a_batch_that_is_purged_once_it_was_chosen_is_not_kept_any_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    oldest, choose = contents.retained_batches(bench.source().queries[0])[0].batch, batch_choice.choose

    def purged(choice: BatchChoice, retained: Mapping[QueryName, Sequence[RetainedBatch]]) -> Mapping[QueryName, int]:
        chosen = choose(choice, retained)
        for folder in ("offsets", "commits"):
            (bench.checkpoint / folder / str(oldest)).unlink(missing_ok=True)
        return chosen

    monkeypatch.setattr(batch_choice, "choose", purged)
    with pytest.raises(NotFound, check=lambda error: error.code == "savepoint.not_retained"):
        take.look(bench.source(), OfBatch(oldest), bench.library)


def test_the_look_counts_to_the_time_that_a_savepoint_took(bench: Bench) -> None:
    clock = count().__next__
    look = take.look(bench.source(), Newest(), bench.library, clock)
    naming = take.Naming(SavepointId("sp-1"), 1)
    assert take.take(bench.source(), Newest(), bench.library, naming, first=look, clock=clock).took_ms == look.took_ms + 1000 == 2000


def test_a_checkpoint_that_lost_a_file_is_named_and_nothing_is_left(bench: Bench) -> None:
    lost = next((bench.checkpoint / "state" / "0" / "0" / "SSTs").iterdir())
    for path in (bench.checkpoint / "state" / "0" / "0" / "SSTs").iterdir():
        path.unlink()
    with pytest.raises(Corrupt, match=lost.parent.name):
        bench.take()
    assert bench.files() == set()


def test_retained_batches_are_those_that_can_be_taken(bench: Bench) -> None:
    kept = contents.retained_batches(bench.source().queries[0])
    for batch in kept:
        assert batch.committed_ms == (bench.checkpoint / "commits" / str(batch.batch)).stat().st_mtime_ns // 1_000_000
        assert bench.take(f"sp-{batch.batch}", OfBatch(batch.batch)).batch == batch.batch
    assert [batch.batch for batch in kept] == list(range(NEWEST + 1))
