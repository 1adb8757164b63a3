"""Jobs: begun, resumed, forked, compared, forgotten, without Spark."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.events import EventFilter
from pipelines.domain.jobs import Run
from pipelines.domain.requests import (
    CompareRequest,
    ExperimentRequest,
    ForkRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    TakeRequest,
)
from pipelines.domain.runs import LOG_FILE, QUERIES_FILE, RunSpec, RunState
from pipelines.domain.savepoints import Reason, RestorePlan, Savepoint, TakePlan
from pipelines.domain.trust import Trust
from tests.workspace.conftest import CODE, NEWEST, House, job


def spec(house: House, run: Run) -> RunSpec:
    return house.face.context.files.spec(run.job, run.id)


def take(house: House, request: TakeRequest | None = None) -> Savepoint:
    taken = house.face.take("a", request or TakeRequest())
    assert isinstance(taken, Savepoint)
    return taken


def fork(house: House, savepoint: str, request: ForkRequest) -> Run:
    run = house.face.fork(savepoint, request)
    assert isinstance(run, Run)
    return run


def refusal(error: type[TidemarkError], code: str):
    return pytest.raises(error, check=lambda raised: raised.code == code)


# beginning


def test_a_run_gets_its_own_output_and_frozen_code(house: House) -> None:
    said = spec(house, house.begin("a"))
    assert said.args == ("--output", str(house.face.layout.output(job("a")))) and Path(said.output).is_dir()
    assert Path(said.script).read_text() == CODE
    assert house.face.version(said.version).args == ("--output", "{output}")


def test_a_name_is_taken_once_whatever_its_case(house: House) -> None:
    house.begin("Views")
    with refusal(AlreadyExists, "job.exists"):
        house.begin("views")


def test_a_syntax_error_names_its_line(house: House) -> None:
    with refusal(Invalid, "code.syntax") as refused:
        house.face.run(RunRequest("a", "job.py", "x = 1\nif x\n"))
    assert refused.value.message == "job.py, line 2: expected ':': if x"
    assert house.face.jobs() == [] and list(house.face.layout.versions.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../a", ".a", "a b", "a/b"])
def test_names_that_could_not_be_a_folder(house: House, name: str) -> None:
    with refusal(Invalid, "job.name"):
        house.begin(name)


def test_the_same_code_is_one_version(house: House) -> None:
    assert house.begin("a").version == house.begin("b").version
    assert len(house.face.context.files.version_ids()) == 1


@pytest.mark.parametrize("name", ["nobody", "../a", ""])
def test_a_job_that_is_not_there(house: House, name: str) -> None:
    with refusal(NotFound, "job.not_found"):
        house.face.job(name)


# savepoints


def test_a_savepoint_of_a_running_job(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    plan = house.face.take("a", TakeRequest(dry_run=True))
    assert isinstance(plan, TakePlan) and plan.batches == {"counts": NEWEST}
    taken = take(house, TakeRequest(label="before the sale"))
    assert (taken.batch, taken.run, taken.version, taken.label) == (NEWEST, run.id, run.version, "before the sale")
    assert house.face.savepoint(taken.id[:6]) == house.face.savepoint(taken.path) == taken
    assert house.face.events("a")[0].kind == "savepoint.taken"


def test_who_did_it_stays_with_the_event_through_a_rebuild(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    house.face.acting("page").take("a", TakeRequest())
    house.face.acting("nightly-ci").take("a", TakeRequest())
    house.face.take("a", TakeRequest())
    said = [one.actor for one in house.face.events("a", wanted=EventFilter(kind="savepoint.taken"))]
    assert said == ["", "nightly-ci", "page"]
    house.face.rebuild_catalog()
    assert [one.actor for one in house.face.events("a", wanted=EventFilter(kind="savepoint.taken"))] == said
    assert [one.actor for one in house.face.events(wanted=EventFilter(actor="page"))] == ["page"]


def test_events_from_before_actors_were_noted_are_read(house: House) -> None:
    old = {"at_ms": 5, "kind": "run.started", "job": None, "subject": "r-1", "message": "up"}
    with house.face.layout.events_file.open("a") as file:
        file.write(json.dumps(old) + "\n")
    assert [one.actor for one in house.reopen().events(wanted=EventFilter(kind="run.started"))] == [""]


def test_any_retained_batch_can_be_taken(house: House) -> None:
    house.ran("a")
    oldest = house.face.retained("a")[0]
    assert oldest.query == "counts"
    assert take(house, TakeRequest(batch=oldest.batch)).batch == oldest.batch


def test_a_job_whose_query_never_came_up_has_nothing_to_save(house: House) -> None:
    house.begin("a")
    with refusal(Conflict, "savepoint.no_query"):
        house.face.take("a", TakeRequest())


def test_verify_and_damage(house: House) -> None:
    house.ran("a")
    taken = take(house)
    assert house.face.verify(taken.id).reached is Trust.INTACT
    assert house.face.savepoint(taken.id).trust is Trust.INTACT
    file = house.face.layout.savepoint(taken.id) / house.face.manifest(taken.id).files[-1].path
    file.unlink()
    assert house.face.verify(taken.id).reached is None
    assert house.face.savepoint(taken.id).damaged_files == 1
    assert house.face.events("a")[0].kind == "savepoint.damaged"


def test_sealed_in_the_background(house: House) -> None:
    house.ran("a")
    early = take(house)
    house.face.background = True
    late = take(house)
    house.face.background = False
    assert [house.face.savepoint(one.id).trust for one in (early, late)] == [Trust.INTACT, Trust.INTACT]


def test_dispose(house: House) -> None:
    house.ran("a")
    taken = take(house)
    assert house.face.dispose(taken.id, dry_run=True).files > 0
    assert len(house.face.savepoints()) == 1
    house.face.dispose(taken.id)
    assert house.face.savepoints("a") == [] and not house.face.layout.savepoint(taken.id).exists()


# forks


def test_a_fork_has_its_own_checkpoint_query_id_and_output(house: House) -> None:
    parent = house.ran("a")
    taken = take(house)
    run = fork(house, taken.id, ForkRequest("b", code=CODE + "# changed\n"))
    said = spec(house, run)
    assert said.args == ("--output", str(house.face.layout.output(job("b"))))
    assert said.from_savepoint == taken.id and set(said.sink_logs) == {"counts"}
    assert said.taken_paths == (str(house.face.layout.output(job("a")) / "counts"),)
    new, old = (json.loads((Path(one.checkpoints) / "counts" / "metadata").read_text())["id"] for one in (run, parent))
    assert new != old and run.version != parent.version
    lanes = {lane.job: lane.origin_savepoint for lane in house.face.tree().lanes}
    assert lanes == {"a": None, "b": taken.id}


def test_a_dry_fork_changes_nothing(house: House) -> None:
    house.ran("a")
    taken = take(house)
    plan = house.face.fork(taken.id, ForkRequest("b", dry_run=True))
    assert isinstance(plan, RestorePlan) and [sink.action for sink in plan.sinks] == ["continue"]
    assert [one.job.name for one in house.face.jobs()] == ["a"] and not house.face.layout.job(job("b")).exists()


def test_a_fork_that_would_write_to_its_parents_output_is_refused(house: House) -> None:
    house.ran("a")
    taken = take(house)
    with refusal(Conflict, "restore.sink_shared"):
        house.face.fork(taken.id, ForkRequest("b", args=("--output", str(house.face.layout.output(job("a"))))))
    assert not house.face.layout.job(job("b")).exists()


def test_a_fork_under_a_name_in_use(house: House) -> None:
    house.ran("a")
    with refusal(AlreadyExists, "job.exists"):
        house.face.fork(take(house).id, ForkRequest("a"))


def test_run_from_a_savepoint_is_a_fork(house: House) -> None:
    house.ran("a")
    taken = take(house)
    run = house.face.run(RunRequest("b", "job.py", CODE, ("--output", "{output}"), from_savepoint=taken.id))
    assert run.from_savepoint == taken.id


def test_a_fork_and_an_upgrade_may_have_another_engine(house: House, tmp_path: Path) -> None:
    """The savepoint's Python is kept unless another one is named, and that has to be on this machine."""
    engine = tmp_path / "python"
    engine.symlink_to(sys.executable)
    run = house.ran("a")
    taken = take(house)
    new = house.face.run(RunRequest("b", "job.py", CODE, ("--output", "{output}"), python=str(engine), from_savepoint=taken.id))
    fork = house.face.fork(taken.id, ForkRequest("c", python=str(engine)))
    resumed = house.face.resume("a", ResumeRequest(python=str(engine)))
    assert isinstance(fork, Run) and isinstance(resumed, Run)
    assert {house.face.version(one.version).python for one in (new, fork, resumed)} == {str(engine)}
    assert house.face.version(run.version).python == ""
    with refusal(Invalid, "runtime.not_found"):
        house.face.run(RunRequest("d", "job.py", CODE, python="/nowhere/python"))
    with refusal(Invalid, "runtime.not_found"):
        house.face.fork(taken.id, ForkRequest("d", python="/nowhere/python"))
    assert {one.job.name for one in house.face.jobs()} == {"a", "b", "c"}


