"""Several jobs stopped or resumed by one command: a line a job, and the exit code of the first that was refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import VersionId
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import Exit, RunState
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume, ResumeJobs
from pipelines.verbs.stop import Stop, StopJobs
from tests import samples
from tests.changes import RUN
from tests.cli.doors import Door
from tests.faces import NOW_MS

JOB, OTHER, SPLIT = "post_engagement", "post_events", "post_engagement_split"
SAVED = "sp-000000000003"


def test_each_that_stops_has_a_line_with_its_savepoint(tidemark: Door) -> None:
    done = tidemark("stop", JOB, OTHER, "--label", "night")
    assert tidemark.face.begun == [StopJobs((JOB, OTHER), label="night")]
    assert (done.exit_code, done.stderr) == (0, "stopped 2 jobs\n")
    assert done.stdout == f"{JOB} {tidemark.face.savepoints_by_id[SAVED].path}\n", "post_events has none"
    outcomes = tidemark.json("stop", JOB, OTHER)["outcomes"]
    assert [(outcome["job"], outcome["operation"]["state"], outcome["operation"]["result"]) for outcome in outcomes] == [
        (JOB, "done", SAVED),
        (OTHER, "done", ""),
    ]


def test_one_that_is_refused_holds_back_no_other_and_says_so_by_the_exit_code(tidemark: Door) -> None:
    done = tidemark("stop", "none", JOB)
    assert done.exit_code == 3 and done.stdout.startswith(f"{JOB} ")
    assert done.stderr.splitlines()[:2] == ["stopped 1 of 2 jobs", "none: There is no job none"]
    assert "error: There is no job none" in done.stderr
    as_json = tidemark("stop", "none", JOB, "--json")
    assert [outcome["refusal"] and outcome["refusal"]["code"] for outcome in json.loads(as_json.stdout)["outcomes"]] == [
        "job.not_found",
        None,
    ]


def test_a_stop_that_fails_later_counts_as_one_that_was_refused(tidemark: Door) -> None:
    begun = tidemark.face.plan(StopJobs((JOB, OTHER)))
    tidemark.face.answers(StopJobs, lambda change: failing(tidemark))
    assert begun.outcomes[0].refusal is None
    done = tidemark("stop", JOB, OTHER)
    assert (done.exit_code, done.stdout) == (9, "") and f"{JOB}: The store is away" in done.stderr


def failing(tidemark: Door) -> object:
    planned = tidemark.face.plan(StopJobs((JOB, OTHER)))
    running = samples.ended("op-1", "stop", JOB)
    failed = samples.failed(running, Unavailable("storage.away", "The store is away", "Wait."))
    first, second = planned.outcomes
    tidemark.face.under_way(failed)
    tidemark.face.under_way(samples.ended("op-2", "stop", OTHER))
    return replace(planned, outcomes=(replace(first, operation=failed), replace(second, operation=tidemark.face.now["op-2"])))


def test_all_are_waited_for_no_longer_than_the_limit(tidemark: Door) -> None:
    tidemark.face.answers(StopJobs, lambda change: endless(tidemark))
    done = tidemark("stop", JOB, OTHER, "--timeout", "5")
    assert done.exit_code == 9 and 5 <= tidemark.waited < 7, "both together"
    assert "stopped 0 of 2 jobs" in done.stderr


def endless(tidemark: Door) -> object:
    planned = tidemark.face.plan(StopJobs((JOB, OTHER)))
    running = [
        replace(samples.ended(f"op-{outcome.job}", "stop", outcome.job), state=OperationState.RUNNING) for outcome in planned.outcomes
    ]
    for operation in running:
        tidemark.face.under_way(operation)
    outcomes = [replace(outcome, operation=operation) for outcome, operation in zip(planned.outcomes, running, strict=True)]
    return replace(planned, outcomes=tuple(outcomes))


def test_several_are_cancelled(tidemark: Door) -> None:
    assert tidemark("cancel", JOB, OTHER).stderr == "cancelled 2 jobs\n"
    assert tidemark.face.begun == [StopJobs((JOB, OTHER), savepoint=False, at_once=True)]


def test_the_plan_has_that_of_each_and_ends_as_the_real_one(tidemark: Door) -> None:
    shown = tidemark("stop", JOB, "none", "--dry-run")
    assert shown.exit_code == 3 and tidemark.face.begun == []
    first, second = shown.stdout.split("\n\n")
    assert JOB in first and second.splitlines()[1].split(maxsplit=1) == ["refused", "There is no job none"]
    both = tidemark.json("resume", OTHER, SPLIT, "--dry-run")["outcomes"]
    assert [outcome["plan"]["job"] for outcome in both] == [OTHER, SPLIT]


def test_each_that_is_resumed_has_a_line_with_its_run(tidemark: Door) -> None:
    done = tidemark("resume", OTHER, "none", SPLIT, "--force")
    assert tidemark.face.begun == [ResumeJobs((OTHER, "none", SPLIT), force=True)]
    assert (done.exit_code, done.stdout) == (3, f"{OTHER} {RUN}\n{SPLIT} {RUN}\n")
    assert done.stderr.splitlines()[0] == "resumed 2 of 3 jobs"


def test_a_run_that_fails_while_it_is_waited_for_counts_as_one_that_was_refused(tidemark: Door) -> None:
    up = samples.run(RUN, OTHER, VersionId("v-1"), RunState.RUNNING, "")
    failed = samples.run(RUN, SPLIT, VersionId("v-1"), RunState.FAILED, "")
    for run in (up, failed):
        detail = tidemark.face.ask(ShowJob(run.job))
        ending = replace(run, exit=Exit("failed", 1, "HEAP", "too little", NOW_MS)) if run is failed else run
        tidemark.face.answers(ShowJob(run.job), replace(detail, runs=(ending,)))
    done = tidemark("resume", OTHER, SPLIT, "--wait")
    assert done.exit_code == 1 and f"{SPLIT} is failed: HEAP too little" in done.stderr


@pytest.mark.parametrize("words", [("--batch", "7"), ("--conf", "a=b"), ("--from", SAVED)], ids=" ".join)
def test_several_are_resumed_as_they_were(tidemark: Door, words: tuple[str, ...]) -> None:
    refused = tidemark("resume", OTHER, SPLIT, *words)
    assert refused.exit_code == 2 and "resumed as they were" in " ".join(refused.stderr.split()) and tidemark.face.begun == []


def test_one_is_what_it_was(tidemark: Door) -> None:
    tidemark("stop", JOB)
    tidemark("resume", OTHER)
    assert tidemark.face.begun == [Stop(JOB), Resume(OTHER, check=True)]
