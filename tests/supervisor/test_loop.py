"""Supervision of real processes: start, end, stop, cancel, adoption."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName
from pipelines.domain.operations import OperationState
from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.progress import epoch_ms
from pipelines.domain.runs import EVENTS_FILE, LOG_FILE, PROGRESS_FILE, DriverEvent, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.storage import fronts
from pipelines.supervisor import fronts as trimming
from pipelines.supervisor import processes
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.attach import Attach
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListBatches, ListJobs, ReadLog, ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.rename_query import RenameQuery
from pipelines.verbs.resume import Resume
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowHealth
from pipelines.workspace import events, savepoints
from tests.sandbox import interpreters
from tests.savepoint.golden import lay_checkpoint
from tests.supervisor.conftest import DRIVER, STARTED, House, until
from tests.workspace.conftest import progress_line


def kinds(house: House) -> list[str]:
    return [event.kind for event in house.workspace.ask(ListEvents("a"))]


def test_a_wanted_run_is_started_and_runs(house: House) -> None:
    run = house.begin("wait")
    house.up(run)
    until(lambda: house.run().state is RunState.RUNNING)
    assert (house.folder(run) / "driver.log").read_text() == "tiny driver: wait\n"
    assert house.workspace.ask(ReadLog("a")).text == "tiny driver: wait\n"
    assert house.workspace.ask(ShowHealth()).running == 1
    assert STARTED[-1].id == run.version


def test_a_streaming_run_is_up_with_its_first_query(house: House) -> None:
    run = house.begin("query", code="df.writeStream\n")
    house.up(run)
    until(lambda: house.run().state is RunState.RUNNING)
    detail = house.workspace.ask(ShowJob("a"))
    assert [query.query for query in detail.queries] == ["counts"]
    assert (detail.runs[0].ui_url, detail.runs[0].spark_version) == ("http://127.0.0.1:4040", "4.3.0")


def test_a_streaming_run_without_a_query_is_still_starting(house: House) -> None:
    run = house.begin("wait", code="df.writeStream\n")
    house.up(run)
    assert house.run().state is RunState.STARTING


def test_a_finished_run(house: House) -> None:
    house.begin("finish")
    until(lambda: house.run().state is RunState.FINISHED)
    assert kinds(house)[0] == "run.finished"


def test_a_failed_run_says_its_error_class(house: House) -> None:
    house.begin("fail")
    until(lambda: house.run().state is RunState.FAILED)
    run = house.run()
    assert run.exit is not None and run.exit.error_class == "DIVIDE_BY_ZERO"
    assert house.workspace.ask(ListEvents("a"))[0].message == "a failed: DIVIDE_BY_ZERO: Division by zero"


def test_a_run_that_left_without_a_word(house: House) -> None:
    house.begin("leave")
    until(lambda: house.run().state is RunState.FAILED)
    run = house.run()
    assert run.exit is not None and (run.exit.reason, run.exit.code) == ("failed", 3)


def test_a_killed_driver_is_failed_and_reaped(house: House) -> None:
    pid = house.up(house.begin("wait"))
    os.kill(pid, signal.SIGKILL)
    until(lambda: house.run().state is RunState.FAILED)
    run = house.run()
    assert run.exit is not None and (run.exit.reason, run.exit.code) == ("killed", -9)
    assert not psutil.pid_exists(pid)


def test_an_interpreter_that_is_gone_when_the_run_starts_is_a_failed_run(house: House, tmp_path: Path) -> None:
    python = interpreters.another(tmp_path)
    house.begin("wait", python=str(python))
    python.unlink()
    assert house.run().state is RunState.FAILED
    exit_ = house.run().exit
    assert exit_ is not None and exit_.error_class == "FileNotFoundError"


def test_what_outlives_its_driver_is_ended_before_the_run_counts_as_ended(house: House) -> None:
    run = house.begin("parent")
    pid = house.up(run)
    child = psutil.Process(int((house.folder(run) / "child.pid").read_text()))
    os.kill(pid, signal.SIGKILL)
    until(lambda: house.run().state is RunState.FAILED)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_stop(house: House) -> None:
    house.up(house.begin("wait"))
    operation = house.stop(savepoint=False)
    assert operation.state == OperationState.RUNNING
    assert house.run().state is RunState.STOPPING
    until(lambda: house.run().state is RunState.STOPPED)
    assert house.workspace.ask(ShowOperation(operation.id)).state == OperationState.DONE
    with pytest.raises(Conflict) as refused:
        house.stop()
    assert refused.value.code == "job.not_running"


def test_a_stop_whose_savepoint_fails_says_so_and_the_run_is_stopped(house: House) -> None:
    """The checkpoint of the tiny driver's query has a commit and nothing else."""
    house.up(house.begin("query", code="df.writeStream\n"))
    until(lambda: house.run().state is RunState.RUNNING)
    commit = Path(house.workspace.ask(ShowJob("a")).queries[0].checkpoint) / "commits" / "0"
    commit.parent.mkdir(parents=True)
    commit.write_text("v1\n{}")
    operation = house.stop()
    until(lambda: house.run().state is RunState.STOPPED)
    done = house.workspace.ask(ShowOperation(operation.id))
    assert (done.state, done.error_code) == (OperationState.FAILED, "checkpoint.not_found")
    assert house.workspace.context.files.wanted(house.run().job).stop is None