# experiments


def test_an_experiment_begins_whole_or_not_at_all(house: House) -> None:
    house.ran("a")
    taken = take(house)
    broken = ExperimentRequest("try", taken.id, (ForkRequest("b"), ForkRequest("c", code="if")))
    with refusal(Invalid, "code.syntax"):
        house.face.start_experiment(broken)
    assert [one.job.name for one in house.face.jobs()] == ["a"] and house.face.experiments() == []
    made = house.face.start_experiment(replace(broken, variants=(ForkRequest("b"), ForkRequest("c")), with_parent=True))
    assert made.jobs == ("a", "b", "c") and house.face.experiment(made.id) == house.face.experiment("try") == made
    assert {lane.experiment for lane in house.face.tree().lanes} == {None, made.id}


@pytest.mark.parametrize("names", [(), ("b",), ("b", "B")])
def test_experiments_that_compare_nothing(house: House, names: tuple[str, ...]) -> None:
    house.ran("a")
    with pytest.raises(Invalid):
        house.face.start_experiment(ExperimentRequest("try", take(house).id, tuple(ForkRequest(name) for name in names)))


# resumes


def test_a_resume_with_other_code_is_a_new_version_on_the_same_checkpoint(house: House) -> None:
    first = house.ran("a")
    second = house.face.resume("a", ResumeRequest(code=CODE + "# changed\n", conf={"spark.x": "1"}))
    assert isinstance(second, Run) and second.version != first.version and second.checkpoints == first.checkpoints
    assert spec(house, second).args == spec(house, first).args


