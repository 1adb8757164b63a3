from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.checkpoint import contracts
from pipelines.checkpoint.closure import closure
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.restores import RestorePlan
from pipelines.domain.trust import Trust
from pipelines.savepoint import dispose, manifests, restore
from pipelines.savepoint.batch_choice import OfBatch
from pipelines.savepoint.restore import Fork, Restored
from pipelines.storage.local import LocalStorage
from tests.savepoint import golden
from tests.savepoint.golden import NOW_MS, VERSION, Bench
from tests.savepoint.test_take import NAMES
from tests.verified import verified


def restored(bench: Bench, target: restore.Target | None = None) -> Restored:
    return restore.restore(bench.library, SavepointId("sp-1"), target or bench.fork(), NOW_MS)


def planned_of(bench: Bench, target: restore.Target) -> RestorePlan:
    return restore.plan(bench.library, manifests.load(bench.library, SavepointId("sp-1")), target)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_restored_is_a_whole_checkpoint_at_that_batch(name: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, name)
    taken = bench.take()
    made = restored(bench)
    again = closure(LocalStorage(f"{made.checkpoints}/counts"), taken.batch)
    assert (again.query_id, again.batch) == ("a-new-id", taken.batch)
    assert len(again.clone) + len(again.write) == len([path for path in bench.files(Path(made.checkpoints)) if path.startswith("counts/")])


@pytest.mark.parametrize("name", NAMES)
def test_a_look_without_the_state_has_what_is_said_of_it(name: str, tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, name)
    batch = bench.take().batch
    whole, bare = (
        restored(bench, restore.Scratch(JobName("job"), str(tmp_path / str(with_state)), lambda: "an-id", with_state))
        for with_state in (True, False)
    )
    of_whole, of_bare = (contracts.read(LocalStorage(f"{made.checkpoints}/counts"), batch) for made in (whole, bare))
    assert of_whole == of_bare
    left = set(bench.files(Path(whole.checkpoints))) - set(bench.files(Path(bare.checkpoints)))
    assert bool(left) is bool(of_whole) and all(path.startswith("counts/state/") for path in left)
    kept = [path for path in bench.files(Path(bare.checkpoints)) if re.search(r"\.(delta|snapshot|changelog|zip|sst)\b", path)]
    assert kept == []


def test_a_fork_has_a_new_query_id_and_no_checksum_of_the_old(bench: Bench) -> None:
    bench.take()
    home = Path(restored(bench).checkpoints) / "counts"
    assert json.loads((home / "metadata").read_text()) == {"id": "a-new-id"}
    assert not (home / ".metadata.crc").exists()
    assert json.loads((bench.checkpoint / "metadata").read_text()) != {"id": "a-new-id"}, "the job's own file is another"


def test_a_resume_keeps_its_query_id(bench: Bench) -> None:
    taken = bench.take()
    home = Path(restored(bench, bench.resume()).checkpoints) / "counts"
    assert json.loads((home / "metadata").read_text()) == {"id": taken.queries[0].query_id}
    assert (home / ".metadata.crc").exists()


def test_the_sink_log_waits_beside_the_checkpoint_and_outlives_the_savepoint(bench: Bench) -> None:
    bench.take(choice=OfBatch(11))
    made = restored(bench)
    dispose.dispose(bench.library, SavepointId("sp-1"), NOW_MS)
    log = Path(made.sink_logs["counts"])
    assert log.is_absolute()
    assert {path.name for path in log.iterdir() if path.name[0] != "."} == {"9.compact", "10", "11", "root"}
    assert (log / "root").read_text().endswith("/output/counts")
    assert closure(LocalStorage(f"{made.checkpoints}/counts"), 11).batch == 11


def test_the_plan_says_what_the_restore_does(bench: Bench) -> None:
    bench.take()
    planned = planned_of(bench, bench.fork())
    made = restored(bench)
    assert (planned.how, planned.new_bytes, planned.keeps_query_id) == ("link", made.new_bytes, False)
    assert planned.files == made.files == len(bench.files(Path(made.checkpoints)))
    assert [sink.action for sink in planned.sinks] == ["continue"]


