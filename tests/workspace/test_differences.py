"""What differs between two points: savepoints, jobs, runs, versions; decided from what they say, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.differences import Differences, Entry, Fact, Outcome, Unit, entries
from pipelines.domain.errors import NotFound
from pipelines.domain.offsets import positions
from pipelines.domain.points import PointKind
from pipelines.domain.runs import PROGRESS_FILE, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import options
from pipelines.verbs.experiments import Diff
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from tests.workspace.conftest import CODE, NEWEST, House

OFFSETS: dict[str, tuple[str, dict[str, str | int]]] = {
    "a file log": ('{"logOffset":12}', {"entry of the file log": 12}),
    "partitions": ('{"clicks":{"10":3,"2":7}}', {"clicks, partition 2": 7, "clicks, partition 10": 3}),
    "a part": ('{"s-0":{"rows":3,"ended":true},"s-1":{"rows":1}}', {"s-0, ended": "true", "s-0, rows": 3, "s-1, rows": 1}),
    "a number": ("41", {"offset": 41}),
    "before the first": ("null", {"offset": "nothing read yet"}),
    "others": ('{"at":"x","n":[1]}', {"at": "x", "n": "[1]"}),
    "none": ("not json", {"offset": "not json"}),
}


@pytest.mark.parametrize(("offset", "expected"), OFFSETS.values(), ids=OFFSETS)
def test_offsets_are_read(offset: str, expected: dict[str, str | int]) -> None:
    assert positions(offset) == expected
    assert list(positions(offset)) == list(expected)


def test_options_keep_their_values() -> None:
    assert options(("--out", "{output}", "--fast", "--n", "1", "rest")) == {"--out": "{output}", "--fast": "", "--n": "1", "rest": ""}


def test_facts_are_paired() -> None:
    a = [Fact("q", "rows", 5, Unit.COUNT), Fact("q", "gone", "x"), Fact("q", "unsaid", None), Fact("q", "same", "1")]
    b = [Fact("q", "rows", 3, Unit.COUNT), Fact("q", "unsaid", "y"), Fact("q", "same", "1"), Fact("q", "new", "z")]
    assert entries(a, b) == (
        Entry("q", "rows", Outcome.CHANGED, 5, 3, Unit.COUNT, -2),
        Entry("q", "gone", Outcome.ONLY_A, "x", None),
        Entry("q", "unsaid", Outcome.UNKNOWN, None, "y"),
        Entry("q", "same", Outcome.SAME, "1", "1"),
        Entry("q", "new", Outcome.ONLY_B, None, "z"),
    )


def taken(house: House, batch: int) -> Savepoint:
    return do(house.face, Take("a", batch=batch))


def section(differences: Differences, section: str) -> dict[str, tuple[Any, Any, str]]:
    return {entry.name: (entry.a, entry.b, entry.outcome.value) for entry in differences.section(section).entries}


def test_two_savepoints_of_one_job(house: House) -> None:
    house.ran()
    first, second = taken(house, NEWEST - 2), taken(house, NEWEST)
    differences = house.face.ask(Diff(first.id, second.id))
    assert (differences.a.kind, differences.a.batch, differences.b.batch) == (PointKind.SAVEPOINT, NEWEST - 2, NEWEST)
    assert (differences.code.unified, differences.code.added, differences.code.removed) == ("", 0, 0)
    assert section(differences, "progress")["batch"] == (NEWEST - 2, NEWEST, "changed")
    (source,) = differences.section("sources").entries
    assert (source.of, source.name, source.apart) == ("counts · source 0", "entry of the file log", 1)
    state = section(differences, "state")
    assert state["key of default"][2] == state["partitions"][2] == "same"
    assert "window struct" in str(state["key of default"][0])
    assert state["rows"] == (None, None, "unknown")
    assert isinstance(state["bytes"][0], int) and state["bytes"][0] > 0
    for name in ("arguments", "confs", "runtime", "pinned confs", "sinks"):
        assert differences.section(name).compared and not differences.section(name).differing


def test_a_savepoint_and_its_job_with_rows_from_progress(house: House) -> None:
    run = house.ran()
    operator = '"stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 42, "numStateStoreInstances": 2}], '
    house.append(run, PROGRESS_FILE, house.progress(run, NEWEST).replace('"eventTime"', f'{operator}"eventTime"'))
    saved = taken(house, NEWEST - 1)
    differences = house.face.ask(Diff(saved.id, "a"))
    assert (differences.b.kind, differences.b.job, differences.b.run, differences.b.batch) == (PointKind.JOB, "a", run.id, NEWEST)
    assert section(differences, "state")["rows"] == (None, 42, "unknown")
    assert house.face.ask(Diff(run.id, "a")).section("state").differing == ()


def test_an_upgrade_leaves_its_code_and_confs(house: House) -> None:
    first = house.ran()
    do(house.face, Resume("a", code=CODE + "x = 1\n", args=("--output", "{output}", "--fast"), conf={"spark.x": "1"}))
    differences = house.face.ask(Diff(first.id, "a"))
    assert differences.a.note and differences.b.kind is PointKind.JOB
    assert (differences.code.added, differences.code.removed) == (1, 0) and "+x = 1" in differences.code.unified
    assert section(differences, "arguments")["--fast"] == (None, "", "only_b")
    assert section(differences, "confs") == {"spark.x": (None, "1", "only_b")}
    assert not differences.section("sources").compared


def test_a_job_whose_checkpoint_is_damaged_still_has_its_code(house: House) -> None:
    run = house.ran()
    saved = taken(house, NEWEST)
    (Path(run.checkpoints) / "counts" / "metadata").unlink()
    differences = house.face.ask(Diff(saved.id, "a"))
    assert "metadata" in differences.b.note and not differences.section("state").compared
    assert differences.a.version == differences.b.version


def test_a_fork_that_has_not_begun_says_so(house: House) -> None:
    house.ran()
    saved = taken(house, NEWEST)
    do(house.face, Fork(saved.id, name="b"))
    differences = house.face.ask(Diff(saved.id, "b"))
    assert "started" in differences.b.note and not differences.section("state").compared


def test_versions_have_code_alone(house: House) -> None:
    run = house.ran(state=RunState.STOPPED)
    differences = house.face.ask(Diff(run.version, run.version))
    assert differences.a.kind is PointKind.VERSION and not differences.code.unified
    assert [section.name for section in differences.sections if section.compared] == ["arguments", "confs", "runtime"]


def test_what_is_not_there_is_said(house: House) -> None:
    with pytest.raises(NotFound) as refused:
        house.face.ask(Diff("nobody", "nobody"))
    assert refused.value.code == "point.not_found"
