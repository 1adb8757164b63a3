"""Backups: made while jobs run, each content once; whole or refused by name; restored into an empty workspace, which is then as it was."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.access import Role
from pipelines.domain.audit import Call, Result
from pipelines.domain.backups import BackedFile, Backup, belongs
from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import LOG_FILE, RunState
from pipelines.domain.trust import Trust
from pipelines.storage import contents, fronts, keys
from pipelines.storage.addresses import open_storage
from pipelines.storage.contents import Contents
from pipelines.verbs.audit import VerifyAudit
from pipelines.verbs.backups import CheckBackup, CreateBackup, ListBackups, RestoreBackup
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs, ReadLog, ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import CreateToken, ListTokens
from pipelines.verbs.verify import Verify
from pipelines.words import backups as words
from pipelines.workspace import backups
from pipelines.workspace.backups import making, parts, restores
from pipelines.workspace.backups.parts import Part
from pipelines.workspace.context import Context
from pipelines.workspace.files import AUDIT_VARIABLE
from pipelines.workspace.opening import open_unwritable
from tests.workspace import process_forks
from tests.workspace.conftest import CODE, NEWEST, House


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "backups")


@pytest.fixture
def lived(house: House) -> House:
    """A job that runs, with a savepoint, and one that has stopped."""
    house.ran("a", state=RunState.RUNNING)
    house.ran("b", golden="hdfs")
    do(house.face, Take("a", label="kept"))
    return house


def backed_up(house: House, place: str) -> Backup:
    done = do(house.face, CreateBackup(place))
    assert done.state is OperationState.DONE, done
    return house.face.ask(ListBackups(place))[0]


def restored(house: House, place: str, backup: str = "") -> House:
    """Another workspace, made of a backup."""
    other = House(house.root.with_name("other"))
    other.entropy = house.entropy  # or its ids would be those of the restored one
    other.reopen()
    done = do(other.face, RestoreBackup(place, backup))
    assert done.state is OperationState.DONE, done
    return other


def files_of(place: str) -> dict[str, BackedFile]:
    storage = open_storage(place)
    return {file.path: file for file in backups.files_of(Contents(storage), backups.newest_first(storage)[0])}


def test_what_is_restored_is_as_it_was(lived: House, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUDIT_VARIABLE, "3000")
    lived.reopen()
    for number in range(30):
        lived.face.record(Call("take", f"job-{number}", Result.DONE))
    do(lived.face, CreateToken("ci", for_role=Role.OPERATOR))
    audited = lived.face.ask(VerifyAudit()).lines
    backup = backed_up(lived, place)
    assert (backup.jobs, backup.left) == (("a", "b"), {})
    other = restored(lived, place)
    try:
        there = {summary.job.name: summary.state for summary in other.face.ask(ListJobs())}
        assert there == {"a": RunState.STOPPED, "b": RunState.STOPPED}
        assert other.face.ask(ListSavepoints())[0].label == "kept"
        taken = other.face.ask(ListSavepoints())[0].id
        assert do(other.face, Verify(taken, Trust.INTACT)).reached is Trust.INTACT
        assert [token.name for token in other.face.ask(ListTokens())] == ["ci"]
        whole = other.face.ask(VerifyAudit())
        assert whole.findings == () and whole.lines >= audited and list(other.face.layout.sealed_audit.iterdir())
        assert do(other.face, Take("a")).queries[0].batch == NEWEST
        assert do(other.face, Fork(taken, name="c")).job == "c"
        assert not (other.root / "restores").exists()
    finally:
        other.face.close()


def test_a_versions_file_is_whole_whatever_it_ends_with(house: House, place: str) -> None:
    """One that is called as a file that grows, and has no end of line at its end, or none at all."""
    files = {"words.jsonl": '{"a": 1}\n{"b": 2}', "names.log": "anna"}
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, files=files))
    house.see(run, RunState.STOPPED)
    backed_up(house, place)
    other = restored(house, place)
    try:
        code = next((other.root / "versions").glob("*/code"))
        assert {name: (code / name).read_text() for name in files} == files
    finally:
        other.face.close()


def test_another_backup_copies_only_what_is_new(lived: House, place: str) -> None:
    first = backed_up(lived, place)
    lived.progress(lived.ran("c"), 1)
    planned = lived.face.plan(CreateBackup(place))
    second = backed_up(lived, place)
    assert 0 < second.new_bytes < first.new_bytes and second.bytes > first.bytes
    assert planned.new_bytes < planned.bytes and planned.files >= second.files - 2
    third = backed_up(lived, place)
    kept = contents.sizes(open_storage(place))
    assert third.new_bytes < kept[third.listing] + 10_000
    assert sum(kept.values()) == first.new_bytes + second.new_bytes + third.new_bytes
    assert all(kept[file.sha256] == file.bytes for file in files_of(place).values())


def test_nothing_secret_and_nothing_that_is_made_anew_is_in_it(lived: House, place: str) -> None:
    keys.kept_key(lived.face.layout.key_file)
    backed_up(lived, place)
    names = files_of(place)
    assert all(belongs(path) for path in names)
    assert not any(path.endswith(("process.json", ".lock")) or ".leases" in path for path in names)
    assert hashlib.sha256(lived.face.layout.key_file.read_bytes()).hexdigest() not in contents.sizes(open_storage(place))


@pytest.mark.parametrize(
    "path", ["access.key", "server.json", "../x", "jobs/../../x", "/etc/passwd", "jobs/a/../../access.key", "jobs/.a/job.json", "jobs/a/x"]
)
def test_no_backup_writes_anything_else(path: str) -> None:
    assert not belongs(path)


def test_what_was_broken_off_is_no_backup_and_the_next_goes_on_with_it(lived: House, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*given: object) -> None:
        raise Unavailable("storage.away", "It is gone", "")

    monkeypatch.setattr(making, "_refuse_incomplete", breaks)
    assert do_failing(lived, CreateBackup(place)).code == "storage.away"
    monkeypatch.undo()
    assert lived.face.ask(ListBackups(place)) == []
    with pytest.raises(NotFound, match="no backup"):
        lived.face.plan(RestoreBackup(place))
    left = sum(contents.sizes(open_storage(place)).values())
    assert backed_up(lived, place).new_bytes < left / 2


def do_failing(house: House, change: CheckBackup | CreateBackup | RestoreBackup) -> TidemarkError:
    """What a change fails with, at once or as its operation."""
    with pytest.raises(TidemarkError) as raised:
        do(house.face, change)
    return raised.value


def test_a_damaged_backup_keeps_no_other_from_being_made(lived: House, place: str) -> None:
    first = backed_up(lived, place)
    (Path(place) / contents.place(first.listing)).unlink()
    second = backed_up(lived, place)
    assert (Path(place) / contents.place(second.listing)).exists() and len(lived.face.ask(ListBackups(place))) == 2


@pytest.mark.parametrize("damage", ["gone", "cut", "changed"])
def test_a_damaged_backup_is_refused_by_name(lived: House, place: str, damage: str) -> None:
    backed_up(lived, place)
    files = files_of(place)
    file = next(file for path, file in files.items() if path.startswith("savepoints/") and file.bytes > 100)
    content = Path(place) / contents.place(file.sha256)
    data = content.read_bytes()
    content.write_bytes(data[:-1] if damage == "cut" else bytes([data[0] ^ 1]) + data[1:])
    if damage == "gone":
        content.unlink()
    other = House(lived.root.with_name("other"))
    try:
        refused = do_failing(other, RestoreBackup(place))
        assert refused.code == "backup.damaged" and other.face.ask(ListJobs()) == []
        assert any(path in refused.message for path, same in files.items() if same.sha256 == file.sha256)
        assert not list(other.root.glob("restores")) and not list((other.root / "savepoints").iterdir())
    finally:
        other.face.close()


def test_only_an_empty_workspace_takes_one_and_none_goes_into_it(lived: House, place: str) -> None:
    backed_up(lived, place)
    with pytest.raises(Conflict, match="job a") as refused:
        lived.face.plan(RestoreBackup(place))
    assert refused.value.code == "backup.not_empty"
    with pytest.raises(Invalid, match="inside of the workspace"):
        lived.face.plan(CreateBackup(str(lived.root / "savepoints" / "x")))
    for below in (__file__, f"{__file__}/x"):
        with pytest.raises(Invalid, match="is a file"):
            lived.face.plan(CreateBackup(below))
    for change in (CheckBackup("backups"), CreateBackup("backups"), RestoreBackup("backups")):
        with pytest.raises(Invalid, match="no whole path"):
            lived.face.plan(change)
    with pytest.raises(Invalid, match="no whole path"):
        lived.face.ask(ListBackups("backups"))


def test_a_restore_is_planned_where_no_workspace_is_yet(lived: House, place: str, tmp_path: Path) -> None:
    made, root = backed_up(lived, place), tmp_path / "none"
    absent = open_unwritable(root)
    assert (absent.plan(RestoreBackup(place)).backup, root.exists()) == (made.id, False)
    absent.close()


def test_what_is_begun_meanwhile_refuses_a_restore(lived: House, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backed_up(lived, place)
    other, begun, fetch = House(lived.root.with_name("other")), threading.Event(), Contents.fetch

    def fetched(kept: Contents, *given: Any) -> None:
        if not begun.is_set():
            begun.set()
            other.begin("a")
        fetch(kept, *given)

    monkeypatch.setattr(Contents, "fetch", fetched)
    monkeypatch.setattr(restores, "THREADS", 1)
    try:
        refused = do_failing(other, RestoreBackup(place))
        assert refused.code == "backup.not_empty" and [summary.job.name for summary in other.face.ask(ListJobs())] == ["a"]
        assert other.face.ask(ListSavepoints()) == [] and not (other.root / "restores").exists()
    finally:
        other.face.close()


def test_what_cannot_be_saved_is_named_and_the_rest_is_backed_up(lived: House, place: str) -> None:
    lived.begin("new")
    taken = lived.face.ask(ListSavepoints())[0]
    next(path for path in (lived.root / "savepoints" / taken.id).rglob("*.zip")).unlink()
    backup = backed_up(lived, place)
    assert set(backup.left) == {"new", taken.id} and backup.savepoints == () and backup.jobs == ("a", "b", "new")


@pytest.mark.parametrize("damage", ["file", "seal", "sealed", "manifest"])
def test_a_savepoint_that_is_damaged_after_it_was_sealed_is_named_and_not_listed(lived: House, place: str, damage: str) -> None:
    """In the plan, too: a file or a part of its seal is gone, the seal or the manifest cannot be read."""
    taken = lived.face.ask(ListSavepoints())[0]
    do(lived.face, Verify(taken.id, Trust.INTACT))
    folder = lived.root / "savepoints" / taken.id
    zipped, seal = next(folder.rglob("*.zip")), folder / "checksums.json"
    if damage == "file":
        zipped.unlink()
    elif damage == "seal":
        seal.write_text("{")
    elif damage == "sealed":
        sealed = json.loads(seal.read_text())
        del sealed["files"][str(zipped.relative_to(folder))]
        seal.write_text(json.dumps(sealed))
    else:
        (folder / "manifest.json").write_text("{")
    assert set(lived.face.plan(CreateBackup(place)).left) == {taken.id}
    backup = backed_up(lived, place)
    assert set(backup.left) == {taken.id} and backup.savepoints == ()


def test_of_a_log_whose_front_was_freed_the_rest_is_kept_and_counted(lived: House, place: str) -> None:
    log = lived.folder(lived.face.ask(ShowJob("b")).runs[0]) / LOG_FILE
    log.write_text("".join(f"{number:9}\n" for number in range(100_000)))
    fronts.free(log, 100_000)
    with log.open("a") as file:
        file.write("a line under way")
    begin = lived.face.ask(ReadLog("b", offset=0)).begin
    planned = lived.face.plan(CreateBackup(place))
    backup = backed_up(lived, place)
    assert abs(planned.bytes - backup.bytes) < 50_000, (planned, backup)
    assert lived.face.plan(CreateBackup(place)).new_bytes < planned.new_bytes - 90_000, "a log that did not grow is not new"
    (kept,) = (file for path, file in files_of(place).items() if path.endswith(log.relative_to(lived.root).as_posix()))
    assert begin and kept.sha256 == hashlib.sha256(log.read_bytes()[begin : -len("a line under way")]).hexdigest()
    other = restored(lived, place)
    try:
        assert other.face.ask(ReadLog("b", offset=0)).text.startswith(f"{begin // 10:9}\n")
    finally:
        other.face.close()


def test_a_file_that_is_shorter_or_gone_by_then_breaks_no_backup(lived: House, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that its job replaced since it was listed, and the log of a run whose job is forgotten meanwhile."""
    layout, job = lived.face.layout, lived.face.ask(ShowJob("b")).summary.job.name
    summary, log = layout.output(job) / "summary.csv", lived.folder(lived.face.ask(ShowJob("b")).runs[0]) / LOG_FILE
    summary.parent.mkdir(parents=True, exist_ok=True)
    of_outputs, of_job = parts.of_outputs, parts.of_job

    def listed_then_replaced(context: Context, name: JobName, but: list[str]) -> list[Part]:
        summary.write_text("total,12345\n")
        listed = list(of_outputs(context, name, but))
        summary.write_text("total,6\n")
        return listed

    def listed_then_gone(context: Context, name: JobName) -> list[Part]:
        log.write_text("one\n")
        listed = list(of_job(context, name))
        log.unlink()
        return listed

    monkeypatch.setattr(parts, "of_outputs", listed_then_replaced)
    monkeypatch.setattr(parts, "of_job", listed_then_gone)
    backed_up(lived, place)
    kept = files_of(place)
    assert kept[f"jobs/b/output/{summary.name}"].sha256 == hashlib.sha256(b"total,6\n").hexdigest()
    assert not any(path.endswith(f"/{LOG_FILE}") and path.startswith("jobs/b/") for path in kept)
    assert do(lived.face, CheckBackup(place)).state is OperationState.DONE