def test_an_upgrade_keeps_the_last_point_of_the_version_that_it_leaves(house: House) -> None:
    first = house.ran("a")
    second = house.face.resume("a", ResumeRequest(code=CODE + "# changed\n"))
    assert isinstance(second, Run)
    (kept,) = house.face.savepoints("a")
    assert (kept.reason, kept.batch, kept.version, kept.run) == (Reason.BEFORE_UPGRADE, NEWEST, first.version, first.id)
    house.see(second, RunState.STOPPED)
    house.face.resume("a", ResumeRequest())
    assert len(house.face.savepoints("a")) == 1, "the same version goes on"


def test_an_upgrade_of_a_point_that_is_kept_takes_no_further_savepoint(house: House) -> None:
    house.ran("a")
    stop = take(house)
    house.face.resume("a", ResumeRequest(code=CODE + "# changed\n"))
    assert [one.id for one in house.face.savepoints("a")] == [stop.id]


def test_an_upgrade_of_a_checkpoint_that_cannot_be_saved_goes_on_and_says_so(house: House) -> None:
    first = house.ran("a")
    shutil.rmtree(Path(first.checkpoints) / "counts" / "commits")
    assert isinstance(house.face.resume("a", ResumeRequest(code=CODE + "# changed\n", new_queries=("counts",))), Run)
    assert "savepoint.skipped" in {one.kind for one in house.face.events("a")}


def test_a_resume_back_in_time_keeps_the_present_in_a_savepoint(house: House) -> None:
    first = house.ran("a")
    past = take(house, TakeRequest(batch=NEWEST - 2))
    run = house.face.resume("a", ResumeRequest(from_savepoint=past.id))
    assert isinstance(run, Run) and run.checkpoints != first.checkpoints
    newest = house.face.savepoints("a")[0]
    assert (newest.reason, newest.batch) == (Reason.BEFORE_RESUME, NEWEST)
    same = [(Path(one.checkpoints) / "counts" / "metadata").read_text() for one in (first, run)]
    assert same[0] == same[1]


def test_a_resume_from_the_present_point_takes_no_further_savepoint(house: House) -> None:
    house.ran("a")
    house.face.resume("a", ResumeRequest(from_savepoint=take(house).id))
    assert len(house.face.savepoints("a")) == 1


def test_a_dry_resume_changes_nothing(house: House) -> None:
    house.ran("a")
    plan = house.face.resume("a", ResumeRequest(from_savepoint=take(house).id, dry_run=True))
    assert isinstance(plan, RestorePlan) and plan.keeps_query_id
    assert len(house.face.job("a").runs) == 1


def test_another_jobs_savepoint_cannot_be_resumed_from(house: House) -> None:
    house.ran("a")
    house.ran("b")
    with refusal(Conflict, "resume.other_job"):
        house.face.resume("b", ResumeRequest(from_savepoint=take(house).id))


