"""Changed code on probation, without Spark: what its plan says, what is refused, and what becomes of the job when it fails."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipelines.domain import verdicts as domain_verdicts
from pipelines.domain.edges import Edge
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import Probation, Stand, Terms, Way
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import EXIT_FILE, QUERIES_FILE, RESTART_FILE, Exit, RunState
from pipelines.domain.verdicts import Outcome, Part
from pipelines.supervisor import probations
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.words import probations as words
from pipelines.workspace import resumes, returns, runs, savepoints, verdicts
from tests.workspace.conftest import CODE, House, progress_line, query_line

OTHER = CODE + "# changed\n"
UPGRADE = Resume("a", code=OTHER, probation_batches=2, longest_batch_ms=1_000)
FAILED = Exit("failed", 1, "DIVIDE_BY_ZERO", "Division by zero", 2_000_000_000_000)


def upgraded(house: House, change: Resume = UPGRADE) -> Run:
    """The run of changed code on probation, with its query up."""
    run = do(house.face, change)
    house.append(run, QUERIES_FILE, query_line(f"{run.checkpoints}/counts", str(house.face.layout.output(run.job) / "counts")))
    house.see(run, RunState.RUNNING)
    return run


def document(house: House, run: Run) -> Probation:
    probation = house.face.ask(ShowJob("a")).probation
    assert probation is not None and house.face.ask(ShowJob("a")).runs[0].id == run.id
    return probation


def fails(house: House, run: Run) -> RestartDecision:
    """What the supervisor records of it."""
    context = house.face.context
    context.files.write(house.folder(run) / EXIT_FILE, FAILED)
    decision = probations.after(context, run, FAILED, stopping=False)
    assert decision is not None
    context.files.write(house.folder(run) / RESTART_FILE, decision)
    runs.update(context, run.id, state=RunState.RESTARTING, exit=FAILED, restart=decision)
    return decision


def messages(house: House) -> list[str]:
    return [event.message for event in house.face.ask(ListEvents("a")) if "probation" in event.kind or "back" in event.kind]


def test_the_plan_says_where_it_would_go_back_to(house: House) -> None:
    before = house.ran()
    plan = house.face.plan(UPGRADE)
    assert plan.refusal is None and plan.saves == (f"the last of version {before.version}",)
    assert plan.probation == Probation(Terms(2, None, 1_000), Way.SAVEPOINT, before.version)
    saved = do(house.face, Take("a"))
    from_it = house.face.plan(replace(UPGRADE, from_savepoint=saved.id)).probation
    assert from_it is not None and (from_it.way, from_it.savepoint) == (Way.SAVEPOINT, saved.id)
    run = upgraded(house)
    assert document(house, run) == replace(plan.probation, savepoint=saved.id), "it is saved already"


def test_what_cannot_be_meant_is_refused(house: House) -> None:
    house.ran()
    for change, code in (
        (Resume("a", probation_batches=2), "probation.same_version"),
        (Resume("a", code=OTHER, longest_batch_ms=5), "probation.endless"),
    ):
        with pytest.raises(Invalid) as error:
            house.face.plan(change)
        assert error.value.code == code


def writes_to_kafka(house: House) -> Run:
    """A job that has run, whose sink cannot be cut back."""
    run = house.lay(house.begin(), state=RunState.RUNNING)
    queries = house.folder(run) / QUERIES_FILE
    queries.write_text(json.dumps({**json.loads(queries.read_text()), "sink": "kafka", "sink_path": "", "sink_table": "out"}) + "\n")
    house.see(run, RunState.STOPPED)
    return run


def test_without_a_way_back_it_is_refused_and_nothing_begins(house: House) -> None:
    run = writes_to_kafka(house)
    plan = house.face.plan(UPGRADE)
    assert plan.probation is None and plan.refusal is not None and plan.refusal.code == "probation.no_way_back"
    assert "the kafka of counts cannot be cut back, and nobody has checked" in plan.refusal.message
    with pytest.raises(type(plan.refusal.error)):
        do(house.face, UPGRADE)
    assert [ran.id for ran in house.face.ask(ShowJob("a")).runs] == [run.id] and not house.face.ask(ListSavepoints("a"))


def test_where_the_sink_keeps_all_and_the_verdict_is_same_it_goes_on_from_its_newest_batch(house: House) -> None:
    before, context = writes_to_kafka(house), house.face.context
    saved = savepoints.manifest(context, do(house.face, Take("a")).id)
    changed = resumes.plan(context, replace(UPGRADE, probation_batches=None, longest_batch_ms=None)).begins
    assert changed is not None
    same = Part("counts", 0, "stateStoreSave", Outcome.SAME, ("What is computed up to here is the same.",))
    verdicts.keep(context, saved, changed, (), domain_verdicts.of(saved.id, changed.id, (same,)), {}, {})
    plan = house.face.plan(UPGRADE).probation
    assert plan is not None and (plan.way, plan.version) == (Way.NEWEST, before.version)
    run = upgraded(house)
    fails(house, run)
    failed = runs.find(context, run.id)
    assert failed is not None
    returns.go_back(context, failed)
    newest = house.face.ask(ShowJob("a")).runs[0]
    assert (newest.version, newest.checkpoints, newest.from_savepoint) == (before.version, run.checkpoints, None)
    assert newest.edge == failed.edge == Edge(Outcome.SAME, saved.id), "the verdict holds both ways"
    assert messages(house) == [
        f"a went back to version {before.version}, on from its newest batch, because its run failed: [DIVIDE_BY_ZERO] Division by zero"
    ]


def test_a_failure_in_it_takes_the_job_back_also_in_the_next_server(house: House) -> None:
    before = house.ran()
    run = upgraded(house)
    decision = fails(house, run)
    assert (decision.back, decision.why) == (before.version, "its run failed: [DIVIDE_BY_ZERO] Division by zero")
    summary = house.face.ask(ShowJob("a")).summary
    assert (summary.state, summary.findings[0].title) == (RunState.RESTARTING, "going back")
    house.reopen()
    do(house.face, RebuildCatalog())
    probation = document(house, run)
    assert (house.face.ask(ShowJob("a")).summary.state, probation.stand) == (RunState.RESTARTING, Stand.BACK)
    failed = runs.find(house.face.context, run.id)
    assert failed is not None
    returns.go_back(house.face.context, failed)
    detail = house.face.ask(ShowJob("a"))
    newest = detail.runs[0]
    assert (newest.version, newest.from_savepoint, newest.attempt) == (before.version, probation.savepoint, 0)
    assert detail.runs[1].state is RunState.FAILED
    assert words.notice(detail) == (
        f"Went back to version {before.version}",
        f"Version {run.version} was on probation, and its run failed: [DIVIDE_BY_ZERO] Division by zero.",
    )
    origin = f"on from savepoint {probation.savepoint}, because its run failed: [DIVIDE_BY_ZERO] Division by zero"
    assert messages(house) == [f"a went back to version {before.version}, {origin}"]
    returns.go_back(house.face.context, failed)
    assert house.face.ask(ShowJob("a")).runs[0].id == newest.id, "once"


def test_after_its_batches_it_has_passed_and_a_failure_is_like_any_other(house: House) -> None:
    house.ran()
    run = upgraded(house)
    now = runs.find(house.face.context, run.id)
    assert now is not None
    watch = probations.Watch(house.face.context)
    house.progress(run, 14)
    house.see(run, RunState.RUNNING)
    assert not watch.look(now) and document(house, run).stand is Stand.WATCHED
    house.progress(run, 15)
    house.see(run, RunState.RUNNING)
    assert probations.after(house.face.context, now, FAILED, stopping=False) is None, "it failed after its two batches"
    assert document(house, run).stand is Stand.PASSED and not watch.look(now)
    assert messages(house) == [f"version {run.version} of a has passed its probation (its first 2 batches, no batch longer than 1.00 s)"]


def test_a_batch_that_takes_too_long_is_missed_once(house: House) -> None:
    house.ran()
    run = upgraded(house)
    now = runs.find(house.face.context, run.id)
    assert now is not None
    slow = {**json.loads(progress_line(14, "2026-11-20T09:00:00.000Z")), "batchDuration": 1_001}
    house.append(run, "progress.jsonl", json.dumps(slow) + "\n")
    house.see(run, RunState.RUNNING)
    watch = probations.Watch(house.face.context)
    assert watch.look(now) and not watch.look(now)
    assert document(house, run).why == "batch 14 of counts took 1,001 ms, more than 1,000 ms"


def test_a_figure_beyond_its_limit_takes_it_back(house: House) -> None:
    house.ran()
    for limit, code in (
        ("lagging", "probation.limit"),
        ("growth of state_rows in 1h > 5", "probation.limit"),
        ("happiness > 5", "alert.when"),
        ("lots", "alert.when"),
    ):
        with pytest.raises(Invalid) as error:
            house.face.plan(replace(UPGRADE, probation_limits=(limit,)))
        assert error.value.code == code
    limits = ("observed checks.bad_rows > 5", "batch_seconds_p99 > 1h", "tidemark_job_batch >= 15")
    run = upgraded(house, replace(UPGRADE, probation_batches=9, probation_limits=limits))
    assert document(house, run).terms.limits == limits
    now = runs.find(house.face.context, run.id)
    assert now is not None
    watch = probations.Watch(house.face.context)
    assert not watch.look(now), "no batch yet"
    house.progress(run, 14)
    house.see(run, RunState.RUNNING)
    assert not watch.look(now)
    house.progress(run, 15)
    house.see(run, RunState.RUNNING)
    assert watch.look(now) and document(house, run).why == "batch is 15; limit >= 15"


def refused(house: House, savepoint: SavepointId) -> str:
    """The code with which its disposal is refused; empty where it is not."""
    (outcome,) = house.face.plan(Dispose((savepoint,))).outcomes
    return outcome.refusal.code if outcome.refusal else ""


def test_the_savepoint_to_go_back_to_is_not_disposed_of_before_it_is_over(house: House) -> None:
    house.ran()
    run = upgraded(house)
    saved = document(house, run).savepoint
    assert saved is not None and refused(house, saved) == "savepoint.way_back"
    (outcome,) = do(house.face, Dispose((saved,))).outcomes
    assert outcome.refusal is not None and "the way back of a" in outcome.refusal.message and "stop a" in outcome.refusal.hint
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints("a"))] == [saved]
    fails(house, run)
    assert refused(house, saved) == "savepoint.way_back", "it goes back to it now"
    runs.update(house.face.context, run.id, state=RunState.FAILED)
    assert refused(house, saved) == ""


def test_a_stop_ends_it_and_the_savepoint_that_is_gone_is_said(house: House) -> None:
    before = house.ran()
    run = upgraded(house)
    assert probations.after(house.face.context, run, replace(FAILED, reason="stopped"), stopping=True) is None
    assert document(house, run).stand is Stand.ENDED
    house.see(run, RunState.STOPPED)
    second = upgraded(house, replace(UPGRADE, code=OTHER + "#\n"))
    fails(house, second)
    saved = document(house, second).savepoint
    assert saved is not None
    savepoints.dispose(house.face.context, saved)
    failed = runs.find(house.face.context, second.id)
    assert failed is not None
    returns.go_back(house.face.context, failed)
    newest = house.face.ask(ShowJob("a")).runs[0]
    assert (newest.id, newest.state) == (second.id, RunState.FAILED) and before.version != second.version
    assert newest.restart is not None and "Going back was refused" in newest.restart.why and newest.restart.back == run.version
    assert messages(house)[0].startswith(f"a did not go back to version {run.version}: ")