def test_a_kill_between_copy_and_move_is_completed_by_the_next_opening(lived: House, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backed_up(lived, place)
    other = House(lived.root.with_name("other"))
    monkeypatch.setattr(restores, "finish", lambda context: False)
    do(other.face, RestoreBackup(place))
    monkeypatch.undo()
    assert (other.root / "restores" / "whole").is_dir() and other.face.ask(ListJobs()) == []
    other.reopen()
    try:
        assert {summary.job.name for summary in other.face.ask(ListJobs())} == {"a", "b"}
        assert other.face.ask(ListSavepoints())[0].label == "kept" and not (other.root / "restores").exists()
    finally:
        other.face.close()


def test_a_bucket_holds_backups_too(lived: House, s3_url: str) -> None:
    backed_up(lived, f"{s3_url}/backups")
    other = restored(lived, f"{s3_url}/backups")
    try:
        assert {summary.job.name for summary in other.face.ask(ListJobs())} == {"a", "b"}
    finally:
        other.face.close()


def contents_of(place: str, folder: str) -> list[Path]:
    """Contents of files in a folder of the newest backup, each once."""
    all_of = {file.sha256 for path, file in files_of(place).items() if path.startswith(f"{folder}/") and file.bytes > 100}
    return [Path(place) / contents.place(sha256) for sha256 in sorted(all_of)]


def flipped(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def test_a_check_reads_every_content_once_and_changes_nothing(lived: House, place: str) -> None:
    backup = backed_up(lived, place)
    before = {path: path.stat().st_mtime_ns for path in Path(place).rglob("*") if path.is_file()}
    plan = lived.face.plan(CheckBackup(place))
    distinct = {file.sha256: file.bytes for file in files_of(place).values()}
    assert (plan.backup, plan.files, plan.contents, plan.bytes) == (backup.id, backup.files, len(distinct), sum(distinct.values()))
    done = do(lived.face, CheckBackup(place))
    assert (done.state, done.result) == (OperationState.DONE, backup.id)
    assert done.amount is not None and done.amount.done == done.amount.total == plan.bytes
    assert {path: path.stat().st_mtime_ns for path in Path(place).rglob("*") if path.is_file()} == before


def test_a_check_names_all_that_is_damaged(lived: House, place: str) -> None:
    """Also what has its size, and which a restore would only find as it copies; once it is gone, the next backup copies it anew."""
    backed_up(lived, place)
    gone, cut, changed = contents_of(place, "savepoints")[:3]
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-1])
    flipped(changed)
    refused = do_failing(lived, CheckBackup(place))
    assert refused.code == "backup.damaged" and refused.hint
    for path, file in files_of(place).items():
        whys = {gone.name: "is missing", cut.name: "has another size", changed.name: "has another SHA-256"}
        if file.sha256 in whys:
            assert f"{path} {whys[file.sha256]}" in refused.message
    assert lived.face.ask(ListEvents(kind="failures"))[0].kind == "backup.damaged"
    changed.unlink()
    backed_up(lived, place)
    assert do(lived.face, CheckBackup(place)).state is OperationState.DONE


