"""Each verb: what it asks of the workspace, what it prints and where."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, Invalid, NotFound, TidemarkError, Unavailable
from pipelines.domain.experiments import LockStepped
from pipelines.domain.findings import Finding, Problem, Urgency
from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.ids import JobName, OperationId, RunId
from pipelines.domain.logs import LogChunk, LogEntry, LogLevel, LogSearch
from pipelines.domain.masters import Cluster
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.versions import version
from pipelines.storage.documents import plain
from pipelines.verbs.attach import Attach
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, ShowTree
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ListJobs, ListPlans, ReadLog, SearchLog, ShowJob, ShowLease
from pipelines.verbs.operations import ListOperations, ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents, StartExample
from pipelines.verbs.take import Take
from tests import changes, samples
from tests.cli.doors import Door
from tests.faces import LOG, NOW_MS, ROOT

FIRST = "sp-000000000002"
SECOND = "sp-000000000003"
JOB = "post_engagement"


def test_run_prints_job_and_run(tidemark: Door, script: Path) -> None:
    done = tidemark("run", script, "--name", "c", "--conf", "a=b=c", "--master", "local[1]", "--", "--rate", "5", "{output}")
    assert (done.exit_code, done.stdout) == (0, f"c {changes.RUN}\n")
    asked = RunScript(
        name="c",
        script="counts.py",
        code="print('counts')\n",
        args=("--rate", "5", "{output}"),
        conf={"a": "b=c"},
        master="local[1]",
        source=str(script),
    )
    assert tidemark.face.begun == [asked]
    assert tidemark.ticks == 1


def test_run_takes_its_name_from_the_script_and_its_state_from_a_savepoint(tidemark: Door, script: Path) -> None:
    assert tidemark.json("run", script, "--from", FIRST, "--runtime", "/py")["job"] == "counts"
    assert tidemark.face.begun == [
        RunScript(name="counts", script="counts.py", code="print('counts')\n", source=str(script), from_savepoint=FIRST, python="/py")
    ]


def test_run_waits_until_it_runs(tidemark: Door, script: Path) -> None:
    _starting(tidemark, until_ticks=4, then=RunState.RUNNING)
    assert tidemark("run", script, "--wait").exit_code == 0
    assert tidemark.ticks == 4


@pytest.mark.parametrize(("words", "ticks"), [(("example",), 7), (("experiment", FIRST, "--name", "e", "--variant", "c"), 3)])
def test_the_example_is_waited_for_until_a_savepoint_can_be_taken_and_forks_until_they_run(
    tidemark: Door, words: tuple[str, ...], ticks: int
) -> None:
    _starting(tidemark, until_ticks=3, then=RunState.RUNNING, first_batch=7)
    assert tidemark(*words).exit_code == 0 and tidemark.ticks == 1
    tidemark.ticks = 0
    assert tidemark(*words, "--wait").exit_code == 0
    assert tidemark.ticks == ticks


def test_run_that_fails_while_waited_for_says_why(tidemark: Door, script: Path) -> None:
    _starting(tidemark, until_ticks=2, then=RunState.FAILED)
    done = tidemark("run", script, "--wait")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "BAD_STATE no luck" in done.stderr and "logs counts" in done.stderr


def test_run_that_does_not_come_up_in_time_is_unavailable(tidemark: Door, script: Path) -> None:
    _starting(tidemark, until_ticks=1_000_000, then=RunState.RUNNING)
    done = tidemark("run", script, "--wait", "--timeout", "10")
    assert done.exit_code == 9
    assert 10 <= tidemark.waited < 11


def test_list_is_a_table_with_units(tidemark: Door) -> None:
    done = tidemark("list")
    head, first, *_ = done.stdout.splitlines()
    assert head.split()[:4] == ["JOB", "STATE", "BATCH", "P50"]
    assert first.split() == (
        [
            "post_engagement",
            "running",
            "9",
            "420",
            "ms",
            "850",
            "ms",
            "120",
            "rows/s",
            "1.2k",
            "rows,",
            "2m",
            "00s",
            "9.00",
            "s",
            "1.5",
            "MB",
            "2.0",
            "MB",
            "2",
            "3",
            "s",
            "ago",
        ]
    )
    assert tidemark.json("list") == plain(tidemark.face.ask(ListJobs()))


def test_columns_are_aligned(tidemark: Door) -> None:
    head, *rows = tidemark("list").stdout.splitlines()
    at = head.index("STATE")
    assert [row[at:].split()[0] for row in rows] == ["running", "failed", "stopped"]


def test_list_of_nothing_is_empty_and_says_what_to_do(tidemark: Door) -> None:
    tidemark.face.runs.clear()
    done = tidemark("list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "in this workspace" in done.stderr and "example" in done.stderr
    assert tidemark.json("list") == []


def test_events_go_on_where_the_last_list_ended(tidemark: Door) -> None:
    every = tidemark.face.ask(ListEvents())
    place = every[1].cursor
    tidemark.face.answers(ListEvents(limit=2, before=place), every[2:])
    first = tidemark("events", "--limit", "2")
    assert len(first.stdout.splitlines()) == 3
    assert first.stderr == f"Older ones: --before {place}\n"
    rest = tidemark("events", "--limit", "2", "--before", place)
    assert len(rest.stdout.splitlines()) == 2 and "Older" not in rest.stderr
    tidemark.face.refuses(ListEvents, Invalid("events.cursor", "'yesterday' is not the cursor of an event"))
    assert tidemark("events", "--before", "yesterday").exit_code == 2


def test_show_a_job(tidemark: Door) -> None:
    assert "checks.bad_rows 3" in tidemark("show", JOB).stdout
    text = tidemark("show", "post_engagement_split").stdout
    assert "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" in text
    assert f"{FIRST} of post_engagement" in text
    assert tidemark.json("show", JOB) == plain(tidemark.face.ask(ShowJob(JOB)))
    there = replace(tidemark.face.ask(ShowJob(JOB)), cluster=Cluster("spark://a:7077", "client", "app-7", 1))
    tidemark.face.answers(ShowJob(JOB), there)
    assert "1 executor alive on spark://a:7077, the driver here (client mode)" in tidemark("show", JOB).stdout


def test_show_a_job_at_a_home_says_who_has_its_lease(tidemark: Door) -> None:
    there = tidemark.face.ask(ShowJob(JOB))
    job = replace(there.summary.job, place="s3a://lake/post_engagement-r-1")
    tidemark.face.answers(ShowJob(JOB), replace(there, summary=replace(there.summary, job=job)))
    assert "none was taken yet" in tidemark("show", JOB).stdout and tidemark.json("show", JOB)["lease"] is None
    times = (NOW_MS - 60_000, NOW_MS - 4_000, NOW_MS + 56_000)
    tidemark.face.leases[JOB] = LeaseSeen(f"{job.place}/lease.json", "r-9", "elsewhere", False, False, *times)
    assert "run r-9 on elsewhere, renewed 4 s ago, gives way" in tidemark("show", JOB).stdout
    assert tidemark.json("show", JOB)["lease"]["run"] == "r-9"
    tidemark.face.refuses(ShowLease, Unavailable("storage.unavailable", "lake does not answer"))
    assert "cannot be read now: lake does not answer" in tidemark("show", JOB).stdout


def test_show_a_savepoint(tidemark: Door) -> None:
    assert f"{ROOT}/{FIRST}" in tidemark("show", FIRST).stdout
    assert tidemark.json("show", FIRST)["id"] == FIRST


def test_show_of_neither(tidemark: Door) -> None:
    done = tidemark("show", "nobody")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "neither a job nor a savepoint" in done.stderr


@pytest.mark.parametrize("words", [("logs", JOB), ("logs", JOB, "--all"), ("logs", "post_events", "-f")])
def test_logs(tidemark: Door, words: tuple[str, ...]) -> None:
    assert tidemark(*words).stdout == LOG


def test_logs_follow_until_the_run_ends(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    text = LOG

    def logs(question: ReadLog) -> LogChunk:
        begin = max(0, question.offset)
        return LogChunk(tidemark.face.runs[JOB][-1].id, text[begin : begin + 8], begin, min(len(text), begin + 8), len(text))

    def sleep(seconds: float) -> None:
        nonlocal text
        text += "the end\n"
        tidemark.face.ended(JOB)

    tidemark.face.answers(ReadLog, logs)
    monkeypatch.setattr(tidemark, "sleep", sleep)
    assert tidemark("logs", JOB, "-f").stdout == LOG + "the end\n"
    assert [json.loads(line)["run"] for line in tidemark("logs", JOB, "-f", "--json").stdout.splitlines()]


def test_logs_of_a_level_are_followed_by_entries(tidemark: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [LogEntry(0, LogLevel.ERROR, None, "ERROR one"), LogEntry(20, LogLevel.WARNING, None, "WARN two")]
    run, looks = tidemark.face.runs[JOB][-1].id, list[int]()

    def search(question: SearchLog) -> LogSearch:
        assert (question.level, question.text) == (LogLevel.WARNING, "o")
        looks.append(question.offset)
        fit = tuple(entry for entry in entries if entry.offset >= question.offset)
        return LogSearch(run, fit, None, len(fit), 1, 1, question.offset, 100)

    def sleep(seconds: float) -> None:
        if len(looks) == 1:
            entries[-1] = replace(entries[-1], text="WARN two\n\tat a.b.C")
        elif len(looks) == 3:
            tidemark.face.ended(JOB)

    tidemark.face.answers(SearchLog, search)
    monkeypatch.setattr(tidemark, "sleep", sleep)
    assert tidemark("logs", JOB, "-f", "--level", "WARN", "--grep", "o").stdout == "ERROR one\nWARN two\n\tat a.b.C\n"
    assert looks == [0, 20, 100, 100], "the last entry is looked at once more, whole; then only what is new"
    refused = tidemark("logs", JOB, "--level", "loud")
    assert refused.exit_code != 0 and "Write FATAL, ERROR, WARN, INFO, DEBUG, TRACE or ALL" in refused.stderr


@pytest.fixture
def stopping(tidemark: Door) -> Operation:
    """The operation of a stop: it takes the second savepoint."""
    ended = samples.ended("op-1", "stop", JOB, SECOND)
    tidemark.face.answers(Stop, ended)
    return ended


def test_stop_prints_the_path_of_its_savepoint(tidemark: Door, stopping: Operation) -> None:
    done = tidemark("stop", JOB, "--label", "night")
    assert (done.exit_code, done.stdout) == (0, f"{tidemark.face.savepoints_by_id[SECOND].path}\n")
    assert tidemark.face.begun == [Stop(JOB, label="night")]
    assert "waiting" in done.stderr


def test_stop_waits_for_the_operation(tidemark: Door, stopping: Operation) -> None:
    waiting = replace(stopping, state=OperationState.RUNNING)
    tidemark.face.answers(ShowOperation, lambda question: stopping if tidemark.ticks > 3 else waiting)
    assert tidemark("stop", JOB).exit_code == 0
    assert tidemark.ticks == 4


def test_stop_shows_how_far_its_savepoint_is(tidemark: Door, stopping: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [10, 20, 30]

    def operation(question: ShowOperation) -> Operation:
        return replace(stopping, state=OperationState.RUNNING) if left else stopping

    def operations(question: ListOperations) -> list[Operation]:
        copied = Amount("copying", left.pop(0) * 1_000_000, 40_000_000)
        of = [("o-1", "another", replace(copied, done=0)), ("o-2", JOB, copied)]
        return [Operation(OperationId(id_), "take", JobName(job), OperationState.RUNNING, 0, amount=amount) for id_, job, amount in of]

    tidemark.face.answers(ShowOperation, operation)
    tidemark.face.answers(ListOperations, operations)
    monkeypatch.setattr(tidemark, "sleep", lambda seconds: Door.sleep(tidemark, 6))
    lines = tidemark("stop", JOB).stderr.splitlines()
    assert lines[1:3] == ["copying: 20.0 MB of 40.0 MB, 1.7 MB/s, 12 s left", "copying: 30.0 MB of 40.0 MB, 1.7 MB/s, 6 s left"], lines


def test_stop_whose_operation_fails(tidemark: Door, stopping: Operation) -> None:
    failed = replace(stopping, state=OperationState.FAILED, error_code="savepoint.gone", error_message="files vanished", error_hint="again")
    tidemark.face.answers(ShowOperation, failed)
    done = tidemark("stop", JOB)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "error: files vanished\nhint: again\n" in done.stderr


def test_stop_without_a_savepoint_prints_nothing(tidemark: Door) -> None:
    tidemark.face.answers(Stop, samples.ended("op-1", "stop", JOB))
    assert tidemark("stop", JOB, "--no-savepoint").stdout == ""


def test_stop_as_json(tidemark: Door, stopping: Operation) -> None:
    answer = tidemark.json("stop", JOB)
    assert answer["operation"]["result"] == answer["savepoint"]["id"]


def test_cancel(tidemark: Door) -> None:
    assert tidemark("cancel", JOB).stdout == ""
    assert tidemark.face.begun == [Stop(JOB, savepoint=False, at_once=True)]


def test_resume(tidemark: Door, script: Path) -> None:
    done = tidemark("resume", "post_events", "--from", FIRST, "--code", script, "--arg", "x", "--conf", "k=v", "--master", "local[1]")
    assert done.stdout == f"post_events {changes.RUN}\n"
    changed: dict[str, Any] = {"code": "print('counts')\n", "args": ("x",), "conf": {"k": "v"}, "master": "local[1]"}
    assert tidemark.face.begun == [Resume(job="post_events", from_savepoint=FIRST, check=True, **changed)]
    assert tidemark.ticks == 1


def test_another_runtime_is_an_upgrade_of_the_engine(tidemark: Door, script: Path) -> None:
    tidemark("resume", "post_events", "--runtime", "/py")
    tidemark("fork", FIRST, "--name", "b", "--runtime", "/py")
    tidemark("run", script, "--from", FIRST, "--runtime", "/py", "--new-query", "late")
    resumed, forked, run = tidemark.face.begun
    assert isinstance(resumed, Resume) and isinstance(forked, Fork) and isinstance(run, RunScript)
    assert (resumed.python, forked.python, run.python, run.new_queries) == ("/py", "/py", "/py", ("late",))


def test_resume_keeps_what_is_not_given(tidemark: Door) -> None:
    assert tidemark("resume", "post_events").exit_code == 0
    assert tidemark.face.begun == [Resume(job="post_events", check=True)]


def test_resume_adds_confs_to_those_it_had(tidemark: Door) -> None:
    tidemark("resume", JOB, "--conf", "k=v")
    assert tidemark.face.begun[-1] == Resume(job=JOB, check=True, conf={"spark.x": "1", "k": "v"})


def test_resume_at_a_batch(tidemark: Door) -> None:
    assert tidemark("resume", "post_events", "--batch", "8", "--new-query", "a", "--new-query", "b").exit_code == 0
    assert tidemark.face.begun == [Resume(job="post_events", batch=8, check=True, new_queries=("a", "b"))]


def test_resume_at_a_batch_of_each_query(tidemark: Door) -> None:
    assert tidemark("resume", "post_events", "--batch", "counts=8", "--batch", "late=2").exit_code == 0
    assert tidemark.face.begun == [Resume(job="post_events", batch={"counts": 8, "late": 2}, check=True)]


def test_resume_goes_to_one_point(tidemark: Door) -> None:
    done = tidemark("resume", "post_events", "--batch", "8", "--from", FIRST)
    assert (done.exit_code, tidemark.face.begun) == (2, [])
    assert "--from, --batch" in done.stderr


ATTACHED = [
    (["/lake/counts"], {"counts": "/lake/counts"}),
    (["s3://lake/my clicks/"], {"my clicks": "s3://lake/my clicks/"}),
    (["s3://lake/counts", "--query", "counts"], {"counts": "s3://lake/counts"}),
    (["--checkpoint", "a=s3://lake/a", "--checkpoint", "b=/b=c"], {"a": "s3://lake/a", "b": "/b=c"}),
]


@pytest.mark.parametrize(("words", "checkpoints"), ATTACHED)
def test_attach(tidemark: Door, words: list[str], checkpoints: dict[str, str]) -> None:
    done = tidemark("attach", "far", *words)
    assert (done.exit_code, done.stdout) == (0, f"far {changes.RUN}\n")
    assert tidemark.face.begun == [Attach(name="far", checkpoints=checkpoints)]
    assert tidemark.ticks == 1


def test_attach_with_all_that_a_checkpoint_does_not_say(
    tidemark: Door, script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words: list[str | Path] = [
        "--sink",
        "parquet",
        "--sink-path",
        "out",
        "--code",
        script,
        "--arg",
        "1",
        "--conf",
        "k=v",
        "--master",
        "yarn",
    ]
    assert tidemark("attach", "far", "live/counts", *words, "--spark-version", "4.1.0").exit_code == 0
    here = {"counts": str(tmp_path / "live" / "counts")}
    code = "print('counts')\n"
    asked = Attach(
        name="far",
        checkpoints=here,
        sink="parquet",
        sink_path=str(tmp_path / "out"),
        script="counts.py",
        code=code,
        args=("1",),
        conf={"k": "v"},
        master="yarn",
        spark_version="4.1.0",
    )
    assert tidemark.face.begun == [asked]


@pytest.mark.parametrize("words", [[], ["/a", "--checkpoint", "b=/b"], ["--checkpoint", "/b"], ["--checkpoint", "b=/b", "--query", "b"]])
def test_attach_that_makes_no_sense(tidemark: Door, words: list[str]) -> None:
    assert tidemark("attach", "far", *words).exit_code == 2
    assert tidemark.face.begun == []


def test_an_attached_job_is_watched(tidemark: Door) -> None:
    tidemark.face.began("far", version("attached.py", ""), state=RunState.WATCHED)
    tidemark.face.attached["far"] = {"counts": replace(samples.query_seen("far"), checkpoint="/lake/counts")}
    row = next(line for line in tidemark("list").stdout.splitlines() if line.startswith("far "))
    assert row.split()[1] == "watched"
    shown = tidemark("show", "far").stdout
    assert "elsewhere: watched by its checkpoint" in shown and "/lake/counts" in shown
    assert tidemark.json("show", "far")["summary"]["job"]["attached"] is True


def test_savepoint_prints_its_path_and_nothing_else(tidemark: Door) -> None:
    done = tidemark("savepoint", JOB, "--batch", "8", "--label", "before ads")
    assert (done.exit_code, done.stdout) == (0, f"{ROOT}/{changes.SAVEPOINT}\n")
    assert tidemark.face.begun == [Take(JOB, 8, label="before ads")]
    assert "batch 8, 12 files, 2.0 MB, 4.1 kB new on disk, in 42 ms" in done.stderr


def test_savepoint_at_a_time(tidemark: Door) -> None:
    assert tidemark("savepoint", JOB, "--at", "-10m").exit_code == 0
    assert tidemark.face.begun == [Take(JOB, at_ms=NOW_MS - 600_000)]


def test_savepoint_at_an_event_time(tidemark: Door) -> None:
    assert tidemark("savepoint", JOB, "--event-time", "-1h").exit_code == 0
    assert tidemark.face.begun == [Take(JOB, event_ms=NOW_MS - 3_600_000)]


def test_savepoint_to_a_url(tidemark: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tidemark("savepoint", JOB, "--to", "s3://lake/one").stdout == "s3://lake/one\n"
    assert tidemark("savepoint", JOB, "--to", "one").stdout == f"{tmp_path / 'one'}\n"
    assert tidemark.face.begun[0] == Take(JOB, to="s3://lake/one")


@pytest.mark.parametrize("option", ["--at", "--event-time"])
def test_savepoint_at_no_time(tidemark: Door, option: str) -> None:
    assert tidemark("savepoint", JOB, option, "soon").exit_code == 2
    assert tidemark("savepoint", JOB, option, "-10m", "--batch", "8").exit_code == 2
    assert tidemark.face.begun == []


def test_savepoint_dry_run_prints_the_plan(tidemark: Door) -> None:
    assert "batch      9 of counts" in tidemark("savepoint", JOB, "--dry-run").stdout
    assert tidemark.json("savepoint", JOB, "--dry-run")["new_bytes"] == 4096
    assert tidemark.face.begun == []


def test_savepoints(tidemark: Door) -> None:
    rows = [line.split()[0] for line in tidemark("savepoints").stdout.splitlines()]
    assert rows == ["SAVEPOINT", SECOND, FIRST]
    assert [savepoint["id"] for savepoint in tidemark.json("savepoints", JOB)] == [SECOND, FIRST]
    assert tidemark("savepoints", "post_events").stdout == ""


def test_a_savepoint_by_its_folder_from_here(tidemark: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    moved = replace(tidemark.face.savepoints_by_id[FIRST], path=str(tmp_path / "here"))
    tidemark.face.savepoints_by_id[moved.id] = moved
    monkeypatch.chdir(tmp_path)
    assert tidemark.json("show", "here")["id"] == FIRST


def test_fork(tidemark: Door, script: Path) -> None:
    done = tidemark("fork", FIRST, "--name", "c", "--code", script, "--arg", "1", "--arg", "2", "--conf", "k=v")
    assert done.stdout == f"c {changes.RUN}\n"
    changed: dict[str, Any] = {"code": "print('counts')\n", "script": "counts.py", "args": ("1", "2"), "conf": {"spark.x": "1", "k": "v"}}
    assert tidemark.face.begun == [Fork(savepoint=FIRST, name="c", check=True, **changed)]


def test_fork_dry_run_prints_the_plan(tidemark: Door) -> None:
    text = tidemark("fork", FIRST, "--name", "c", "--dry-run").stdout
    assert "query id     a new one" in text and "warning      a warning" in text and "continued" in text
    assert tidemark.face.begun == []


SINKS = [
    (["fresh"], {"*": "fresh"}),
    (["counts=fresh"], {"counts": "fresh"}),
    (["continue", "counts=fresh", "raw=continue"], {"*": "continue", "counts": "fresh", "raw": "continue"}),
]


@pytest.mark.parametrize(("given", "sinks"), SINKS)
def test_fork_says_what_its_sinks_do(tidemark: Door, given: list[str], sinks: dict[str, str]) -> None:
    words = [word for sink in given for word in ("--sink", sink)]
    assert tidemark("fork", FIRST, "--name", "c", *words, "--new-query", "more").exit_code == 0
    assert tidemark.face.begun == [Fork(savepoint=FIRST, name="c", sinks=sinks, check=True, new_queries=("more",))]


@pytest.mark.parametrize("sink", ["frsh", "counts=", "=fresh", "counts=new"])
def test_fork_with_a_sink_that_does_nothing_known(tidemark: Door, sink: str) -> None:
    assert tidemark("fork", FIRST, "--name", "c", "--sink", sink).exit_code == 2
    assert tidemark.face.begun == []


def test_experiment(tidemark: Door, script: Path) -> None:
    done = tidemark("experiment", FIRST, "--name", "e", "--variant", f"c={script}", "--variant", "d", "--with-parent")
    (change,) = tidemark.face.begun
    assert isinstance(change, StartExperiment)
    variants = [(variant.name, variant.code) for variant in change.variants]
    assert (change.name, change.with_parent, variants) == ("e", True, [("c", "print('counts')\n"), ("d", None)])
    assert done.stdout == "ex-100\n"
    assert tidemark.ticks == 1
    assert "ads" in tidemark("experiments").stdout


def test_compare(tidemark: Door) -> None:
    text = tidemark("compare", JOB, "post_engagement_split", "--key", "post", "--examples", "3").stdout
    assert tidemark.face is not None
    lines = [line.split() for line in text.splitlines()]
    for row in (["equal", "8"], ["changed", "1"], ["post", "a.views", "b.views"], ["2", "3", "5"]):
        assert row in lines
    asked = Compare(JOB, "post_engagement_split", "", ("post",), 5)
    comparison = tidemark.json("compare", JOB, "post_engagement_split", "--key", "post")
    assert comparison.keys() - plain(tidemark.face.ask(asked)).keys() == {"metrics", "state"}
    assert comparison | plain(tidemark.face.ask(asked)) == comparison
    rows = {"changed": [{"post": 2, "a.views": 3, "b.views": 5}]}
    asked = Compare(JOB, "post_engagement_split")
    tidemark.face.answers(asked, replace(tidemark.face.ask(asked), lock_step=LockStepped(3, 9, 8, ("post",), rows)))
    text = tidemark("compare", JOB, "post_engagement_split").stdout
    assert "first batch whose rows differ is 8, at post=2 (views: 3 in A, 5 in B)" in text and "batch 8, changed" in text
    assert f"state-difference {JOB}@counts=8 post_engagement_split@counts=8 --query counts" in text


def test_versions_is_a_tree(tidemark: Door) -> None:
    engagement, split, events = (tidemark.face.runs[job][-1].version for job in (JOB, "post_engagement_split", "post_events"))
    assert tidemark("versions").stdout.splitlines() == [
        f"post_engagement  running  {engagement}",
        f'├─ {FIRST}  batch 7  2.0 MB  just now  "before ads"',
        f"│  └─ post_engagement_split  failed  {split}",
        f"└─ {SECOND}  batch 9  2.0 MB  just now",
        f"post_events  stopped  {events}",
    ]


def test_the_tree_and_the_job_say_what_became_of_its_state(tidemark: Door) -> None:
    tidemark.face.went_on("post_engagement_split", samples.edge(FIRST))
    split = tidemark.face.runs["post_engagement_split"][-1].version
    briefly = "changed meaning, rewritten, without counts.1"
    assert f"post_engagement_split  failed  {split} [{briefly}]" in tidemark("versions").stdout
    shown = tidemark("show", "post_engagement_split").stdout
    why = "counts, operator 0 (aggregation): computes: sum(n) before, sum(2 * n) now."
    begins = "added count(1), which begins with 0."
    assert f"{FIRST} of post_engagement – {briefly}: {why} counts.1 was dropped." in shown and begins in shown
    runs = json.loads(tidemark("versions", "--json").stdout)["lanes"][1]["runs"]
    assert runs[0]["edge"]["migration"]["operators"][0]["aggregates"] == [{"becomes": "added", "text": "count(1)", "begins": "0"}]


def test_the_tree_says_which_job_needs_attention(tidemark: Door) -> None:
    quiet, *others = tidemark.face.ask(ListJobs())
    finding = Finding(quiet.job.name, Problem.NO_PROGRESS, Urgency.WARNING, "no progress", "no batch for 20 min")
    tidemark.face.answers(ListJobs(), [replace(quiet, findings=(finding,)), *others])
    lines = tidemark("versions").stdout.splitlines()
    assert [line for line in lines if "no progress" in line] == [line for line in lines if f"{quiet.job.name}  " in line]


def test_a_version_prints_its_code(tidemark: Door) -> None:
    assert tidemark("versions", tidemark.face.runs[JOB][-1].version).stdout == "print('a')\n"


def test_the_tree_knows_what_was_disposed_of_and_forgotten(tidemark: Door) -> None:
    del tidemark.face.savepoints_by_id[FIRST]
    assert f"(from {FIRST}, disposed of)" in tidemark("versions").stdout
    del tidemark.face.runs[JOB]
    assert "post_engagement  (forgotten)" in tidemark("versions").stdout


def test_operators_are_tables_of_each_query(tidemark: Door) -> None:
    shown = tidemark("operators", JOB).stdout
    assert "counts  batch 9, 3 s ago" in shown
    assert "Kafka clicks" in shown and "1,250 rows" in shown
    assert [line.split()[1:4] for line in shown.splitlines() if line.startswith("stateStoreSave")] == [["116", "24", "3"]]
    partitions = [line.split()[1:] for line in shown.splitlines() if line.startswith("clicks ")]
    assert partitions == [["0", "50", "1,300", "1,250"], ["1", "7", "7", "0"]]
    assert [query["operators"][1]["rows"] for query in tidemark.json("operators", JOB)] == [480]
    assert "no batch yet" in tidemark("operators", "post_events").stderr


PLAN = """
counts  batch 9, 3 s ago
WriteToDataSourceV2  (output rows 24)
└─ StateStoreSave #0  (output rows 24, total state rows 116)
   └─ StreamingSymmetricHashJoin #1  (output rows 87, total state rows 480)
      ├─ Scan json  (output rows 40)
      └─ MicroBatchScan  (output rows 47)
