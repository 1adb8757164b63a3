"""`promote`, `drop` and `undrop`, and what `compare` says beside the outputs."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.decisions import UndropPlan
from pipelines.domain.errors import Conflict, refusal
from pipelines.domain.ids import RunId
from pipelines.domain.verdicts import drops
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.promote import Promote
from tests import samples
from tests.cli.doors import Door

JOB, SPLIT = "post_engagement", "post_engagement_split"
DECIDED = Conflict("decision.made", f"{SPLIT} was decided already", "Fork again.")


def test_promote_waits_and_prints_job_and_run(tidemark: Door) -> None:
    tidemark.face.answers(Promote, samples.ended("op-9", "promote", JOB, "r-9", SPLIT))
    done = tidemark("promote", SPLIT)
    assert (done.exit_code, done.stdout) == (0, f"{JOB} r-9\n")
    assert tidemark.face.begun == [Promote(SPLIT, check=True)]
    tidemark.face.refuses(Promote, DECIDED)
    assert tidemark("promote", SPLIT).exit_code == 5


def test_promote_dry_run_prints_the_steps(tidemark: Door) -> None:
    shown = tidemark("promote", SPLIT, "--state", "savepoint", "--dry-run").stdout
    assert tidemark.face.begun == []
    for part in ("1. post_engagement stops", "12 lines added, 3 removed", "warning", "query id     kept"):
        assert part in shown
    assert tidemark.json("promote", SPLIT, "--dry-run")["stops"] is True
    tidemark.face.plans_as(Promote, replace(tidemark.face.plan(Promote(SPLIT)), refusal=refusal(drops(["counts.1"]))))
    refused = tidemark("promote", SPLIT, "--dry-run")
    assert refused.exit_code == 6 and "1. post_engagement stops" in refused.stdout
    assert "The code drops a part of the state" in refused.stderr and "--drop counts.1" in refused.stderr


def test_drop(tidemark: Door) -> None:
    assert "1. It is marked as dropped." in tidemark("drop", SPLIT, "--dry-run").stdout
    done = tidemark("drop", SPLIT, "--at-once", "--no-savepoint")
    assert (done.exit_code, done.stdout) == (0, "")
    assert tidemark.face.begun[-1] == Drop(SPLIT, savepoint=False, at_once=True)
    tidemark.face.refuses(Drop, DECIDED)
    assert tidemark("drop", SPLIT).exit_code == 5


def test_undrop_goes_on_and_prints_the_run(tidemark: Door) -> None:
    assert "1. It is marked as dropped no more." in tidemark("undrop", SPLIT, "--dry-run").stdout
    assert tidemark.face.begun == []
    planned: UndropPlan = tidemark.face.plan(Undrop(SPLIT))
    tidemark.face.answers(Undrop, replace(planned, resumes=True, run=RunId("r-9")))
    done = tidemark("undrop", SPLIT)
    assert tidemark.face.begun == [Undrop(SPLIT)] and tidemark.ticks > 0
    assert (done.exit_code, done.stdout) == (0, "r-9\n")
    tidemark.face.refuses(Undrop, Conflict("decision.not_dropped", f"{SPLIT} is not dropped", "Resume it."))
    assert tidemark("undrop", SPLIT).exit_code == 5


def test_undrop_of_one_that_did_not_run_prints_nothing(tidemark: Door) -> None:
    done = tidemark("undrop", SPLIT)
    assert (done.exit_code, done.stdout) == (0, "") and "it does not run" in done.stderr


def test_compare_says_where_they_part_how_metrics_differ_and_the_state(tidemark: Door) -> None:
    shown = tidemark("compare", JOB, SPLIT).stdout
    for part in ("first difference at", "equal up to", "B is 12 % slower, between 5 and 19 %", "No difference can be told yet: 7 batches"):
        assert part in shown
    comparison = tidemark.json("compare", JOB, SPLIT)
    assert [metric["measure"] for metric in comparison["metrics"]] == ["batch_ms", "processed_rate", "state_rows", "state_bytes"]
    assert comparison["state"]["name"] == "state" and comparison["parting"]["kind"] == "changed"
