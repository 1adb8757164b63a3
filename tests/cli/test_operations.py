"""Operations on the command line: exports and imports, followed, listed, cancelled."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, NotFound, Unavailable
from pipelines.domain.operations import Operation, OperationState
from pipelines.storage.documents import plain
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import
from pipelines.verbs.operations import CancelOperation, ListOperations, ShowOperation
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun
from tests import changes, samples
from tests.afterwards import follow
from tests.cli.doors import Door
from tests.faces import NOW_MS, FakeFace

FIRST = "sp-000000000002"
PROVED = "sp-000000000007"
ARCHIVED = changes.SAVEPOINT
ARCHIVE = "s3://lake/archive/clicks.tar.zst"


@pytest.fixture
def tidemark() -> Door:
    return Door(FakeFace.busy())


def test_export_prints_the_url(tidemark: Door) -> None:
    done = tidemark("export", FIRST, "s3://lake/one")
    assert (done.exit_code, done.stdout) == (0, "s3://lake/one\n")
    assert tidemark.face.begun == [Export(FIRST, "s3://lake/one")]
    assert tidemark.json("export", FIRST, "s3://lake/two")["state"] == "done"


def test_export_to_a_path_from_here(tidemark: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = tidemark("export", FIRST, "one", "--archive", "--then-dispose")
    assert done.stdout == f"{tmp_path / 'one'}\n"
    assert tidemark.face.begun == [Export(FIRST, str(tmp_path / "one"), True, True)]


def test_export_dry_run_prints_the_plan(tidemark: Door) -> None:
    lines = [line.split("  ", 1) for line in tidemark("export", FIRST, "s3://lake/one.tar.zst", "--dry-run").stdout.splitlines()]
    plan = {name: value.strip() for name, value in lines}
    assert (plan["becomes"], plan["copies"]) == ("one compressed file", "12 files, 2.0 MB read; the file is usually smaller")
    leaves = tidemark("export", FIRST, "s3://lake/a", "--then-dispose", "--dry-run").stdout
    assert "then" not in plan and "It is deleted here once the copy was read back" in leaves
    assert tidemark.json("export", FIRST, "s3://lake/one", "--directory", "--dry-run")["archive"] is False
    assert tidemark.face.begun == []


def test_import_prints_the_id(tidemark: Door) -> None:
    follow(tidemark.face, Import)
    done = tidemark("import", ARCHIVE)
    assert (done.exit_code, done.stdout) == (0, f"{ARCHIVED}\n")
    assert tidemark.face.begun == [Import(ARCHIVE)]
    assert "12 files, 2.0 MB" in done.stderr


def test_an_import_that_fails_on_its_way_ends_with_the_code_of_its_error(tidemark: Door) -> None:
    begun = samples.begun("op-1", "import", "", ARCHIVE)
    failed = samples.failed(begun, samples.here_already(ARCHIVED))
    tidemark.face.answers(Import, lambda change: tidemark.face.under_way(begun, failed))
    again = tidemark("import", ARCHIVE)
    assert (again.exit_code, again.stdout) == (4, "")
    assert again.stderr == f"error: {ARCHIVED} is here already\nhint: Dispose of it first.\n"


def test_a_refusal_before_it_begins(tidemark: Door) -> None:
    tidemark.face.refuses(Export, AlreadyExists("export.exists", f"{ARCHIVE} is taken", "Choose another URL."))
    tidemark.face.refuses(Import, NotFound("export.not_found", "there is no savepoint at s3://lake/none"))
    assert tidemark("export", FIRST, ARCHIVE).exit_code == 4
    assert tidemark("import", "s3://lake/none").exit_code == 3


def test_progress_is_said_now_and_then(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: Door.sleep(tidemark, 3))
    narration = tidemark("export", FIRST, "s3://lake/one").stderr.splitlines()
    assert narration == ["copying: 1.5 MB of 2.0 MB, 167 kB/s, 3 s left", f"{FIRST} exported in 0 ms"]
    assert tidemark("export", FIRST, "s3://lake/two", "--json").stderr == f'{{"note": "{FIRST} exported in 0 ms"}}\n'


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
FOLLOWED = [(("export", FIRST, "s3://lake/one"), "export"), (("import", ARCHIVE), "import"), (("verify", FIRST, "--json"), "verify")]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize(("words", "kind"), FOLLOWED)
def test_who_leaves_cancels(
    tidemark: Door, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int, words: tuple[str, ...], kind: str
) -> None:
    usual = signal.getsignal(number)
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: signal.raise_signal(number))
    done = tidemark(*words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert f"the {kind} was cancelled" in done.stderr
    assert tidemark.face.begun[1:] == [CancelOperation(tidemark.face.ask(ListOperations())[0].id)]
    assert signal.getsignal(number) is usual


def test_a_second_signal_ends_it_as_ever(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancel(change: CancelOperation) -> Operation:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second signal did nothing")

    monkeypatch.setattr(tidemark, "sleep", lambda seconds: signal.raise_signal(signal.SIGINT))
    tidemark.face.answers(CancelOperation, cancel)
    assert tidemark("export", FIRST, "s3://lake/one").exit_code == 130


def test_who_leaves_too_late_has_what_was_done(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancel(change: CancelOperation) -> Operation:
        tidemark.face.under_way(samples.done(tidemark.face.now[change.operation], "s3://lake/one"))
        raise Conflict("operation.ended", f"operation {change.operation} has ended: done", "Nothing is left to cancel.")

    monkeypatch.setattr(tidemark, "sleep", lambda seconds: signal.raise_signal(signal.SIGINT))
    tidemark.face.answers(CancelOperation, cancel)
    done = tidemark("export", FIRST, "s3://lake/one")
    assert (done.exit_code, done.stdout) == (0, "s3://lake/one\n")


def copying() -> FakeFace:
    """A face that takes a savepoint to a URL as an operation."""
    face, taken = FakeFace.busy(), Take("clicks", to="s3://lake/one")
    course = samples.course(samples.begun("op-1", "export", "clicks", taken.to), taken.to)
    face.answers(Take, lambda change: Begun(change, face.under_way(*course, outcome=changes.taken(face, taken))))
    return face


def test_a_savepoint_on_its_way_to_a_url_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    tidemark = Door(copying())
    pauses = iter([lambda seconds: signal.raise_signal(signal.SIGTERM)])
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: next(pauses, time.sleep)(seconds))
    done = tidemark("savepoint", "clicks", "--to", "s3://lake/one")
    assert (done.exit_code, done.stdout) == (143, "")
    assert done.stderr == "cancelling the export; what it made is being removed\nthe export was cancelled\n"
    assert tidemark.face.ask(ShowOperation("op-exporting")).state is OperationState.RUNNING


def test_a_savepoint_on_its_way_to_a_url_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    tidemark = Door(copying())
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: Door.sleep(tidemark, 6))
    done = tidemark("savepoint", "clicks", "--to", "s3://lake/one")
    assert (done.exit_code, done.stdout) == (0, "s3://lake/one\n")
    assert "copying: 1.0 MB of 2.0 MB" in done.stderr


def test_what_cannot_be_called_back_is_a_conflict(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    tidemark.face.answers(Export, replace(samples.begun("op-1", "export", "clicks", FIRST), can_cancel=False))
    tidemark.face.refuses(CancelOperation, Conflict("operation.not_cancellable", "an export cannot be called back", "Wait until it ended."))
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: signal.raise_signal(signal.SIGINT))
    done = tidemark("export", FIRST, "s3://lake/one")
    assert done.exit_code == 5 and "cannot be called back" in done.stderr


def test_somebody_else_cancels(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        tidemark.face.under_way(samples.cancelled(tidemark.face.ask(ListOperations(running=True))[0]))

    monkeypatch.setattr(tidemark, "sleep", sleep)
    done = tidemark("export", FIRST, "s3://lake/one")
    assert (done.exit_code, done.stdout) == (5, "")
    assert "cancelled by somebody else" in done.stderr


def test_operations(tidemark: Door) -> None:
    head, *rows = tidemark("operations").stdout.splitlines()
    assert head.split()[:3] == ["OPERATION", "KIND", "STATE"]
    assert [row.split()[:3] for row in rows] == [
        ["op-exporting", "export", "running"],
        ["op-failed", "import", "failed"],
        ["op-verified", "prove", "done"],
    ]
    assert "copying: 500 kB of 2.0 MB" in rows[0] and f"{PROVED} is here already" in rows[1]
    assert [operation["id"] for operation in tidemark.json("operations", "--running")] == ["op-exporting"]
    assert tidemark.json("operations") == plain(tidemark.face.ask(ListOperations()))


def test_cancel_operation(tidemark: Door) -> None:
    done = tidemark("cancel-operation", "op-exporting")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "the export was cancelled\n")
    assert tidemark("operations", "--running").stdout == ""
    ended = Conflict("operation.ended", "operation op-exporting has ended: cancelled", "Nothing is left to cancel.")
    tidemark.face.refuses(CancelOperation, ended)
    again = tidemark("cancel-operation", "op-exporting")
    assert (again.exit_code, again.stderr) == (5, "error: operation op-exporting has ended: cancelled\nhint: Nothing is left to cancel.\n")


@pytest.mark.parametrize(("state", "code"), [(OperationState.DONE, 5), (OperationState.FAILED, 9)])
def test_cancel_operation_waits_and_says_how_it_ended(tidemark: Door, state: OperationState, code: int) -> None:
    asked = tidemark.face.ask(ShowOperation("op-exporting"))

    def seen(question: ShowOperation) -> Operation:
        if tidemark.ticks < 3:
            return asked
        failed = samples.failed(asked, Unavailable("storage.away", "the store is away", "Wait."))
        return failed if state is OperationState.FAILED else replace(asked, state=state, ended_ms=NOW_MS)

    tidemark.face.answers(CancelOperation, lambda change: Begun(change, answer=asked))
    tidemark.face.answers(ShowOperation, seen)
    assert tidemark("cancel-operation", "op-exporting").exit_code == code
    assert tidemark.ticks == 3