"""


def test_a_plan_is_a_tree_with_its_main_metrics(tidemark: Door) -> None:
    assert tidemark("plan", JOB).stdout == PLAN.lstrip()
    assert [plan["nodes"][1]["operator"] for plan in tidemark.json("plan", JOB, "--query", "counts")] == [0]
    assert "after the first batch" in tidemark("plan", "post_events").stderr
    tidemark.face.refuses(ListPlans(JOB, "other"), NotFound("plan.not_found", "no plan of query 'other'", "See which are known."))
    unknown = tidemark("plan", JOB, "--query", "other")
    assert unknown.exit_code == STATUS_AND_EXIT_CODES["not_found"][1] and "no plan of query" in unknown.stderr


def test_batches(tidemark: Door) -> None:
    assert [batch["batch"] for batch in tidemark.json("batches", JOB, "--limit", "2")] == [9, 8]
    assert [batch["batch"] for batch in tidemark.json("batches", JOB, "--retained")] == [7, 8, 9]
    assert "812 ms" in tidemark("batches", JOB).stdout
    tidemark.json("batches", JOB, "--sort", "-batch_ms")
    assert tidemark.face.asked[-1] == ListBatches(JOB, 20, sort="-batch_ms")
    assert tidemark("batches", JOB, "--sort", "at_ms", "--retained").exit_code == 2
    assert "checks.bad_rows 9; checks.newest 2026-11-20 09:00:00" in tidemark("batches", JOB).stdout
    assert tidemark.json("batches", JOB, "--limit", "1")[0]["observed"][0] == {"name": "checks.bad_rows", "value": 9.0, "text": ""}
    assert {"COMMITTED", "WATERMARK"} <= set(tidemark("batches", JOB, "--retained").stdout.split("\n")[0].split())
    assert "the newest 2 of 3 batches; --limit shows more" in tidemark("batches", JOB, "--retained", "--limit", "2").stderr


def test_events(tidemark: Door) -> None:
    assert [event["job"] for event in tidemark.json("events", JOB)] == [JOB]
    assert "run.started" in tidemark("events").stdout


def test_about(tidemark: Door) -> None:
    assert tidemark.json("about")["storage"]["disk"]["file_system"] == "ext4"
    shown = tidemark("about").stdout
    assert "PySpark 3.5.7 runs on Java 17 to 23. Install Java 17" in shown
    assert "hard links" in shown and "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY" in shown and "1a2b3c4d5e6f" in shown
    assert "OTLP http://collector:4318/v1/metrics, every 1m 00s, arrived" in shown and "last error: [Errno 111] Connection refused" in shown


def test_events_are_filtered(tidemark: Door) -> None:
    tidemark("events", "--by", "page", "--since", "-10m")
    assert tidemark.face.asked[-1] == ListEvents(limit=50, actor="page", from_ms=NOW_MS - 600_000)
    tidemark("events", "--text", "split", "--kind", "runs", "--until", "2000-01-01T00:00+00:00")
    assert tidemark.face.asked[-1] == ListEvents(limit=50, kind="runs", text="split", to_ms=946_684_800_000)
    tidemark.face.answers(ListEvents(limit=50, kind="failures"), [])
    assert tidemark("events", "--kind", "failures").stdout == ""
    assert tidemark("events", "--since", "soon").exit_code == 2


def test_forget(tidemark: Door) -> None:
    assert tidemark("forget", "post_events").stdout == ""
    assert tidemark.face.begun == [Forget("post_events")]


def test_example(tidemark: Door) -> None:
    assert [line.split()[0] for line in tidemark("example").stdout.splitlines()] == ["example_events", "example_counts"]
    tidemark.face.answers(StartExample, ())
    assert tidemark("example").stdout == ""


def test_catalog_rebuild(tidemark: Door) -> None:
    assert tidemark.json("catalog", "rebuild") == {"jobs": 3, "savepoints": 2}
    assert tidemark("catalog", "rebuild").stdout.split() == ["TABLE", "ROWS", "jobs", "3", "savepoints", "2"]


@pytest.mark.parametrize("group", STATUS_AND_EXIT_CODES)
def test_each_group_has_its_exit_code(tidemark: Door, group: str) -> None:
    error = GROUPS.get(group, TidemarkError)("some.code", "a message", "a hint")

    tidemark.face.refuses(ShowTree, error)
    plainly, as_json = tidemark("versions"), tidemark("versions", "--json")
    assert {plainly.exit_code, as_json.exit_code} == {STATUS_AND_EXIT_CODES[group][1]}
    assert (plainly.stdout, plainly.stderr) == ("", "error: a message\nhint: a hint\n")
    assert (as_json.stdout, json.loads(as_json.stderr)) == ("", error.as_json())


USAGE = [
    ("nothing",),
    ("savepoint",),
    ("savepoint", JOB, "--batch", "x"),
    ("savepoint", JOB, "--batch", "1", "--at", "-1m"),
    ("run", "no-such-file.py"),
    ("fork", FIRST),
    ("fork", FIRST, "--name", "c", "--conf", "novalue"),
    ("experiment", FIRST, "--name", "e", "--variant", "=novalue"),
    ("verify", FIRST, "--level", "hopefully"),
    ("dispose",),
    ("annotate",),
    ("catalog", "burn"),
]


@pytest.mark.parametrize("words", USAGE)
def test_usage_errors(tidemark: Door, words: tuple[str, ...]) -> None:
    done = tidemark(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error" in done.stderr
    assert tidemark.face.begun == []


def test_code_that_cannot_be_read_is_named(tidemark: Door, tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# \xe4\n")
    done = tidemark("run", tmp_path / "latin.py")
    assert done.exit_code == 2 and "latin.py" in done.stderr
    assert tidemark("experiment", FIRST, "--name", "e", "--variant", "c=gone.py").exit_code == 3


def test_the_workspace_is_the_option_then_the_environment_then_the_repository(tidemark: Door, tmp_path: Path) -> None:
    tidemark("list", "--workspace", tmp_path / "a")
    tidemark("list", env={"TIDEMARK_WORKSPACE": str(tmp_path / "b")})
    tidemark("list")
    repository = Path(__file__).parents[2] / "data" / "workspace"
    assert tidemark.paths == [tmp_path / "a", tmp_path / "b", repository]


def _starting(tidemark: Door, *, until_ticks: int, then: RunState, first_batch: int = 0) -> None:
    """Makes every run look as if it still started, and had no batch, until the supervisor has acted so often."""
    detail = tidemark.face.ask(ShowJob(JOB))

    def job(question: ShowJob) -> object:
        state = then if tidemark.ticks >= until_ticks else RunState.STARTING
        how = Exit("failed", 1, "BAD_STATE", "no luck", NOW_MS) if state is RunState.FAILED else None
        run = replace(detail.runs[0], id=RunId(changes.RUN), state=state, exit=how)
        return replace(detail, runs=(run,), batches=detail.batches if tidemark.ticks >= first_batch else {})

    tidemark.face.answers(ShowJob, job)