def test_a_stop_with_nothing_to_save_stops_and_says_that_it_saved_nothing(house: House) -> None:
    house.up(house.begin("wait"))
    operation = house.stop()
    until(lambda: house.run().state is RunState.STOPPED)
    done = house.workspace.ask(ShowOperation(operation.id))
    assert (done.state, done.result, done.error_code) == (OperationState.FAILED, "", "savepoint.no_query")
    assert "has stopped, without a savepoint" in done.error_message
    assert "savepoint.skipped" in kinds(house)


def test_asking_again_answers_with_the_same_stop(house: House) -> None:
    house.up(house.begin("deaf"))
    first = house.stop(savepoint=False)
    assert house.stop().id == first.id


def test_cancel_kills_a_driver_that_does_not_listen(house: House) -> None:
    house.up(house.begin("deaf"))
    operation = house.stop(at_once=True)
    until(lambda: house.run().state is RunState.STOPPED)
    exit_ = house.run().exit
    assert exit_ is not None and exit_.message == "cancelled by signal 9"
    assert house.workspace.ask(ShowOperation(operation.id)).state == OperationState.DONE


def test_a_stop_before_the_start_never_starts(house: House) -> None:
    run = house.begin("wait")
    house.stop(savepoint=False)
    assert house.run().state is RunState.STOPPED
    assert not (house.folder(run) / "driver.log").exists()


def test_a_driver_lives_through_a_restart_and_is_adopted(house: House) -> None:
    pid = house.up(house.begin("wait"))
    house.reopen()
    until(lambda: house.run().state is RunState.RUNNING)
    assert house.run().pid == pid
    house.stop(savepoint=False)
    until(lambda: house.run().state is RunState.STOPPED)


def test_a_driver_that_was_spawned_and_not_recorded_is_found(house: House) -> None:
    run = house.begin("wait")
    folder = house.folder(run)
    orphan = processes.spawn(DRIVER.command(house.workspace.ask(ShowVersion(run.version))), folder, dict(os.environ))
    assert not (folder / PROCESS_FILE).exists()
    house.reopen()
    assert house.up(run) == orphan.pid


def test_another_process_under_the_recorded_pid_is_not_the_driver(house: House) -> None:
    run = house.begin("wait")
    pid = house.up(run)
    record = house.folder(run) / PROCESS_FILE
    os.kill(pid, signal.SIGKILL)
    processes._CHILDREN.pop(pid).wait()
    record.write_text(f'{{"pid": {os.getpid()}, "started": {psutil.Process().create_time() - 100}}}')
    until(lambda: house.run().state is RunState.FAILED)
    assert psutil.Process().is_running()


