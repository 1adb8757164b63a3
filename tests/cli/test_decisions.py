"""`promote`, `drop` and `undrop`, and what `compare` says beside the outputs."""

from __future__ import annotations

from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiments import ShowExperiment
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from tests.cli.doors import Door

JOB, SPLIT = "post_engagement", "post_engagement_split"


def test_promote_waits_and_prints_job_and_run(tidemark: Door) -> None:
    done = tidemark("promote", SPLIT)
    assert (done.exit_code, done.stdout) == (0, f"{JOB} {tidemark.face.runs[JOB][-1].id}\n")
    assert tidemark.face.begun[0] == Promote(SPLIT)
    assert tidemark("promote", SPLIT).exit_code == 5


def test_promote_dry_run_prints_the_steps(tidemark: Door) -> None:
    shown = tidemark("promote", SPLIT, "--state", "savepoint", "--dry-run").stdout
    assert tidemark.face.begun == []
    for part in ("1. post_engagement stops", "12 lines added, 3 removed", "warning", "query id     kept"):
        assert part in shown
    assert tidemark.json("promote", SPLIT, "--dry-run")["stops"] is True


def test_drop(tidemark: Door) -> None:
    assert "2. It is marked as dropped." in tidemark("drop", SPLIT, "--dry-run").stdout
    done = tidemark("drop", SPLIT, "--at-once", "--no-savepoint")
    assert (done.exit_code, done.stdout) == (0, "")
    assert tidemark.face.begun[-1] == Drop(SPLIT, savepoint=False, at_once=True)
    assert tidemark("drop", JOB).exit_code == 5


def test_undrop_goes_on_and_prints_the_run(tidemark: Door) -> None:
    assert tidemark("undrop", SPLIT).exit_code == 5
    tidemark.face.begin(Resume(job=SPLIT))
    tidemark("drop", SPLIT)
    assert "1. It is marked as dropped no more." in tidemark("undrop", SPLIT, "--dry-run").stdout
    assert tidemark.face.begun[-1] == Drop(SPLIT) and len(tidemark.face.runs[SPLIT]) == 2
    done = tidemark("undrop", SPLIT)
    assert tidemark.face.begun[-1] == Undrop(SPLIT)
    assert (done.exit_code, done.stdout) == (0, f"{tidemark.face.runs[SPLIT][-1].id}\n") and len(tidemark.face.runs[SPLIT]) == 3
    assert tidemark.ticks > 0 and tidemark.face.ask(ShowExperiment("ex-1")).decisions == ()


def test_undrop_of_one_that_did_not_run_prints_nothing(tidemark: Door) -> None:
    tidemark("drop", SPLIT)
    done = tidemark("undrop", SPLIT)
    assert (done.exit_code, done.stdout) == (0, "") and "it does not run" in done.stderr


def test_compare_says_where_they_part_how_metrics_differ_and_the_state(tidemark: Door) -> None:
    shown = tidemark("compare", JOB, SPLIT).stdout
    for part in ("they part at", "equal up to", "B is 12 % slower, between 5 and 19 %", "No difference can be told yet: 7 batches"):
        assert part in shown
    found = tidemark.json("compare", JOB, SPLIT)
    assert [one["measure"] for one in found["metrics"]] == ["batch_ms", "processed_rate", "state_rows", "state_bytes"]
    assert found["state"]["name"] == "state" and found["parting"]["kind"] == "changed"