def test_a_running_job_is_neither_resumed_nor_forgotten(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    for refused in (lambda: house.face.resume("a", ResumeRequest()), lambda: house.face.forget("a")):
        with refusal(Conflict, "job.running"):
            refused()


def test_a_job_that_stopped_cannot_be_stopped(house: House) -> None:
    house.ran("a")
    with refusal(Conflict, "job.not_running"):
        house.face.stop("a", StopRequest())


# forgetting


def ran_without_files(house: House) -> Run:
    """A job that stopped, whose sink keeps no files."""
    run = house.ran("a")
    queries = house.folder(run) / QUERIES_FILE
    started = [{**json.loads(line), "sink": "noop", "sink_path": ""} for line in queries.read_text().splitlines()]
    queries.write_text("".join(json.dumps(one) + "\n" for one in started))
    house.face.rebuild_catalog()
    return run


def test_a_forgotten_job_leaves_its_savepoints(house: House) -> None:
    run = ran_without_files(house)
    taken = take(house)
    house.progress(run, 1)
    house.face.forget("a")
    assert house.face.jobs() == [] and list(house.face.layout.jobs.iterdir()) == []
    assert house.face.savepoint(taken.id).id == taken.id
    assert house.reopen().jobs() == []
    house.begin("a")
    assert house.face.batches("a") == []


def test_a_job_whose_output_a_fork_is_still_to_take_is_not_forgotten(house: House) -> None:
    ran_without_files(house)
    forked = fork(house, take(house).id, ForkRequest("b"))
    with refusal(Conflict, "job.needed"):
        house.face.forget("a")
    (house.folder(forked) / QUERIES_FILE).write_text("")
    house.face.forget("a")


def test_a_job_whose_output_a_savepoint_needs_is_not_forgotten(house: House) -> None:
    house.ran("a")
    taken = take(house)
    with refusal(Conflict, "job.needed"):
        house.face.forget("a")
    house.face.dispose(taken.id)
    house.face.forget("a")


# logs


def test_logs_in_pieces(house: House) -> None:
    run = house.ran("a")
    text = "".join(f"line {number} ä€\n" for number in range(100))
    (house.folder(run) / LOG_FILE).write_text(text)
    whole, offset = "", 0
    while (piece := house.face.logs("a", offset=offset, limit=17)).text:
        whole, offset = whole + piece.text, piece.next_offset
    assert whole == text and offset == piece.size == os.path.getsize(house.folder(run) / LOG_FILE)
    assert house.face.logs("a", offset=-20).text == "line 99 ä€\n"


def test_logs_before_there_are_any(house: House) -> None:
    assert house.face.logs(house.begin("a").job).text == ""
    with refusal(NotFound, "run.not_found"):
        house.face.logs("a", run="r-nope")


# comparing


def write_output(house: House, name: str, rows: list[tuple[int, str]]) -> None:
    """A file sink's output of one batch in JSON: `window_end` is ms after the epoch's begin."""
    sink = house.face.layout.output(job(name)) / "counts"
    data = sink / "part-0.json"
    lines = [json.dumps({"window_end": f"2026-11-20 09:00:{second:02d}", "post": post, "views": second}) for second, post in rows]
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text("\n".join(lines) + "\n")
    entry = {"path": f"file://{data}", "size": data.stat().st_size, "isDir": False, "modificationTime": 1, "blockReplication": 1}
    (sink / "_spark_metadata").mkdir()
    (sink / "_spark_metadata" / "0").write_text("v1\n" + json.dumps({**entry, "blockSize": 1, "action": "add"}))


def counting(house: House, name: str, watermark: str, rows: list[tuple[int, str]]) -> None:
    run = house.begin(name)
    said = {"query": "counts", "query_id": name, "run_id": "s", "checkpoint": "", "sink": "json", "ui_url": "", "spark_version": "4.3.0"}
    sink = str(house.face.layout.output(run.job) / "counts")
    house.append(run, "queries.jsonl", json.dumps({**said, "sink_path": sink, "at_ms": 1}) + "\n")
    house.progress(run, 1, watermark)
    write_output(house, name, rows)


def test_outputs_are_compared_up_to_what_both_have_reached(house: House) -> None:
    counting(house, "a", "2026-11-20T09:00:30.000Z", [(10, "x"), (20, "x"), (30, "x")])
    counting(house, "b", "2026-11-20T09:00:20.000Z", [(10, "x"), (20, "y")])
    house.reopen()
    found = house.face.compare(CompareRequest("a", "b"))
    assert (found.query, found.equal, found.only_a, found.only_b) == ("counts", 1, 1, 1)
    assert found.until_ms == 1_795_165_220_000


def test_jobs_without_a_common_query_are_not_compared(house: House) -> None:
    house.begin("a")
    house.begin("b")
    with refusal(Conflict, "compare.not_started"):
        house.face.compare(CompareRequest("a", "b"))
    house.ran("c")
    house.ran("d")
    house.reopen()
    with refusal(NotFound, "compare.query"):
        house.face.compare(CompareRequest("c", "d", query="other"))


# the example


def test_the_example_is_begun_once(house: House) -> None:
    runs = house.face.start_example()
    assert [run.job for run in runs] == ["post_events", "post_engagement"]
    assert [run.id for run in house.face.start_example()] == [run.id for run in runs]
    assert spec(house, runs[1]).args[1] == spec(house, runs[0]).args[1]