def test_a_restart_while_stopping_does_not_send_a_second_sigterm(house: House) -> None:
    run = house.begin("deaf")
    house.up(run)
    house.stop(savepoint=False)
    house.supervisor.tick()
    told = (house.folder(run) / "terminated.json").read_text()
    house.reopen()
    assert house.run().state is RunState.STOPPING
    assert (house.folder(run) / "terminated.json").read_text() == told


def test_resume_is_refused_while_it_runs_and_goes_on_with_the_checkpoint_afterwards(house: House) -> None:
    first = house.begin("wait")
    pid = house.up(first)
    with pytest.raises(Conflict):
        do(house.workspace, Resume("a"))
    os.kill(pid, signal.SIGKILL)
    until(lambda: house.run().state is RunState.FAILED)
    second = do(house.workspace, Resume("a"))
    assert second.checkpoints == first.checkpoints and second.version == first.version
    house.up(second)
    until(lambda: house.run().state is RunState.RUNNING)
    assert house.workspace.ask(ListJobs())[0].restarts == 1


def test_the_log_of_a_driver_that_runs_does_not_fill_the_disk(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trimming.LOG_VARIABLE, "500_000")
    house.reopen()
    run = house.begin("wait")
    house.up(run)
    log = house.folder(run) / LOG_FILE
    with log.open("ab") as file:
        file.write((b"x" * 99 + b"\n") * 20_000)
    house.ahead_ms += trimming.EVERY_MS
    assert house.run().state is RunState.RUNNING
    assert log.stat().st_blocks * 512 < 600_000 and house.workspace.ask(ReadLog("a")).text.endswith("x\n")
    assert house.workspace.ask(ReadLog("a", offset=0)).begin > 1_400_000
    monkeypatch.setattr(fronts, "KEEP_SIZE_PUNCH_HOLE", 0x02)  # no file system takes it
    for _ in range(2):
        with log.open("ab") as file:
            file.write((b"x" * 99 + b"\n") * 20_000)
        house.ahead_ms += trimming.EVERY_MS
        assert house.run().state is RunState.RUNNING
    assert kinds(house).count(trimming.GROWS) == 1