def test_any_backup_can_be_checked_by_its_id(lived: House, place: str) -> None:
    first = backed_up(lived, place)
    before = {file.sha256 for file in files_of(place).values()}
    lived.progress(lived.ran("c"), 1)
    backed_up(lived, place)
    flipped(next(path for path in contents_of(place, "jobs/c") if path.name not in before))
    assert do_failing(lived, CheckBackup(place)).code == "backup.damaged"
    assert do(lived.face, CheckBackup(place, first.id)).result == first.id
    with pytest.raises(NotFound, match="no backup b-none"):
        lived.face.plan(CheckBackup(place, "b-none"))
    (Path(place) / contents.place(first.listing)).unlink()
    assert do_failing(lived, CheckBackup(place, first.id)).code == "backup.damaged"


def test_a_damaged_document_keeps_no_other_backup_from_being_restored(lived: House, place: str) -> None:
    first, second = backed_up(lived, place), backed_up(lived, place)
    (Path(place) / "backups" / f"{second.id}.json").write_text("{")
    damaged, other_one = lived.face.ask(ListBackups(place))
    assert (damaged.id, other_one.id, other_one.damage) == (second.id, first.id, "") and second.id in damaged.damage
    assert words.row(damaged, 0)[4].startswith("cannot be read: ")
    assert do(lived.face, CheckBackup(place, first.id)).result == first.id
    unnamed = do_failing(lived, CheckBackup(place))
    assert second.id in unnamed.message and "--backup" in unnamed.hint, "it may be the newest"
    other = restored(lived, place, first.id)
    other.face.close()


