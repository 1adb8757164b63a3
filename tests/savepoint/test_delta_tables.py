"""The Delta table of a query in a savepoint: linked, whole, and its fork's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import metadata
from pipelines.domain.delta_commits import Back
from pipelines.domain.errors import Conflict
from pipelines.domain.ids import SavepointId
from pipelines.domain.run_specs import ANY_TABLE
from pipelines.domain.savepoints import Manifest, TableImage
from pipelines.domain.versions import Version
from pipelines.driver import delta_back, delta_tables
from pipelines.savepoint import library, restore, sinks, take, targets
from pipelines.savepoint.batch_choice import BatchChoice, Newest, OfBatch
from pipelines.savepoint.source import JobSource
from pipelines.storage.addresses import open_storage
from pipelines.words import formats
from tests.checkpoint.test_delta_log import checkpoint
from tests.delta import add, batch, commit, described, remove
from tests.savepoint.golden import NEWEST, NOW_MS, VERSION, Bench

TABLE = "queries/counts/table"


@pytest.fixture
def table(bench: Bench) -> Path:
    """The table of the bench's query: its batches to the newest but one, and those of nobody in between."""
    folder, query = bench.folder / "lake" / "counts", metadata.parse((bench.checkpoint / "metadata").read_bytes()).query_id
    for number in range(NEWEST + 1):
        commit(folder, number, batch(number, add(f"part-{number}"), query=query))
    commit(folder, NEWEST + 1, [remove("part-0", dataChange=False), add("compacted", dataChange=False)])
    return folder


def source(bench: Bench, table: Path) -> JobSource:
    job = bench.source("delta")
    return replace(job, queries=(replace(job.queries[0], sink_table=str(table)),))


def taken(bench: Bench, table: Path, choice: BatchChoice | None = None) -> Manifest:
    naming = take.Naming(SavepointId("sp-1"), NOW_MS)
    return library.manifest(bench.library, take.take(source(bench, table), choice or Newest(), bench.library, naming).id)


def held(manifest: Manifest) -> set[str]:
    return {file.path.removeprefix(f"{TABLE}/") for file in manifest.files if file.path.startswith(f"{TABLE}/")}