def test_the_records_of_a_run_do_not_fill_the_disk(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of one that runs, nor of one that is only watched; and the catalog has what they have."""
    monkeypatch.setenv(trimming.RECORD_VARIABLE, "500_000")
    lay_checkpoint("rocksdb_format2", house.root.parent / "checkpoint")
    attached = do(house.workspace, Attach(name="theirs", checkpoints={"counts": str(house.root.parent / "checkpoint")}))
    house.reopen()
    run = house.begin("wait")
    house.up(run)
    house.run()
    for each in (run, attached):
        with (house.folder(each) / PROGRESS_FILE).open("a") as file:
            file.writelines(progress_line(number, "2026-11-20T09:00:00.000Z")[:-1].ljust(19_999) + "\n" for number in range(60))
    for _ in range(2):
        house.ahead_ms += trimming.EVERY_MS
        house.run()
    for each in (run, attached):
        path = house.folder(each) / PROGRESS_FILE
        assert path.stat().st_blocks * 512 < 600_000 and path.stat().st_size >= 1_200_000
        first_ms = epoch_ms("2026-11-20T10:00:00.000Z")
        known = [row.batch for row in house.workspace.ask(ListBatches(each.job)) if first_ms <= row.at_ms < first_ms + 60_000]
        assert 20 <= len(known) <= 30 and known == list(range(59, 59 - len(known), -1))
    renamed = do(house.workspace, RenameQuery("theirs", "counts", "pages"))
    assert (house.folder(renamed) / PROGRESS_FILE).stat().st_size < 600_000
    assert {row.query for row in house.workspace.ask(ListBatches("theirs"))} == {"pages"}


def test_one_job_that_cannot_be_looked_after_does_not_stop_the_others(house: House) -> None:
    house.begin("wait", name="a")
    other = house.begin("wait", name="b")
    house.workspace.layout.wanted_file(house.workspace.ask(ShowJob("a")).summary.job.name).write_text("{")
    house.up(other)
    until(lambda: house.run("b").state is RunState.RUNNING)
    assert kinds(house).count("supervisor.failed") == 1


def test_a_job_that_was_being_changed_is_looked_at_as_soon_as_that_is_done(house: House) -> None:
    run, context, held, done = house.begin("wait"), house.workspace.context, threading.Event(), threading.Event()

    def change() -> None:
        with context.holding(run.job):
            held.set()
            done.wait()

    other = threading.Thread(target=change)
    other.start()
    held.wait()
    context.changed.clear()
    house.supervisor.tick()
    assert not (house.folder(run) / PROCESS_FILE).exists() and not context.changed.is_set()
    done.set()
    other.join()
    assert context.changed.is_set()


def test_the_loop_acts_at_once_when_something_is_asked_and_leaves_drivers_running(house: House) -> None:
    loop = SupervisorLoop(house.workspace, interval=60, driver=DRIVER)
    loop.start()
    run = house.begin("wait")
    until(lambda: (house.folder(run) / "ready").exists())
    loop.stop()
    process = house.workspace.context.files.process(run.job, run.id)
    assert process is not None and processes.alive(process)


def test_passes_that_fail_alike_are_told_once(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """Until one has passed."""
    outcomes = iter((OSError("the disk"), OSError("the disk"), KeyError("other"), None, OSError("the disk")))
    came = threading.Event()

    def check() -> None:
        outcome = next(outcomes, came)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is came:
            came.set()

    loop = SupervisorLoop(house.workspace, interval=0.01, driver=DRIVER, check=check)
    loop.start()
    assert came.wait(60)
    loop.stop()
    raised = [repr(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert raised == ["OSError('the disk')", "KeyError('other')", "OSError('the disk')"]


def test_the_savepoint_of_a_stop_holds_no_other_job_up(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long as the test wants; then it fails, because the tiny driver's query has no checkpoint."""
    reached, go_on, taken = threading.Event(), threading.Event(), savepoints.taken

    def held(*arguments: Any) -> Savepoint:
        reached.set()
        assert go_on.wait(60)
        return taken(*arguments)

    monkeypatch.setattr(savepoints, "taken", held)
    house.up(house.begin("query", code="df.writeStream\n"))
    until(lambda: house.run().state is RunState.RUNNING)
    operation = house.stop()
    until(lambda: house.supervisor.tick() or reached.is_set())

    house.up(house.begin("wait", name="b"))
    assert house.workspace.ask(ShowOperation(operation.id)).state == OperationState.RUNNING
    assert house.workspace.context.files.wanted(JobName("a")).stop is not None
    go_on.set()
    house.run()
    assert house.workspace.ask(ShowOperation(operation.id)).state == OperationState.FAILED
    assert house.workspace.context.files.wanted(JobName("a")).stop is None


def test_the_events_of_the_workspace_do_not_fill_the_disk(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog has what the file has, what drivers said stays, and one made anew is the same."""
    monkeypatch.setenv(trimming.RECORD_VARIABLE, "500_000")
    house.reopen()
    path, run = house.workspace.layout.events_file, house.begin("finish")
    (house.folder(run) / EVENTS_FILE).write_text(json.dumps(DriverEvent("sink.mended", "once", "", 1).as_json()) + "\n")
    until(lambda: house.run().state is RunState.FINISHED)
    first_ms = house.workspace.context.now_ms()
    with path.open("a") as file:
        file.writelines(
            json.dumps({"at_ms": first_ms + at, "kind": "old.said", "job": None, "subject": "", "message": "x" * 900}) + "\n"
            for at in range(2_000)
        )
    for _ in range(2):
        house.ahead_ms += trimming.EVERY_MS
        house.run()
    assert path.stat().st_blocks * 512 < 600_000 and path.stat().st_size > 1_800_000
    events.say(house.workspace.context, "new.said", None, "", "still written")
    kept = house.workspace.ask(ListEvents(limit=10_000))
    old = [event.at_ms - first_ms for event in kept if event.kind == "old.said"]
    assert 400 < len(old) < 700 and old == list(range(1_999, 1_999 - len(old), -1))
    assert {"new.said", "sink.mended"} < {event.kind for event in kept}
    do(house.workspace, RebuildCatalog())
    assert house.workspace.ask(ListEvents(limit=10_000)) == kept