def test_a_bucket_is_checked_too(lived: House, s3_url: str) -> None:
    url = f"{s3_url}/checked"
    backed_up(lived, url)
    assert do(lived.face, CheckBackup(url)).state is OperationState.DONE
    storage = open_storage(url)
    files = backups.files_of(Contents(storage), backups.newest_first(storage)[0])
    storage.write(contents.place(next(file.sha256 for file in files if file.bytes > 100)), b"something else")
    assert do_failing(lived, CheckBackup(url)).code == "backup.damaged"


def test_backups_that_are_killed_leave_nothing_that_matters(lived: House, place: str) -> None:
    """SIGKILL, of processes of their own: half-way through a content, while one copies a job's state, while it holds a savepoint, before
    it looks whether all is there, and between the writing of its document and its name. Each goes on with what the one before left."""
    taken = lived.face.ask(ListSavepoints())[0].id
    first = backed_up(lived, place)
    lived.progress(lived.ran("c"), 1)
    do(lived.face, Take("b", label="new"))
    lived.face.close()
    with process_forks.of("tests.workspace.killed_backup") as forked:
        for point in ("content", "state", "savepoint", "incomplete", "document"):
            assert forked(lived.root, place, point) == -signal.SIGKILL, point
            assert [backup.id for backup in backups.newest_first(open_storage(place))] == [first.id], point
    lived.open()
    assert [backup.id for backup in lived.face.ask(ListBackups(place))] == [first.id]
    assert not list(lived.face.layout.exports.rglob("*.zip"))
    assert do(lived.face, CheckBackup(place)).result == first.id
    second = backed_up(lived, place)
    assert do(lived.face, CheckBackup(place)).result == second.id and second.left == {}
    assert (second.jobs, len(second.savepoints)) == (("a", "b", "c"), 2)
    assert not do(lived.face, Dispose((taken,))).outcomes[0].refusal
