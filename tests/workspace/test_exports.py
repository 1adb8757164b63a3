"""Exports and imports as operations, between workspaces that know nothing of each other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.domain.versions import version
from pipelines.savepoint import exports, process_marks, progress_file
from pipelines.storage import documents
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.experiments import ShowTree, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import CancelOperation, ListOperations
from pipelines.verbs.resume import Resume
from pipelines.verbs.revision import Revision
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth, ShowSpace
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Change
from pipelines.workspace import operations, progress, versions
from pipelines.workspace.tickets import Cancelled, Ticket
from pipelines.workspace.workspace import Workspace
from tests.workspace.conftest import House, progress_line

NAMES = {"directory": "sp", "archive": "sp.tar.zst"}


@pytest.fixture
def other(tmp_path: Path) -> Iterator[House]:
    """A second workspace, with a job of another name."""
    here = House(tmp_path / "other")
    here.ran("b", "stateless")
    yield here
    here.face.close()


@pytest.fixture(params=NAMES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "out" / NAMES[request.param])


def taken(house: House, label: str = "before") -> Savepoint:
    house.ran("a")
    return do(house.face, Take("a", label=label))


def ended(face: Workspace, change: Change[Operation, Any]) -> Operation:
    begun = face.begin(change).operation
    assert begun is not None
    return operations.wait(face.context, begun.id)


def done(face: Workspace, change: Change[Operation, Any]) -> str:
    operation = ended(face, change)
    assert operation.state is OperationState.DONE, operation
    assert not operation.can_cancel and operation.amount is not None
    assert operation.amount.unit == "bytes" and operation.amount.done == operation.amount.total > 0
    return operation.result


def failed(face: Workspace, change: Change[Operation, Any]) -> tuple[str, str]:
    operation = ended(face, change)
    assert operation.state is OperationState.FAILED and operation.error_hint
    return operation.error_group, operation.error_code


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} if folder.exists() else set()


def test_from_one_workspace_to_another(house: House, other: House, url: str) -> None:
    saved = taken(house)
    assert done(house.face, Export(saved.id, url)) == url
    house.face.close()
    shutil.rmtree(house.root)
    assert done(other.face, Import(url)) == saved.id
    imported = other.face.ask(ListOperations())[0]
    assert (imported.kind, imported.subject, imported.job) == ("import", url, "a")
    brought = other.face.ask(ShowSavepoint(saved.id))
    assert (brought.job, brought.label, brought.run, brought.version) == ("a", "before", saved.run, saved.version)
    assert brought.trust is Trust.INTACT and brought.path == str(other.face.layout.savepoint(saved.id))
    assert [savepoint.id for savepoint in other.face.ask(ListSavepoints("a"))] == [saved.id]
    assert other.face.ask(ShowVersion(saved.version)).script == "job.py"
    assert {event.kind for event in other.face.ask(ListEvents("a"))} == {"savepoint.imported"}
    house.open()


def test_a_job_that_is_not_here_breaks_no_page(house: House, other: House, url: str) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    done(other.face, Import(url))
    for _ in range(2):
        assert [summary.job.name for summary in other.face.ask(ListJobs())] == ["b"]
        lanes = {lane.job: lane for lane in other.face.ask(ShowTree()).lanes}
        assert lanes["a"].runs == () and [mark.id for mark in other.face.ask(ShowTree()).marks if mark.job == "a"] == [saved.id]
        assert other.face.ask(ShowHealth()).savepoints == 1
        assert other.face.ask(ReadManifest(saved.id)).job == "a"
        assert other.face.ask(ShowSpace()).savepoints[0].savepoint == saved.id
        with pytest.raises(NotFound):
            other.face.ask(ShowJob("a"))
        do(other.face, RebuildCatalog())
    other.reopen()
    assert other.face.ask(ShowSavepoint(saved.id)).levels[Trust.INTACT]


def test_a_fork_of_it_needs_nothing_of_the_old_workspace(house: House, other: House, url: str) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    done(other.face, Import(url))
    house.face.close()
    shutil.rmtree(house.root)
    run = do(other.face, Fork(saved.id, name="c", sinks={"*": "fresh"}))
    made = [path for path in Path(run.checkpoints).rglob("*") if path.is_file()]
    assert made and not [path for path in made if str(house.root).encode() in path.read_bytes()]
    assert other.face.ask(ShowJob("c")).summary.job.origin is not None
    with pytest.raises(Conflict) as refused:
        do(other.face, Fork(saved.id, name="d"))
    assert refused.value.code == "restore.history_gone"
    house.open()


def test_a_workspace_that_was_moved(house: House, tmp_path: Path) -> None:
    saved = taken(house)
    house.face.close()
    house.root.rename(tmp_path / "moved")
    house.root = tmp_path / "moved"
    house.open()
    assert house.face.ask(ShowSavepoint(saved.id)).path.startswith(str(tmp_path / "moved"))
    plan = house.face.plan(Fork(saved.id, name="c", sinks={"*": "fresh"}))
    assert plan.checkpoints.startswith(str(tmp_path / "moved"))
    run = do(house.face, Fork(saved.id, name="c", sinks={"*": "fresh"}))
    assert not [path for path in Path(run.checkpoints).rglob("*") if path.is_file() and str(tmp_path / "ws").encode() in path.read_bytes()]


def test_an_interpreter_that_is_not_here_gives_way(house: House, other: House, url: str) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    manifest = house.face.layout.savepoint(saved.id) / "manifest.json"
    assert '"python": ""' in manifest.read_text()
    done(other.face, Import(url))
    gone = version("job.py", "x = 1\n", python="/nowhere/bin/python")
    here = version("job.py", "x = 1\n", python=sys.executable)
    assert versions.changed(gone, Revision(), 1).python == ""
    assert versions.changed(here, Revision(), 1).python == sys.executable


def test_the_archive_tier(house: House, url: str) -> None:
    saved = taken(house)
    plan = house.face.plan(Export(saved.id, url, then_dispose=True))
    assert plan.disposes and plan.bytes == saved.bytes
    assert done(house.face, Export(saved.id, url, then_dispose=True)) == url
    assert house.face.ask(ListSavepoints()) == [] and not house.face.layout.savepoint(saved.id).exists()
    assert done(house.face, Import(url)) == saved.id
    resumed = house.face.plan(Resume("a", from_savepoint=saved.id))
    assert resumed.keeps_query_id


def test_a_copy_that_is_not_intact_is_no_reason_to_dispose(house: House, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = taken(house)
    check = exports.check

    def harmed(parent: Any, to: exports.Target, *rest: Any) -> None:
        victim = Path(url) / "queries/counts/checkpoint/offsets/13" if not to.archive else Path(url)
        data = victim.read_bytes()
        victim.unlink()
        victim.write_bytes(data[:-1])
        check(parent, to, *rest)

    monkeypatch.setattr(exports, "check", harmed)
    assert failed(house.face, Export(saved.id, url, then_dispose=True)) == ("corrupt", "export.damaged")
    assert not Path(url).exists()
    assert house.face.ask(ShowSavepoint(saved.id)).damaged_files == 0 and house.face.layout.savepoint(saved.id).exists()


@pytest.mark.parametrize("where", ["savepoints/x", "savepoints/x.tar.zst", "jobs/../savepoints/y", "out/sp"])
def test_not_into_the_workspace_itself(where: str, house: House) -> None:
    saved = taken(house)
    with pytest.raises(Invalid) as refused:
        house.face.begin(Export(saved.id, str(house.root / where)))
    assert refused.value.code == "export.inside" and refused.value.hint
    with pytest.raises(Invalid):
        do(house.face, Take("a", to=str(house.root / "savepoints")))


def test_what_is_refused_at_once(house: House, url: str) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    for act in (house.face.plan, house.face.begin):
        with pytest.raises(AlreadyExists):
            act(Export(saved.id, url))
    with pytest.raises(NotFound):
        house.face.begin(Export("sp-none", url))
    assert failed(house.face, Import(url)) == ("already_exists", "savepoint.exists")
    assert failed(house.face, Import(url + "-none")) == ("not_found", "import.nothing")


def test_code_that_is_not_its_versions_is_refused(house: House, other: House, tmp_path: Path) -> None:
    saved = taken(house)
    manifest = house.face.layout.savepoint(saved.id) / "manifest.json"
    manifest.write_text(manifest.read_text().replace("spark.readStream", "spark.evil"))
    done(house.face, Export(saved.id, str(tmp_path / "out")))
    assert failed(other.face, Import(str(tmp_path / "out"))) == ("corrupt", "import.version")
    assert other.face.ask(ListSavepoints("a")) == []


def test_two_at_once_to_one_place(house: House, url: str) -> None:
    saved = taken(house)
    with house.face.context.claiming(url):  # neither gets to write before both have asked
        begun = [house.face.begin(Export(saved.id, url)).operation for _ in range(2)]
    states = sorted(operations.wait(house.face.context, operation.id).state for operation in begun if operation)
    assert states == [OperationState.DONE, OperationState.FAILED]
    assert Path(url).exists()


@pytest.fixture
def cancelling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every operation is cancelled by its own first piece of work."""
    advance = Ticket.advance

    def ending(ticket: Ticket, bytes_: int) -> None:
        ticket.end()
        advance(ticket, bytes_)

    monkeypatch.setattr(Ticket, "advance", ending)
    yield