def test_the_version_of_the_batch_is_linked(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    assert manifest.queries[0].table == TableImage(9)
    names = {*(f"part-{number}" for number in range(10)), *(f".part-{number}.crc" for number in range(10))}
    log = {f"_delta_log/{name}" for number in range(10) for name in (f"{number:020d}.json", f".{number:020d}.json.crc")}
    assert held(manifest) == names | log
    assert os.path.samefile(bench.folder / "savepoints" / "sp-1" / TABLE / "part-3", table / "part-3")
    assert manifest.how.keys() == {"link", "written"}


def test_a_version_with_a_checkpoint_has_its_commit_too(bench: Bench, table: Path) -> None:
    checkpoint(table, f"{9:020d}.checkpoint.parquet", [{"add": {"path": f"part-{number}", "size": 4}} for number in range(10)])
    for number in range(8):
        (table / "_delta_log" / f"{number:020d}.json").unlink()
    log = [f"_delta_log/{name}" for name in (f"{8:020d}.json", f"{9:020d}.checkpoint.parquet", f"{9:020d}.json")]
    assert sorted(name for name in held(taken(bench, table, OfBatch(9))) if not name.endswith(".crc") and "part-" not in name) == log


def test_a_fork_has_it_when_the_table_is_gone(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table)
    shutil.rmtree(table)
    restored = restore.restore(bench.library, manifest.id, bench.fork(), NOW_MS)
    carried = Path(restored.sink_logs[manifest.queries[0].query]) / "table"
    assert {path.name for path in carried.glob("part-*")} == {f"part-{number}" for number in range(NEWEST + 1)}
    assert (carried / "_delta_log" / f"{NEWEST:020d}.json").is_file()
    assert targets.own_tables(manifest, bench.fork()) == {"counts": ANY_TABLE}


@pytest.mark.parametrize(("args", "own"), [(("/elsewhere",), "lake"), (("{lake}", "{output}"), ANY_TABLE)])
def test_a_fork_is_told_which_table_is_not_its_own(args: tuple[str, ...], own: str, bench: Bench, table: Path) -> None:
    manifest = taken(bench, table)
    manifest = replace(manifest, version=replace(manifest.version, args=(str(table),)))
    now: Version = replace(VERSION, args=tuple(arg.replace("{lake}", str(table)) for arg in args))
    expected = str(table) if own == "lake" else own
    assert targets.own_tables(manifest, bench.fork(running=now)) == {"counts": expected}


def test_a_fresh_fork_brings_no_table(bench: Bench, table: Path) -> None:
    manifest, fresh = taken(bench, table), replace(bench.fork(), sinks={"counts": "fresh"})
    plan = restore.plan(bench.library, manifest, fresh)
    assert (plan.sinks[0].action, plan.refusal) == ("fresh", None)
    begun = targets.sinks_of(bench.library, manifest, fresh)
    assert all("table/" not in str(path) for path in targets.files(bench.library, manifest, fresh, begun).clones)


def test_a_resume_brings_what_the_table_goes_back_to(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    assert sink.action == "cut" and "goes back to its version 9" in sink.message and sinks.refused_going_back([sink]) is None
    restored = restore.restore(bench.library, manifest.id, bench.resume(), NOW_MS)
    folder, query = Path(restored.sink_logs[manifest.queries[0].query]), manifest.queries[0].query_id
    assert delta_back.asked(folder) == Back(1, query, 9, 9, 9)
    assert len(list((folder / "table").glob("part-*"))) == 10


HINDERED = {
    "rows of others": ([remove("part-1"), add("theirs")], "others changed its rows at version 15"),
    "rows may only be added": ([described("t", appendOnly="true")], "delta.appendOnly"),
    "a feature of writers": (
        [{"protocol": {"minWriterVersion": 7, "writerFeatures": ["rowTracking"]}}],
        "asks its writers for rowTracking",
    ),
    "a feature of readers": ([{"protocol": {"minReaderVersion": 3, "readerFeatures": ["somebodysOwn"]}}], ""),
}


@pytest.mark.parametrize(("actions", "why"), HINDERED.values(), ids=HINDERED.keys())
def test_a_table_that_cannot_go_back_is_refused(actions: list[Mapping[str, Any]], why: str, bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    commit(table, NEWEST + 2, actions)
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    refused = sinks.refused_going_back([sink])
    assert (refused is None) == (not why) and sink.action == ("none" if why else "cut")
    assert refused is None or (refused.code == "sink.remembers" and why in refused.message)


def test_a_log_that_does_not_say_who_wrote_is_no_ground_to_go_back(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    checkpoint(table, f"{NEWEST:020d}.checkpoint.parquet", [{"txn": {"appId": manifest.queries[0].query_id, "version": NEWEST}}])
    (table / "_delta_log" / f"{11:020d}.json").unlink()
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    refused = sinks.refused_going_back([sink])
    assert refused is not None and "does not say any more who wrote version 11" in refused.message


def test_a_table_with_nothing_later_stays_whoever_writes_to_it(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table)
    commit(table, NEWEST + 2, [remove("compacted"), add("theirs")])
    (sink,) = restore.plan(bench.library, manifest, bench.resume()).sinks
    assert sink.action == "cut"


def test_what_cannot_be_kept_is_said_and_refused(bench: Bench, table: Path) -> None:
    (table / "part-3").unlink()
    (warning,) = take.look(source(bench, table), OfBatch(9), bench.library).plan.warnings
    assert "version 9 of" in warning and "are gone, as after a vacuum" in warning
    manifest = taken(bench, table, OfBatch(9))
    image = manifest.queries[0].table
    assert image is not None and image.version == 9 and "1 of the 10 files of version 9 are gone" in image.left
    assert held(manifest) == set()
    with pytest.raises(Conflict, match="1 of the 10 files") as refused:
        restore.restore(bench.library, manifest.id, bench.fork(), NOW_MS)
    assert refused.value.code == "restore.history_gone" and "fresh" in refused.value.hint
    assert restore.plan(bench.library, manifest, replace(bench.fork(), sinks={"*": "fresh"})).refusal is None


def test_a_table_on_another_disk_than_the_savepoints_is_not_kept_and_says_why(bench: Bench, table: Path, other_disk: Path) -> None:
    away = Path(shutil.copytree(table, other_disk / "counts"))
    (warning,) = take.look(source(bench, away), OfBatch(9), bench.library).plan.warnings
    assert (
        "it is on another file system than the savepoints, and would be copied with each of them; those that are kept on its own" in warning
    )
    beside = open_storage(str(other_disk / "savepoints"))
    saved = take.take(source(bench, away), OfBatch(9), beside, take.Naming(SavepointId("sp-1"), NOW_MS))
    assert len(held(library.manifest(beside, saved.id))) > 10
    manifest = taken(bench, away, OfBatch(9))
    assert held(manifest) == set()
    refused = restore.plan(bench.library, manifest, bench.fork()).refusal
    assert refused is not None and refused.code == "restore.history_gone" and "another file system" in refused.message
    assert restore.plan(bench.library, manifest, replace(bench.fork(), sinks={"*": "fresh"})).refusal is None


def test_a_fork_on_another_disk_has_a_copy_whose_bytes_are_planned(bench: Bench, table: Path, other_disk: Path) -> None:
    manifest = taken(bench, table, OfBatch(9))
    away = replace(bench.fork(), checkpoints=str(other_disk / "checkpoints"))
    plan = restore.plan(bench.library, manifest, away)
    assert (plan.refusal, plan.how) == (None, "copy") and plan.new_bytes == plan.bytes
    restored = restore.restore(bench.library, manifest.id, away, NOW_MS)
    carried = Path(restored.sink_logs[manifest.queries[0].query]) / "table"
    assert (carried / "part-3").read_bytes() == (table / "part-3").read_bytes() and restored.new_bytes == plan.new_bytes


def test_a_table_that_the_code_names_on_another_disk_is_copied_and_the_plan_says_how_much(
    bench: Bench, table: Path, other_disk: Path
) -> None:
    manifest = taken(bench, table, OfBatch(9))
    manifest = replace(manifest, version=replace(manifest.version, args=(str(table),)))
    fork = bench.fork(running=replace(VERSION, args=(str(other_disk / "own"),)))
    (sink,) = restore.plan(bench.library, manifest, fork).sinks
    kept = sum(file.bytes for file in manifest.files if file.path.startswith(TABLE))
    assert sink.action == "continue" and sink.message.endswith(f"on another disk {formats.size(kept)} are copied as the query starts.")
    restored = restore.restore(bench.library, manifest.id, fork, NOW_MS)
    carried, own = Path(restored.sink_logs[manifest.queries[0].query]) / "table", other_disk / "own"
    delta_tables._begin(carried, own)
    assert {path.relative_to(own) for path in own.rglob("*")} == {path.relative_to(carried) for path in carried.rglob("*")}
    assert (own / "part-3").stat().st_nlink == 1 and (own / "part-3").read_bytes() == b"rows"


def test_a_savepoint_of_before_has_no_table(bench: Bench, table: Path) -> None:
    manifest = taken(bench, table)
    old = replace(manifest, queries=(replace(manifest.queries[0], table=None),))
    refused = restore.plan(bench.library, old, bench.fork()).refusal
    assert refused is not None and refused.code == "restore.history_gone"


def test_a_table_that_is_not_there_yet_is_none(bench: Bench) -> None:
    """A fork that writes elsewhere has one of its own, whether an argument names the folder or it is in its output."""
    manifest = taken(bench, Path(bench.fork().parent_output) / "counts")
    assert manifest.queries[0].table is None
    for theirs, own in (("{output}", "{output}"), (manifest.queries[0].sink_table, "/elsewhere")):
        before, now = (replace(manifest.version, args=(arg,)) for arg in (theirs, own))
        planned = restore.plan(bench.library, replace(manifest, version=before), bench.fork(running=now))
        assert (planned.refusal, planned.sinks[0].action) == (None, "none")
