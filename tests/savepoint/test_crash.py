"""A crash or an error at any step: what is listed is whole, and once the next start has cleaned, nothing else is there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pipelines.checkpoint.closure import closure
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.savepoint import dispose, library, restore
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from tests.driver.process import ROOT
from tests.savepoint import golden
from tests.savepoint.faulty import Delays, Fails, Fault, FaultyStorage, Killed, Kills, break_folders
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

SP = SavepointId("sp-1")
SMALL, NEWEST = "stateless", 12
"""A job with few files: its steps are all the kinds of steps there are."""
Verb = Callable[[Bench, Callable[[Storage], Storage]], object]


def take(bench: Bench, faulty: Callable[[Storage], Storage]) -> object:
    return bench.take(library=faulty(bench.library))


def fork(bench: Bench, faulty: Callable[[Storage], Storage]) -> object:
    return restore.restore(
        faulty(bench.library),
        SP,
        replace(bench.fork(), parent_output=str(bench.folder.parent)),
        NOW_MS,
        lambda url: faulty(LocalStorage(url)),
    )


def disposal(bench: Bench, faulty: Callable[[Storage], Storage]) -> object:
    return dispose.dispose(faulty(bench.library), SP, NOW_MS)


def prepared(folder: Path, verb: Verb) -> Bench:
    """A job, and its savepoint for verbs that need one: made once beside `folder`, then linked file by file."""
    first = folder.parent / "first"
    if not first.exists():
        made = golden.bench(first, SMALL)
        if verb is not take:
            made.take()
            shutil.rmtree(made.checkpoint)
    shutil.copytree(first, folder, copy_function=os.link)
    return Bench(folder, SMALL)


def strike(bench: Bench, verb: Verb, fault: Fault) -> BaseException | None:
    """Runs `verb` with `fault`; what it raised."""
    with pytest.MonkeyPatch.context() as patch:
        break_folders(patch, fault)
        try:
            verb(bench, lambda storage: FaultyStorage(storage, fault))
        except (Killed, TidemarkError) as error:
            return error
    return None


def steps(folder: Path, verb: Verb) -> int:
    counting = Fault(0)
    assert strike(prepared(folder, verb), verb, counting) is None
    return counting.steps


def assert_whole(bench: Bench) -> None:
    """Every listed savepoint verifies, and every checkpoint that has its name is one that Spark can start on."""
    shelf = library.shelf(bench.library)
    assert shelf.unreadable == ()
    for savepoint in shelf.savepoints:
        assert verified(bench.library, savepoint.id, Trust.COMPLETE, NOW_MS).damages == ()
    made = bench.folder / "forks" / "fork"
    if made.exists():
        assert closure(LocalStorage(made / "counts"), NEWEST).query_id == "a-new-id"
        assert (made / ".sinks" / "counts" / "9.compact").exists()


def assert_clean(bench: Bench) -> None:
    """In the library's folder is what its savepoints list, and no more; beside the forks is nothing half."""
    listed = {
        f"{savepoint.id}/{path}"
        for savepoint in library.shelf(bench.library).savepoints
        for path in (*(file.path for file in library.manifest(bench.library, savepoint.id).files), "manifest.json", "verified.json")
    }
    assert bench.files() <= listed
    forks = bench.folder / "forks"
    assert not forks.exists() or {path.name for path in forks.iterdir()} <= {"fork"}
    assert list(forks.glob("*/making.json")) == []


def clean(bench: Bench) -> None:
    library.clean(bench.library, NOW_MS, lives=lambda *_: False)
    restore.clean(str(bench.folder / "forks"), NOW_MS, lives=lambda *_: False)


@pytest.mark.parametrize("verb", [take, fork, disposal])
def test_killed_at_every_step(verb: Verb, tmp_path: Path) -> None:
    for step in range(1, steps(tmp_path / "counted", verb) + 1):
        bench = prepared(tmp_path / str(step), verb)
        assert isinstance(strike(bench, verb, Kills(step)), Killed), step
        assert_whole(bench)
        clean(bench)
        assert_whole(bench)
        assert_clean(bench)


@pytest.mark.parametrize("verb", [take, fork])
def test_an_error_at_every_step_leaves_nothing(verb: Verb, tmp_path: Path) -> None:
    for step in range(1, steps(tmp_path / "counted", verb) + 1):
        bench = prepared(tmp_path / str(step), verb)
        before = bench.files()
        error = strike(bench, verb, Fails(step))
        assert_whole(bench)
        if error is not None and not getattr(error, "__notes__", []) and not (bench.folder / "forks" / "fork").exists():
            assert {path for path in bench.files() if "/leases/" not in path and "verified" not in path} == before, step
        clean(bench)
        assert_clean(bench)


def test_an_error_in_a_disposal_is_made_good_by_the_next(tmp_path: Path) -> None:
    for step in range(1, steps(tmp_path / "counted", disposal) + 1):
        bench = prepared(tmp_path / str(step), disposal)
        assert strike(bench, disposal, Fails(step)) is not None
        assert_whole(bench)
        clean(bench)
        assert_whole(bench)
        assert_clean(bench)


@pytest.mark.parametrize("verb", [take, fork, disposal])
def test_others_start_and_clean_while_a_step_takes_long(verb: Verb, tmp_path: Path) -> None:
    """Whoever is at work is alive, and says so: a cleaner leaves what he makes alone."""

    def others(bench: Bench) -> None:
        library.clean(bench.library, NOW_MS)
        restore.clean(str(bench.folder / "forks"), NOW_MS)
        assert_whole(bench)

    for step in range(1, steps(tmp_path / "counted", verb) + 1):
        bench = prepared(tmp_path / str(step), verb)
        assert strike(bench, verb, Delays(step, meanwhile=partial(others, bench))) is None, step
        assert_whole(bench)
        assert_clean(bench)
        assert len(library.shelf(bench.library).savepoints) == (0 if verb is disposal else 1)
        assert (bench.folder / "forks" / "fork").exists() == (verb is fork)


@pytest.mark.parametrize("part", [0.1, 0.4, 0.8, 1.0])
def test_a_process_really_killed(part: float, tmp_path: Path) -> None:
    """The process mark tells that it is gone."""
    step = max(1, round(steps(tmp_path / "counted", take) * part))
    bench = golden.bench(tmp_path / "killed", SMALL)
    command = [sys.executable, "-m", "tests.savepoint.killed", str(bench.folder), str(step)]
    assert subprocess.run(command, cwd=ROOT, timeout=60).returncode == -signal.SIGKILL
    assert_whole(bench)
    library.clean(bench.library, NOW_MS)
    assert_whole(bench)
    assert_clean(bench)
    assert len(library.shelf(bench.library).savepoints) == (1 if part == 1.0 else 0)
    assert bench.take("sp-2").batch == NEWEST