def test_a_cancelled_export_leaves_nothing(house: House, url: str, cancelling: None) -> None:
    saved = taken(house)
    operation = ended(house.face, Export(saved.id, url))
    assert operation.state is OperationState.CANCELLED
    assert files(Path(url).parent) == set() and files(house.face.layout.exports) == set()
    with pytest.raises(Conflict):
        do(house.face, CancelOperation(operation.id))


def test_a_cancelled_import_leaves_nothing(house: House, other: House, url: str, request: pytest.FixtureRequest) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    request.getfixturevalue("cancelling")
    assert ended(other.face, Import(url)).state is OperationState.CANCELLED
    assert files(other.face.layout.savepoints) == set() and other.face.ask(ListSavepoints("a")) == []


def test_a_cancelled_take_to_is_raised_and_leaves_nothing(house: House, tmp_path: Path, cancelling: None) -> None:
    house.ran("a")
    with pytest.raises(Cancelled):
        do(house.face, Take("a", to=str(tmp_path / "far")))
    assert files(tmp_path / "far") == set() and files(house.face.layout.exports) == set() and house.face.ask(ListSavepoints()) == []


ADDRESSED: dict[str, Callable[[str], object]] = {
    "take": lambda url: Take("a", to=url),
    "export": lambda url: Export("sp-1", url),
    "import": Import,
    "attach": lambda url: Attach(name="b", checkpoints={"counts": url}),
    "attach to a sink": lambda url: Attach(name="b", checkpoints={"counts": "/tmp"}, sink="parquet", sink_path=url),
    "diagnose": Diagnose,
    "show": ShowSavepoint,
}


