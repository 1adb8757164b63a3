from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.processes import Process
from pipelines.savepoint import dispose, layout, leases, library, process_marks, restore
from pipelines.storage import documents
from tests.savepoint.golden import NOW_MS, Bench

SP = SavepointId("sp-1")


def test_it_frees_what_nobody_else_holds(bench: Bench) -> None:
    bench.take()
    alone = sum(path.stat().st_size for path in (bench.folder / "savepoints").rglob("*") if path.is_file() and path.stat().st_nlink == 1)
    planned = dispose.look(bench.library, SP, NOW_MS).plan
    assert (planned.frees_bytes, planned.files) == (alone, len(bench.files()))
    assert 0 < planned.frees_bytes < planned.bytes
    live = bench.files(bench.checkpoint)
    dispose.dispose(bench.library, SP, NOW_MS)
    assert (bench.files(), bench.files(bench.checkpoint)) == (set(), live)
    with pytest.raises(NotFound):
        dispose.dispose(bench.library, SP, NOW_MS)


def test_refused_while_something_is_made_from_it(bench: Bench) -> None:
    bench.take()
    with leases.lease(bench.library, SP, "/somewhere/fork", NOW_MS):
        assert dispose.look(bench.library, SP, NOW_MS).plan.blockers == ("/somewhere/fork",)
        with pytest.raises(Conflict, match="/somewhere/fork") as refused:
            dispose.dispose(bench.library, SP, NOW_MS)
        assert refused.value.code == "savepoint.in_use"
        assert restore.restore(bench.library, SP, bench.fork(), NOW_MS).files
    dispose.dispose(bench.library, SP, NOW_MS)
    assert bench.files() == set()


def test_no_lease_on_what_is_being_disposed_of(bench: Bench) -> None:
    bench.take()
    mark = layout.inside(SP, layout.DISPOSING)
    bench.library.write(mark, documents.encode(process_marks.this_process(NOW_MS, "dispose")))
    with pytest.raises(Conflict) as refused:
        restore.restore(bench.library, SP, bench.fork(), NOW_MS)
    assert refused.value.code == "savepoint.disposing"
    assert library.clean(bench.library, NOW_MS) == library.Cleaned((), ()), "who disposes of it lives"
    assert library.clean(bench.library, NOW_MS, lives=lambda *_: False).disposed == (SP,)
    assert bench.files() == set()


def test_a_lease_of_a_process_that_is_gone_does_not_count(bench: Bench) -> None:
    bench.take()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = psutil.Process(child.pid).create_time()
    here = process_marks.this_process(NOW_MS, "a fork")
    path = layout.inside(SP, "leases/other.json")
    bench.library.write(path, documents.encode(process_marks.ProcessMark(Process(child.pid, started), here.host, NOW_MS, "a fork")))
    assert leases.held(bench.library, SP, NOW_MS) == ("a fork",)
    child.communicate(b"\n")
    assert leases.held(bench.library, SP, NOW_MS) == ()
    library.clean(bench.library, NOW_MS)
    assert not Path(bench.library.url, path).exists()
    dispose.dispose(bench.library, SP, NOW_MS)


def test_a_pid_that_another_process_has_now_is_not_the_maker(bench: Bench) -> None:
    here = process_marks.this_process(NOW_MS, "take")
    assert process_marks.lives(here, NOW_MS)
    assert not process_marks.lives(
        process_marks.ProcessMark(Process(here.process.pid, here.process.started - 100), here.host, NOW_MS, "take"), NOW_MS
    )


def test_a_process_of_another_host_counts_for_a_day(bench: Bench) -> None:
    """Its pid is that of a process here, which began at the same time."""
    here = process_marks.this_process(NOW_MS, "take")
    assert here.process.host is not None
    there, booted = replace(here.process.host, name="b", boot="another"), replace(here.process.host, boot="another")
    for mark in (
        replace(here, process=replace(here.process, host=there)),
        replace(here, host="b", process=replace(here.process, host=None)),
    ):
        assert process_marks.lives(mark, NOW_MS + 1000)
        assert not process_marks.lives(mark, NOW_MS + process_marks.FOREIGN_PATIENCE_MS)
    assert not process_marks.lives(replace(here, process=replace(here.process, host=booted)), NOW_MS), "it was before this boot"
