"""Jobs: begun, resumed, forked, compared, forgotten, without Spark."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.findings import Problem
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import LOG_FILE, QUERIES_FILE, RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.attach import Attach
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, ListExperiments, ShowExperiment, ShowTree, ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.jobs import ListBatches, ListJobs, ListRetained, ReadLog, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents, RebuildCatalog, StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import operations
from tests.sandbox import interpreters
from tests.waiting import until
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House, job


def spec(house: House, run: Run) -> RunSpec:
    return house.face.context.files.spec(run.job, run.id)


def take(house: House, batch: int | None = None, label: str = "") -> Savepoint:
    return do(house.face, Take("a", batch, label=label))


def refusal(error: type[TidemarkError], code: str):
    return pytest.raises(error, check=lambda raised: raised.code == code)


# beginning


def test_a_run_gets_its_own_output_and_frozen_code(house: House) -> None:
    run_spec = spec(house, house.begin("a"))
    assert run_spec.args == ("--output", str(house.face.layout.output(job("a")))) and Path(run_spec.output).is_dir()
    assert Path(run_spec.script).read_text() == CODE
    assert house.face.ask(ShowVersion(run_spec.version)).args == ("--output", "{output}")


def test_a_name_is_taken_once_whatever_its_case(house: House) -> None:
    house.begin("Views")
    with refusal(AlreadyExists, "job.exists"):
        house.begin("views")


def test_a_syntax_error_names_its_line(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code's own, not that of a file which has the script's name where the server runs."""
    (tmp_path / "job.py").write_text("of another\n" * 3)
    monkeypatch.chdir(tmp_path)
    with refusal(Invalid, "code.syntax") as refused:
        do(house.face, RunScript(name="a", script="job.py", code="x = 1\nif x\n"))
    assert refused.value.message == "job.py, line 2: expected ':': if x"
    assert house.face.ask(ListJobs()) == [] and list(house.face.layout.versions.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../a", ".a", "a b", "a/b", "sp-0123456789ab"])
def test_names_that_could_not_be_a_folder(house: House, name: str) -> None:
    with refusal(Invalid, "job.name"):
        house.begin(name)


def test_the_same_code_is_one_version(house: House) -> None:
    assert house.begin("a").version == house.begin("b").version
    assert len(house.face.context.files.version_ids()) == 1


@pytest.mark.parametrize("name", ["nobody", "../a", ""])
def test_a_job_that_is_not_there(house: House, name: str) -> None:
    with refusal(NotFound, "job.not_found"):
        house.face.ask(ShowJob(name))


# savepoints


def test_a_savepoint_of_a_running_job(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    assert house.face.plan(Take("a")).batches == {"counts": NEWEST}
    taken = take(house, label="before the sale")
    assert (taken.batch, taken.run, taken.version, taken.label) == (NEWEST, run.id, run.version, "before the sale")
    assert house.face.ask(ShowSavepoint(taken.id[:6])) == house.face.ask(ShowSavepoint(taken.path)) == taken
    assert house.face.ask(ListEvents("a"))[0].kind == "savepoint.taken"


def test_who_did_it_stays_with_the_event_through_a_rebuild(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    do(house.face.acting("page"), Take("a"))
    do(house.face.acting("nightly-ci"), Take("a"))
    do(house.face, Take("a"))
    actors = [event.actor for event in house.face.ask(ListEvents("a", kind="savepoint.taken"))]
    assert actors == ["", "nightly-ci", "page"]
    do(house.face, RebuildCatalog())
    assert [event.actor for event in house.face.ask(ListEvents("a", kind="savepoint.taken"))] == actors
    assert [event.actor for event in house.face.ask(ListEvents(actor="page"))] == ["page"]


def test_events_from_before_actors_were_noted_are_read(house: House) -> None:
    old = {"at_ms": 5, "kind": "run.started", "job": None, "subject": "r-1", "message": "up"}
    with house.face.layout.events_file.open("a") as file:
        file.write(json.dumps(old) + "\n")
    assert [event.actor for event in house.reopen().ask(ListEvents(kind="run.started"))] == [""]


def test_any_retained_batch_can_be_taken(house: House) -> None:
    house.ran("a")
    oldest = house.face.ask(ListRetained("a"))[0]
    assert oldest.query == "counts"
    assert take(house, oldest.batch).batch == oldest.batch


def test_a_job_whose_query_never_came_up_has_nothing_to_save(house: House) -> None:
    house.begin("a")
    with refusal(Conflict, "savepoint.no_query"):
        do(house.face, Take("a"))


@pytest.mark.parametrize(("partitions", "told"), [(200, True), (16, False)])
def test_a_job_without_progress_names_its_many_partitions(house: House, partitions: int, told: bool) -> None:
    run = house.ran(state=RunState.RUNNING)
    planned = Path(run.checkpoints) / "counts" / "offsets" / str(NEWEST)
    text = planned.read_text()
    planned.write_text(text.replace('"spark.sql.shuffle.partitions":"2"', f'"spark.sql.shuffle.partitions":"{partitions}"'))
    (finding,) = (each for each in house.face.ask(ShowJob("a")).summary.findings if each.problem is Problem.NO_PROGRESS)
    assert ("its state is in 200 partitions" in finding.words and "2 cores" in finding.words) is told
    planned.write_text("v1\n{")
    (finding,) = (each for each in house.face.ask(ShowJob("a")).summary.findings if each.problem is Problem.NO_PROGRESS)
    assert "partitions" not in finding.words


def test_verify_and_damage(house: House) -> None:
    house.ran("a")
    taken = take(house)
    assert do(house.face, Verify(taken.id)).reached is Trust.INTACT
    assert house.face.ask(ShowSavepoint(taken.id)).trust is Trust.INTACT
    file = house.face.layout.savepoint(taken.id) / house.face.ask(ReadManifest(taken.id)).files[-1].path
    file.unlink()
    assert do(house.face, Verify(taken.id)).reached is None
    assert house.face.ask(ShowSavepoint(taken.id)).damaged_files == 1
    event = house.face.ask(ListEvents("a"))[0]
    assert event.kind == "savepoint.damaged" and event.message.startswith("1 damaged file in sp-")


def test_sealed_in_the_background(house: House) -> None:
    house.ran("a")
    early = take(house)
    house.face.background = True
    late = take(house)
    until(lambda: all(house.face.ask(ShowSavepoint(savepoint.id)).trust is Trust.INTACT for savepoint in (early, late)))
    house.face.background = False
    assert [house.face.ask(ShowSavepoint(savepoint.id)).trust for savepoint in (early, late)] == [Trust.INTACT, Trust.INTACT]


def test_dispose(house: House) -> None:
    house.ran("a")
    taken = take(house)
    assert house.face.plan(Dispose((taken.id,))).files > 0
    assert len(house.face.ask(ListSavepoints())) == 1
    do(house.face, Dispose((taken.id,)))
    assert house.face.ask(ListSavepoints("a")) == [] and not house.face.layout.savepoint(taken.id).exists()


# forks


def test_a_fork_has_its_own_checkpoint_query_id_and_output(house: House) -> None:
    parent = house.ran("a")
    taken = take(house)
    run = do(house.face, Fork(taken.id, name="b", code=CODE + "# changed\n"))
    run_spec = spec(house, run)
    assert run_spec.args == ("--output", str(house.face.layout.output(job("b"))))
    assert run_spec.from_savepoint == taken.id and set(run_spec.sink_logs) == {"counts"}
    assert run_spec.taken_paths == (str(house.face.layout.output(job("a")) / "counts"),)
    new, old = (json.loads((Path(job_run.checkpoints) / "counts" / "metadata").read_text())["id"] for job_run in (run, parent))
    assert new != old and run.version != parent.version
    lanes = {lane.job: lane.origin_savepoint for lane in house.face.ask(ShowTree()).lanes}
    assert lanes == {"a": None, "b": taken.id}


def test_a_dry_fork_changes_nothing(house: House) -> None:
    house.ran("a")
    taken = take(house)
    assert [sink.action for sink in house.face.plan(Fork(taken.id, name="b")).sinks] == ["continue"]
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and not house.face.layout.job(job("b")).exists()


def test_a_fork_that_would_write_to_its_parents_output_is_refused(house: House) -> None:
    house.ran("a")
    taken = take(house)
    with refusal(Conflict, "restore.sink_shared"):
        do(house.face, Fork(taken.id, name="b", args=("--output", str(house.face.layout.output(job("a"))))))
    assert not house.face.layout.job(job("b")).exists()


def test_a_fork_under_a_name_in_use(house: House) -> None:
    house.ran("a")
    with refusal(AlreadyExists, "job.exists"):
        do(house.face, Fork(take(house).id, name="a"))


def test_run_from_a_savepoint_is_a_fork(house: House) -> None:
    house.ran("a")
    taken = take(house)
    run = do(house.face, RunScript(name="b", script="job.py", code=CODE, args=("--output", "{output}"), from_savepoint=taken.id))
    assert run.from_savepoint == taken.id


def test_a_fork_and_an_upgrade_may_have_another_engine(house: House, tmp_path: Path) -> None:
    """The savepoint's Python is kept unless another one is named, and that has to be on this machine."""
    engine = interpreters.another(tmp_path)
    run = house.ran("a")
    taken = take(house)
    script = RunScript(name="b", script="job.py", code=CODE, args=("--output", "{output}"), python=str(engine), from_savepoint=taken.id)
    new = do(house.face, script)
    fork = do(house.face, Fork(taken.id, name="c", python=str(engine)))
    resumed = do(house.face, Resume("a", python=str(engine)))
    assert {house.face.ask(ShowVersion(job_run.version)).python for job_run in (new, fork, resumed)} == {str(engine)}
    assert house.face.ask(ShowVersion(run.version)).python == ""
    with refusal(Invalid, "runtime.not_found"):
        do(house.face, RunScript(name="d", script="job.py", code=CODE, python="/nowhere/python"))
    with refusal(Invalid, "runtime.not_found"):
        do(house.face, Fork(taken.id, name="d", python="/nowhere/python"))
    assert {summary.job.name for summary in house.face.ask(ListJobs())} == {"a", "b", "c"}


def test_a_fork_of_an_attached_job_has_the_engine_that_was_named(house: House, tmp_path: Path) -> None:
    engine = interpreters.another(tmp_path)
    theirs = Attach(name="a", checkpoints={"counts": str(GOLDEN / "stateless" / "checkpoint")}, script="job.py", code=CODE)
    with refusal(Invalid, "runtime.not_found"):
        do(house.face, replace(theirs, python="/nowhere/python"))
    do(house.face, replace(theirs, python=str(engine)))
    run = do(house.face, Fork(take(house).id, name="b"))
    assert house.face.ask(ShowVersion(run.version)).python == str(engine)


# experiments


def test_an_experiment_begins_whole_or_not_at_all(house: House) -> None:
    house.ran("a")
    taken = take(house)
    broken = StartExperiment("try", taken.id, (Variant(name="b"), Variant(name="c", code="if")))
    with refusal(Invalid, "code.syntax"):
        do(house.face, broken)
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and house.face.ask(ListExperiments()) == []
    made = do(house.face, replace(broken, variants=(Variant(name="b"), Variant(name="c")), with_parent=True))
    assert made.jobs == ("a", "b", "c") and house.face.ask(ShowExperiment(made.id)) == house.face.ask(ShowExperiment("try")) == made
    assert {lane.experiment for lane in house.face.ask(ShowTree()).lanes} == {None, made.id}


@pytest.mark.parametrize("names", [(), ("b",), ("b", "B")])
def test_experiments_that_compare_nothing(house: House, names: tuple[str, ...]) -> None:
    house.ran("a")
    with pytest.raises(Invalid):
        do(house.face, StartExperiment("try", take(house).id, tuple(Variant(name=name) for name in names)))


# resumes


def test_a_resume_with_other_code_is_a_new_version_on_the_same_checkpoint(house: House) -> None:
    first = house.ran("a")
    second = do(house.face, Resume("a", code=CODE + "# changed\n", conf={"spark.x": "1"}))
    assert second.version != first.version and second.checkpoints == first.checkpoints
    assert spec(house, second).args == spec(house, first).args


def test_an_upgrade_is_taken_back_by_the_version_before(house: House) -> None:
    first = house.ran("a")
    second = do(house.face, Resume("a", code=CODE + "# changed\n", conf={"spark.x": "1"}))
    house.see(second, RunState.FAILED)
    third = do(house.face, Resume("a", version=first.version))
    assert (third.version, third.checkpoints) == (first.version, first.checkpoints)
    assert spec(house, third).conf == spec(house, first).conf
    house.see(third, RunState.STOPPED)
    with pytest.raises(NotFound, match="a never ran version v-nothing") as refused:
        house.face.plan(Resume("a", version="v-nothing"))
    assert refused.value.code == "version.not_run" and first.version in refused.value.hint


def test_an_upgrade_keeps_the_last_point_of_the_version_that_it_leaves(house: House) -> None:
    first = house.ran("a")
    second = do(house.face, Resume("a", code=CODE + "# changed\n"))
    (kept,) = house.face.ask(ListSavepoints("a"))
    assert (kept.reason, kept.batch, kept.version, kept.run) == (Reason.BEFORE_UPGRADE, NEWEST, first.version, first.id)
    house.see(second, RunState.STOPPED)
    do(house.face, Resume("a"))
    assert len(house.face.ask(ListSavepoints("a"))) == 1, "the same version goes on"


def test_an_upgrade_of_a_point_that_is_kept_takes_no_further_savepoint(house: House) -> None:
    house.ran("a")
    stop = take(house)
    do(house.face, Resume("a", code=CODE + "# changed\n"))
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints("a"))] == [stop.id]


def test_an_upgrade_of_a_checkpoint_that_cannot_be_saved_goes_on_and_says_so(house: House) -> None:
    first = house.ran("a")
    shutil.rmtree(Path(first.checkpoints) / "counts" / "commits")
    do(house.face, Resume("a", code=CODE + "# changed\n", new_queries=("counts",)))
    assert len(house.face.ask(ShowJob("a")).runs) == 2
    assert "savepoint.skipped" in {event.kind for event in house.face.ask(ListEvents("a"))}


def test_a_resume_back_in_time_keeps_the_present_in_a_savepoint(house: House) -> None:
    first = house.ran("a")
    past = take(house, NEWEST - 2)
    run = do(house.face, Resume("a", from_savepoint=past.id))
    assert run.checkpoints != first.checkpoints
    newest = house.face.ask(ListSavepoints("a"))[0]
    assert (newest.reason, newest.batch) == (Reason.BEFORE_RESUME, NEWEST)
    same = [(Path(job_run.checkpoints) / "counts" / "metadata").read_text() for job_run in (first, run)]
    assert same[0] == same[1]


def test_a_resume_from_the_present_point_takes_no_further_savepoint(house: House) -> None:
    house.ran("a")
    do(house.face, Resume("a", from_savepoint=take(house).id))
    assert len(house.face.ask(ListSavepoints("a"))) == 1


def test_a_dry_resume_changes_nothing(house: House) -> None:
    house.ran("a")
    assert house.face.plan(Resume("a", from_savepoint=take(house).id)).keeps_query_id
    assert len(house.face.ask(ShowJob("a")).runs) == 1


def test_another_jobs_savepoint_cannot_be_resumed_from(house: House) -> None:
    house.ran("a")
    house.ran("b")
    with refusal(Conflict, "resume.other_job"):
        do(house.face, Resume("b", from_savepoint=take(house).id))


def test_a_running_job_is_neither_resumed_nor_forgotten(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    for refused in (lambda: do(house.face, Resume("a")), lambda: do(house.face, Forget("a"))):
        with refusal(Conflict, "job.running"):
            refused()


def test_a_job_goes_on_as_soon_as_the_operation_of_its_stop_has_ended(house: House) -> None:
    """The last word of a stop, that nobody asks for it any more, is written after that."""
    first = house.ran("a", state=RunState.RUNNING)
    stop = house.stop()
    house.see(first, RunState.STOPPED)
    for refused in (house.face.plan, house.face.begin):
        with refusal(Conflict, "job.running"):
            refused(Resume("a"))
    operations.save(house.face.context, replace(stop, state=OperationState.DONE))
    second = do(house.face, Resume("a"))
    document = house.face.context.files.wanted(first.job)
    assert (document.run, document.stop, second.checkpoints) == (second.id, None, first.checkpoints)


def test_a_job_that_stopped_cannot_be_stopped(house: House) -> None:
    house.ran("a")
    with refusal(Conflict, "job.not_running"):
        do(house.face, Stop("a"))


# forgetting


def ran_without_files(house: House) -> Run:
    """A job that stopped, whose sink keeps no files."""
    run = house.ran("a")
    queries = house.folder(run) / QUERIES_FILE
    started = [{**json.loads(line), "sink": "noop", "sink_path": ""} for line in queries.read_text().splitlines()]
    queries.write_text("".join(json.dumps(record) + "\n" for record in started))
    do(house.face, RebuildCatalog())
    return run


def test_a_forgotten_job_leaves_its_savepoints(house: House) -> None:
    run = ran_without_files(house)
    taken = take(house)
    house.progress(run, 1)
    do(house.face, Forget("a"))
    assert house.face.ask(ListJobs()) == [] and list(house.face.layout.jobs.iterdir()) == []
    assert house.face.ask(ShowSavepoint(taken.id)).id == taken.id
    assert house.reopen().ask(ListJobs()) == []
    house.begin("a")
    assert house.face.ask(ListBatches("a")) == []


def test_a_job_whose_output_a_fork_is_still_to_take_is_not_forgotten(house: House) -> None:
    house.ran("a")
    taken = take(house)
    forked = do(house.face, Fork(taken.id, name="b"))
    do(house.face, Dispose((taken.id,)))
    with refusal(Conflict, "job.needed"):
        do(house.face, Forget("a"))
    (house.folder(forked) / QUERIES_FILE).write_text("")
    do(house.face, Forget("a"))


def test_a_fork_that_failed_before_its_start_and_needs_no_output_keeps_no_job(house: House) -> None:
    ran_without_files(house)
    house.see(do(house.face, Fork(take(house).id, name="b")), RunState.FAILED)
    do(house.face, Forget("a"))
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["b"]


def test_a_job_whose_output_a_savepoint_needs_is_not_forgotten(house: House) -> None:
    house.ran("a")
    taken = take(house)
    with refusal(Conflict, "job.needed"):
        do(house.face, Forget("a"))
    do(house.face, Dispose((taken.id,)))
    do(house.face, Forget("a"))


# logs


def test_logs_in_pieces(house: House) -> None:
    run = house.ran("a")
    text = "".join(f"line {number} ä€\n" for number in range(100))
    (house.folder(run) / LOG_FILE).write_text(text)
    whole, offset = "", 0
    while (piece := house.face.ask(ReadLog("a", offset=offset, limit=17))).text:
        whole, offset = whole + piece.text, piece.next_offset
    assert whole == text and offset == piece.size == os.path.getsize(house.folder(run) / LOG_FILE)
    assert house.face.ask(ReadLog("a", offset=-20)).text == "line 99 ä€\n"


def test_logs_before_there_are_any(house: House) -> None:
    assert house.face.ask(ReadLog(house.begin("a").job)).text == ""
    with refusal(NotFound, "run.not_found"):
        house.face.ask(ReadLog("a", run="r-nope"))


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


def counting(house: House, name: str, watermark: str, rows: list[tuple[int, str]], late: int = 0) -> None:
    run = house.begin(name)
    record = {"query": "counts", "query_id": name, "run_id": "s", "checkpoint": "", "sink": "json", "ui_url": "", "spark_version": "4.3.0"}
    sink = str(house.face.layout.output(run.job) / "counts")
    house.append(run, "queries.jsonl", json.dumps({**record, "sink_path": sink, "at_ms": 1}) + "\n")
    house.progress(run, 1, watermark, late)
    write_output(house, name, rows)


def test_outputs_are_compared_up_to_what_both_have_reached(house: House) -> None:
    counting(house, "a", "2026-11-20T09:00:30.000Z", [(10, "x"), (20, "x"), (30, "x")])
    counting(house, "b", "2026-11-20T09:00:20.000Z", [(10, "x"), (20, "y")])
    house.reopen()
    comparison = house.face.ask(Compare("a", "b"))
    assert (comparison.query, comparison.equal, comparison.only_a, comparison.only_b) == ("counts", 1, 1, 1)
    assert comparison.until_ms == 1_795_165_220_000
    assert "Late rows" not in comparison.note, "neither dropped any"


def test_late_rows_that_one_side_dropped_are_named_as_a_cause(house: House) -> None:
    counting(house, "a", "2026-11-20T09:00:30.000Z", [(10, "x"), (20, "x")])
    counting(house, "b", "2026-11-20T09:00:30.000Z", [(10, "x"), (20, "y")], late=7)
    counting(house, "c", "2026-11-20T09:00:30.000Z", [(10, "x"), (20, "x")], late=7)
    house.reopen()
    assert "A dropped 0, B dropped 7" in house.face.ask(Compare("a", "b")).note
    assert "Late rows" not in house.face.ask(Compare("a", "c")).note, "the outputs are the same"


def test_jobs_without_a_common_query_are_not_compared(house: House) -> None:
    house.begin("a")
    house.begin("b")
    with refusal(Conflict, "compare.not_started"):
        house.face.ask(Compare("a", "b"))
    house.ran("c")
    house.ran("d")
    house.reopen()
    with refusal(NotFound, "compare.query"):
        house.face.ask(Compare("c", "d", query="other"))


# the example


def test_the_example_is_begun_once(house: House) -> None:
    runs = do(house.face, StartExample())
    assert [run.job for run in runs] == ["post_events", "post_engagement"]
    assert [run.id for run in do(house.face, StartExample())] == [run.id for run in runs]
    assert spec(house, runs[1]).args[1] == spec(house, runs[0]).args[1]