@pytest.mark.parametrize("way", ADDRESSED)
@pytest.mark.parametrize("url", ["memory://x/y", "simplecache::memory://x/y"])
def test_nothing_goes_into_the_memory_of_the_server_or_comes_from_there(way: str, url: str) -> None:
    with pytest.raises(Invalid) as refused:
        ADDRESSED[way](url)
    assert refused.value.code == "storage.memory" and refused.value.hint


def test_an_import_that_is_killed_in_the_middle_leaves_nothing(
    house: House, other: House, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    workers = other.face.context.savepoint_workers
    monkeypatch.setattr(Ticket, "step", lambda ticket, step, *_: step.startswith("reading") or workers.close())
    assert failed(other.face, Import(url)) == ("unavailable", "savepoint.ended")
    assert files(other.face.layout.savepoints) == set() and other.face.ask(ListSavepoints("a")) == []


def test_an_import_whose_worker_outlived_the_opening_for_a_moment_is_done_again(house: House, other: House, url: str) -> None:
    """Nothing lists what it left, and only the next opening would remove it."""
    saved = taken(house)
    done(house.face, Export(saved.id, url))
    half = other.face.layout.savepoint(saved.id)
    half.mkdir()
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as worker:
        mark = process_marks.this_process(1, "import")
        process = replace(mark.process, pid=worker.pid, started=psutil.Process(worker.pid).create_time())
        (half / "making.json").write_bytes(documents.encode(replace(mark, process=process)))
        (half / "half").write_text("x")
        other.reopen()
        assert half.exists() and failed(other.face, Import(url)) == ("already_exists", "savepoint.exists")
    assert done(other.face, Import(url)) == saved.id
    assert not (half / "half").exists() and other.face.ask(ShowSavepoint(saved.id)).damaged_files == 0


def test_a_pipe_is_no_savepoint(house: House, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert failed(house.face, Import(str(tmp_path / "pipe"))) == ("not_found", "import.nothing")


def test_taken_to_another_place(house: House, other: House, tmp_path: Path) -> None:
    house.ran("a")
    far = str(tmp_path / "far")
    planned = house.face.plan(Take("a", to=far))
    assert planned.new_bytes == planned.bytes and files(tmp_path / "far") == set()
    saved = do(house.face, Take("a", to=far, label="far"))
    assert saved.path == f"{far}/{saved.id}"
    assert house.face.ask(ListSavepoints()) == []
    assert files(house.face.layout.savepoints) == set() and files(house.face.layout.exports) == set()
    assert house.face.ask(ListEvents("a"))[0].kind == "savepoint.exported"
    assert done(other.face, Import(saved.path)) == saved.id
    assert other.face.ask(ShowSavepoint(saved.id)).label == "far"


def test_what_is_wrong_with_a_take_to_is_raised(house: House, tmp_path: Path) -> None:
    house.ran("a")
    with pytest.raises(NotFound) as refused:
        do(house.face, Take("a", batch=999, to=str(tmp_path / "far")))
    assert refused.value.code == "savepoint.not_retained"
    assert files(house.face.layout.exports) == set()


def test_what_a_dead_export_left_is_cleaned(house: House, url: str) -> None:
    """Killed in the middle of it, in a process of its own."""
    saved = taken(house)
    house.face.close()
    command = [sys.executable, "-m", "tests.workspace.killed_export", str(house.root), saved.id, url]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60).returncode == -signal.SIGKILL
    assert files(Path(url).parent) != set() and not Path(url).exists()
    house.open()
    assert files(Path(url).parent) == set() and files(house.face.layout.exports) == set()
    assert [operation.state for operation in house.face.ask(ListOperations())] == [OperationState.FAILED]
    done(house.face, Export(saved.id, url, then_dispose=True))


def test_a_target_that_is_away_is_cleaned_later(house: House, tmp_path: Path) -> None:
    taken(house)
    note = house.face.layout.exports / "o-1.json"
    staging = tmp_path / "away" / ".sp.exporting-o-1"
    staging.mkdir(parents=True)
    (staging / "half").write_text("x")
    house.face.context.files.write(note, exports.Target("nope://bucket/sp", "sp", False, ""))
    house.reopen()
    assert note.exists() and "export.left" in {event.kind for event in house.face.ask(ListEvents())}
    house.face.context.files.write(note, exports.Target(str(tmp_path / "away" / "sp"), "sp", False, staging.name))
    house.reopen()
    assert not note.exists() and files(tmp_path / "away") == set()


# what the job said


def event(batch: int, rows: int = 3, **more: object) -> str:
    fields = json.loads(progress_line(batch, "2026-11-20T09:00:00.000Z"))
    return json.dumps({**fields, "stateOperators": [{"numRowsTotal": rows}], **more}) + "\n"


def test_a_seal_keeps_what_the_job_said(house: House, other: House, url: str) -> None:
    run = house.ran("a")
    for batch in range(10, 16):
        house.append(run, PROGRESS_FILE, event(batch, rows=batch))
    saved = do(house.face, Take("a"))
    assert progress_file.read(house.face.context.library, saved.id) == {}
    done(house.face, Export(saved.id, url))
    events = progress_file.read(house.face.context.library, saved.id)
    assert events["counts"] == json.loads(event(13, rows=13))
    done(other.face, Import(url))
    assert progress_file.read(other.face.context.library, saved.id) == events


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ([event(12), event(13, 5)], 5),
        ([event(13, 4, durationMs={"latestOffset": 1}), event(13, 5, durationMs={"addBatch": 9}), event(14, 6)], 5),
        ([event(13, 4, durationMs={"latestOffset": 1}), event(14, 6)], None),
        ([event(12), event(14)], None),
        ([event(13, 5), '{"torn'], 5),
        ([event(13, 5), "not json\n", "[1]\n", event(14, name="another")], 5),
        ([event(13, 5, filler="x" * 3_000_000), event(14, filler="y" * 3_000_000)], 5),
        ([], None),
    ],
    ids=["the newest", "not of a batch that did nothing", "only of a batch to come", "skipped", "torn", "damaged", "long lines", "nothing"],
)
def test_the_event_of_the_very_batch(lines: list[str], rows: int | None, house: House) -> None:
    run = house.ran("a")
    saved = do(house.face, Take("a"))
    with (house.folder(run) / PROGRESS_FILE).open("a") as file:
        file.writelines(lines)
    events = progress.find(house.face.context, house.face.ask(ReadManifest(saved.id)))
    assert (events["counts"]["stateOperators"][0]["numRowsTotal"] if events else None) == rows


def test_the_batch_of_an_earlier_run_on_the_same_checkpoint(house: House) -> None:
    first = house.ran("a")
    house.append(first, PROGRESS_FILE, event(13, 5))
    second = do(house.face, Resume("a"))
    house.see(second, RunState.STOPPED)
    saved = do(house.face, Take("a"))
    assert progress.find(house.face.context, house.face.ask(ReadManifest(saved.id)))["counts"]["batchId"] == 13
    do(house.face, Fork(saved.id, name="c", sinks={"*": "fresh"}))


def test_an_event_that_is_on_its_way_is_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    saved = do(house.face, Take("a"))
    waits: list[float] = []

    def arriving(seconds: float) -> None:
        waits.append(seconds)
        house.append(run, PROGRESS_FILE, event(13, 5))

    monkeypatch.setattr(progress, "time", SimpleNamespace(sleep=arriving, monotonic=time.monotonic))
    assert progress.find(house.face.context, house.face.ask(ReadManifest(saved.id)), patience_s=60)["counts"]["batchId"] == 13
    assert len(waits) == 1