def test_a_fork_that_would_write_into_its_parents_output_is_refused(bench: Bench) -> None:
    bench.take()
    running = replace(VERSION, args=("--output", str(bench.output)))
    planned = planned_of(bench, bench.fork(running=running))
    assert planned.sinks[0].action == "refuse" and planned.refusal is not None
    with pytest.raises(Conflict) as refused:
        restored(bench, bench.fork(running=running))
    assert refused.value.code == planned.refusal.code == "restore.sink_shared"
    assert "{output}" in refused.value.hint
    assert not (bench.folder / "forks").exists()


@pytest.mark.parametrize("harm", ["missing", "short"])
def test_a_damaged_savepoint_is_not_restored_and_the_file_is_named(harm: str, bench: Bench) -> None:
    bench.take()
    victim = bench.folder / "savepoints" / "sp-1" / "queries" / "counts" / "checkpoint" / "commits" / "13"
    data = victim.read_bytes()
    victim.unlink()
    if harm == "short":
        victim.write_bytes(data[:-1])
    with pytest.raises(Corrupt, match="commits/13") as refused:
        restored(bench)
    assert refused.value.code == "savepoint.damaged"
    with pytest.raises(Corrupt, match="commits/13"):
        planned_of(bench, bench.fork())
    assert bench.files(bench.folder / "forks") == set()
    assert not list((bench.folder / "savepoints").rglob("leases")), "its lease is given back"


def test_damage_that_a_verify_found_within_a_file_is_not_restored_either(bench: Bench) -> None:
    bench.take()
    verified(bench.library, SavepointId("sp-1"), Trust.INTACT, NOW_MS)
    victim = bench.folder / "savepoints" / "sp-1" / "queries" / "counts" / "checkpoint" / "commits" / "13"
    data = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(data[:-1] + b"?")
    verified(bench.library, SavepointId("sp-1"), Trust.INTACT, NOW_MS)
    for begin in (lambda: restored(bench), lambda: planned_of(bench, bench.fork())):
        with pytest.raises(Corrupt, match="commits/13"):
            begin()


def test_nothing_is_restored_over_what_is_there(bench: Bench) -> None:
    bench.take()
    restored(bench)
    with pytest.raises(AlreadyExists):
        restored(bench)
    with pytest.raises(NotFound):
        restore.restore(bench.library, SavepointId("sp-2"), bench.fork("other"), NOW_MS)


def test_a_savepoint_moved_elsewhere_is_restored_there(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    shutil.copytree(bench.folder / "savepoints", tmp_path / "far" / "savepoints")
    shutil.rmtree(bench.folder / "savepoints")
    shutil.rmtree(bench.folder / "live")
    far = Bench(tmp_path / "far")
    target = Fork(bench.fork().job, str(far.folder / "forks" / "fork"), VERSION, str(bench.output), lambda: "a-new-id")
    made = restore.restore(far.library, SavepointId("sp-1"), target, NOW_MS)
    assert closure(LocalStorage(f"{made.checkpoints}/counts"), 13).query_id == "a-new-id"


def test_where_a_checkpoint_names_its_own_place_the_restored_one_names_its_new_place(tmp_path: Path) -> None:
    bench = golden.bench(tmp_path, "transform")
    bench.take()
    home = Path(restored(bench).checkpoints) / "counts"
    metadata = next(path for path in (home / "state" / "0" / "_metadata" / "v2").iterdir() if path.name[0] != ".")
    named = json.loads(metadata.read_text().partition("\n")[2])["stateStoreInfo"][0]["stateSchemaFilePaths"]
    assert named and all(Path(path).is_file() and path.startswith(str(home)) for path in named)
    assert not metadata.with_name(f".{metadata.name}.crc").exists()
