"""What is made of a rehearsal that has ended, from the files that it left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.ids import QueryName
from pipelines.domain.rehearsals import NO_DATA
from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Manifest
from pipelines.verbs.face import do
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace import rehearsals
from pipelines.workspace.rehearsals import Rehearsed
from pipelines.workspace.tickets import Ticket
from tests.workspace.conftest import House

BATCH = 14


class Left:
    """The folder of a rehearsal of two queries, `counts` and `more`, with nothing in it yet."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        counts = manifest.queries[0]
        self.manifest = replace(manifest, queries=(counts, replace(counts, query=QueryName("more"))))
        for inner in ("run", "rehearsal"):
            (folder / inner).mkdir(parents=True)

    def batch(self, query: str, *, committed: bool = True) -> None:
        (self.folder / "rehearsal" / f"{query}.json").write_text(json.dumps({"batch": BATCH, "output_rows": 2}))
        self.line("progress.jsonl", {**progress(query), "batchId": BATCH})
        commits = self.folder / "checkpoints" / query / "commits"
        commits.mkdir(parents=True)
        if committed:
            (commits / str(BATCH)).touch()

    def event(self, query: str) -> None:
        self.line("events.jsonl", {"kind": NO_DATA, "message": "", "query": query, "at_ms": 1})

    def exit(self, reason: str, error_class: str = "", message: str = "") -> None:
        ending = {"reason": reason, "code": 0, "error_class": error_class, "message": message, "at_ms": 1}
        (self.folder / "run" / "exit.json").write_text(json.dumps(ending))

    def line(self, name: str, content: dict[str, object]) -> None:
        with (self.folder / "run" / name).open("a") as file:
            file.write(json.dumps(content) + "\n")

    def outcome(self) -> Rehearsed:
        return rehearsals._outcome(self.manifest, self.folder, str(self.folder / "checkpoints"), (b"out of memory",))


def progress(query: str) -> dict[str, object]:
    at = "2026-11-20T10:00:00.000Z"
    return {"id": "q-1", "runId": "s-1", "name": query, "timestamp": at, "batchDuration": 120, "numInputRows": 5, "sources": []}


@pytest.fixture
def left(house: House, tmp_path: Path) -> Left:
    house.ran()
    taken = do(house.face, Take("a"))
    return Left(tmp_path / "left", house.face.ask(ReadManifest(taken.id)))


def test_a_batch_of_each_query_needs_no_note(left: Left) -> None:
    left.batch("counts")
    left.batch("more")
    left.exit("finished")
    rehearsal = left.outcome()
    assert (rehearsal.note, rehearsal.damages) == ("", ())
    assert [(batch.query, batch.batch, batch.input_rows, batch.output_rows, batch.batch_ms) for batch in rehearsal.batches] == [
        ("counts", BATCH, 5, 2, 120.0),
        ("more", BATCH, 5, 2, 120.0),
    ]


def test_a_batch_that_was_written_and_not_committed_does_not_count(left: Left) -> None:
    left.batch("counts")
    left.batch("more", committed=False)
    left.exit("finished")
    rehearsal = left.outcome()
    assert [batch.query for batch in rehearsal.batches] == ["counts"]
    assert rehearsal.note == "The job's code ended before more ran a batch."


def test_a_query_without_data_is_named_with_what_to_do(left: Left) -> None:
    left.batch("counts")
    left.event("more")
    left.exit("finished")
    assert left.outcome().note == "The sources of more had nothing new to run a batch with: try again when they have."


@pytest.mark.parametrize("error", ["AnalysisException", "ModuleNotFoundError", "PATH_NOT_FOUND", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"])
def test_failing_code_is_no_damage(error: str, left: Left) -> None:
    left.exit("failed", error, "it went wrong")
    rehearsal = left.outcome()
    assert (rehearsal.batches, rehearsal.damages) == ((), ())
    assert rehearsal.note == f"The state was read, but the job's code failed before its batch was done: {error}: it went wrong"


def test_state_that_spark_cannot_load_is_damage_of_that_query(left: Left) -> None:
    left.exit("failed", "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", "query more: no such file")
    (damage,) = left.outcome().damages
    assert (damage.path, damage.kind) == ("queries/more/checkpoint/state", "state")
    assert damage.message.endswith("query more: no such file")


def test_without_code_there_is_no_batch(house: House, left: Left) -> None:
    unknown = replace(left.manifest, version=replace(left.manifest.version, code="", script=""))
    rehearsal = rehearsals.rehearse(house.face.context, unknown, OWN, left.folder / "none", str(left.folder / "checkpoints"), Ticket())
    assert (rehearsal.batches, rehearsal.damages, rehearsal.note) == ((), (), rehearsals.NO_CODE)


def test_a_driver_that_died_is_told_by_its_last_lines(left: Left) -> None:
    (left.folder / "run" / "driver.log").write_text("one\nout of memory\n")
    assert left.outcome().note == "The job's code ended without a word. Its last lines:\none\n*************"
