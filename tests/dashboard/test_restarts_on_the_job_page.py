"""Restarts on a job's page: a job that waits for one, a poison batch with its ways on, every failure, the dialog of the strategy."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.ids import QueryName, RunId, VersionId
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.restarts import FailedBatch, RestartDecision, SourceSpan
from pipelines.domain.runs import Exit, RunState
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from tests.dashboard.opening import Opener, answered, asked, clicked, column, texts
from tests.faces import NOW_MS, FakeFace, judged

JOB = "post_engagement"
BATCH = FailedBatch(
    QueryName("counts"), 7, (SourceSpan("FileStreamSource", '{"logOffset":6}', '{"logOffset":7}', 1, "files", ("file:/in/007.json",)),)
)
WHY = Exit("failed", 1, "CAST_INVALID_INPUT", "query counts: [CAST_INVALID_INPUT] The value 'seven' is no INT", NOW_MS - 10_000, "counts")


def failed(decision: RestartDecision, state: RunState, attempt: int = 2) -> FakeFace:
    """The sample, whose running job has failed like this."""
    face = FakeFace.sample()
    detail = face.ask(ShowJob(JOB))
    run = replace(detail.runs[0], state=state, exit=WHY, ended_ms=WHY.at_ms, attempt=attempt, restart=decision)
    restarted = RestartDecision(NOW_MS - 60_000, attempt, batch=BATCH)
    before = replace(run, id=RunId("r-before"), state=RunState.FAILED, attempt=attempt - 1, restart=restarted)
    summary = judged(replace(detail.summary, state=state, run=run))
    face.answers(ShowJob, lambda question: replace(detail, summary=summary, runs=(run, before)))
    return face


def test_a_job_that_waits_for_its_restart(opened: Opener) -> None:
    face = failed(RestartDecision(NOW_MS + 40_000, 3, 5, 40_000, batch=BATCH), RunState.RESTARTING)
    app = opened(face, "job", job=JOB)
    words = texts(app)
    assert "Restarting in 40.0 s" in words
    assert "attempt 3 of 5. [CAST_INVALID_INPUT] The value" in words
    assert "The job restarts by itself from its checkpoint" in words
    assert {"Stop", "Resume"} <= {button.label for button in app.button}


def test_a_job_that_goes_back_and_one_that_went_back_say_why(opened: Opener) -> None:
    why = "batch 7 of counts failed: CAST_INVALID_INPUT"
    back = RestartDecision(NOW_MS, why=why, batch=BATCH, back=VersionId("v-old"))
    words = texts(opened(failed(back, RunState.RESTARTING, 0), "job", job=JOB))
    assert "Going back" in words and f"goes back to version v-old: {why}" in words
    refused = replace(back, at_ms=None, why=f"{why}. Going back was refused: it is gone")
    assert "did not go back to version v-old" in texts(opened(failed(refused, RunState.FAILED, 0), "job", job=JOB))
    face = failed(back, RunState.FAILED, 0)
    detail = face.ask(ShowJob(JOB))
    newest = replace(detail.runs[0], id=RunId("r-back"), version=VersionId("v-old"), state=RunState.RUNNING, exit=None, restart=None)
    summary = judged(replace(detail.summary, state=RunState.RUNNING, run=newest))
    face.answers(ShowJob, lambda question: replace(detail, summary=summary, runs=(newest, *detail.runs)))
    words = texts(opened(face, "job", job=JOB))
    assert "Went back to version v-old" in words and f"was on probation, and {why}." in words


def test_a_poison_batch_is_named_with_what_it_reads_and_the_ways_on(opened: Opener) -> None:
    decision = RestartDecision(None, why="it failed at the same batch 3 times in a row", batch=BATCH, poison=3)
    app = opened(failed(decision, RunState.FAILED), "job", job=JOB)
    words = texts(app)
    assert "Poison batch: counts failed 3 times in a row at batch 7" in words
    assert "entry 6 of the file log → entry 7 of the file log, 1 file" in words and "file:/in/007.json" in words
    assert "leave the whole batch out" in words and "Poison batch</span>" in words
    assert app.button(key="resume").proto.type == "secondary", "resumed unchanged it does this batch again"
    assert {"Fork with changed code…", "Resume with changed code…"} <= {button.label for button in app.button}
    assert "Fork post_engagement" in texts(clicked(app, "poison_fork")) or app.button(key="fork_now")


def test_a_poison_batch_that_is_its_querys_first_offers_what_works(opened: Opener) -> None:
    decision = RestartDecision(None, why="it failed", batch=FailedBatch(QueryName("counts"), 0), poison=3)
    app = opened(failed(decision, RunState.FAILED), "job", job=JOB)
    assert "no state before it to fork or to go on from" in texts(app) and "leave the whole batch out" not in texts(app)
    offered = {button.key: button.proto.type for button in app.button if str(button.key).startswith("poison_")}
    assert offered == {"poison_upgrade": "primary"}


def test_the_input_rows_of_a_poison_batch_are_read_when_they_are_asked_for(opened: Opener) -> None:
    face = failed(RestartDecision(None, why="it failed", batch=BATCH, poison=3), RunState.FAILED)
    app = opened(face, "job", job=JOB)
    assert face.begun == []
    app = clicked(app, "input_rows_read")
    assert face.begun == [ReadInputRows(JOB)]
    assert "2 rows, the batch has more; 1 value cut after 500 characters" in texts(app)
    assert "a socket gives no row twice" in texts(app)
    assert list(app.dataframe[0].value["value"]) == ["seven", None]


def test_a_poison_batch_is_left_out_after_its_plan_was_shown(opened: Opener) -> None:
    face = failed(RestartDecision(None, why="it failed", batch=BATCH, poison=3), RunState.FAILED)
    app = asked(opened(face, "job", job=JOB), "poison_past")
    assert "as if its input had not been there" in texts(app)
    answered(app, "poison_past", "rewind_yes")
    assert face.begun == [Resume(JOB, past_batch=True)]


def test_every_failure_is_listed_with_its_cause_and_what_came_of_it(opened: Opener) -> None:
    decision = RestartDecision(None, most=1, why="it was restarted once", batch=BATCH)
    app = opened(failed(decision, RunState.FAILED, 1), "job", job=JOB, tab="Configuration")
    assert "It is not restarted any more: it was restarted once." in texts(app)
    assert column(app, "restarts", "Began") == ["restart 1", "by hand"]
    assert column(app, "restarts", "Cause") == ["CAST_INVALID_INPUT"] * 2
    assert column(app, "restarts", "At batch") == ["7", "7"]
    assert column(app, "restarts", "Then") == ["not restarted: it was restarted once", "restarted, attempt 1"]


def test_the_dialog_begins_with_the_strategy_as_it_is_and_asks_for_its_options(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    app.button(key="restart_strategy_ask").click().run()
    assert "usual" in str(app.selectbox(key="restart_strategy").value)
    app.button(key="restart_strategy_ask").click()
    app.selectbox(key="restart_strategy").set_value(Strategy.FIXED_DELAY).run()
    app.button(key="restart_strategy_ask").click()
    app.text_input(key="restart_fixed-delay_attempts").set_value("three").run()
    assert "That is no number" in texts(app) and app.button(key="restart_strategy_set_yes").disabled
    app.button(key="restart_strategy_ask").click()
    app.text_input(key="restart_fixed-delay_attempts").set_value("3").run()
    app.button(key="restart_strategy_ask").click()
    app.text_input(key="restart_fixed-delay_delay_ms").set_value("10s").run()
    app.button(key="restart_strategy_ask").click()
    clicked(app, "restart_strategy_set_yes")
    assert face.begun == [SetRestartStrategy(JOB, Strategy.FIXED_DELAY, attempts=3, delay_ms=10_000)]
