"""Several jobs at once on the overview: ticked ones are named, all is planned before, and what was refused is said and stays ticked."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import Conflict, Refusal, refusal
from pipelines.verbs.resume import ResumeJobs
from pipelines.verbs.stop import StopJobs
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import FakeFace

JOB, OTHER, SPLIT = "post_engagement", "post_events", "post_engagement_split"
BUSY = Conflict("job.not_running", f"Job {OTHER} is not running", "Resume it first")


def refused(face: FakeFace, kind: type[StopJobs] | type[ResumeJobs], job: str, error: Refusal) -> None:
    """The plan, and what comes of it, with the refusal of one job."""
    planned = face.plan(kind((JOB, OTHER, SPLIT)))

    def outcomes(change: StopJobs | ResumeJobs) -> object:
        chosen = [outcome for outcome in planned.outcomes if outcome.job in change.jobs]
        return replace(
            planned, outcomes=tuple(replace(outcome, plan=None, refusal=error) if outcome.job == job else outcome for outcome in chosen)
        )

    face.plans_as(kind, outcomes)
    face.answers(kind, outcomes)


def test_none_ticked_has_no_bar_and_those_ticked_are_named(opened: Opener) -> None:
    face = FakeFace.sample()
    assert "jobs_stop" not in [button.key for button in opened(face, "overview").button]
    app = opened(face, "overview", jobs=f"{JOB},none,{OTHER}")
    assert "<strong>2 jobs</strong>" in texts(app)
    app = clicked(app, "jobs_none")
    assert selected(app, "jobs") == "" and "jobs_stop" not in [button.key for button in app.button]


def test_several_are_stopped_with_the_plan_of_each_before(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "overview", jobs=f"{JOB},{SPLIT}"), "jobs_stop", jobs_stop_label="night")
    words = texts(app)
    for part in (JOB, SPLIT, "then a savepoint is taken", f"stop {JOB} {SPLIT} --label night"):
        assert part in words + "".join(str(block.value) for block in app.code)
    assert face.begun == []
    app = answered(app, "jobs_stop", "jobs_stop_yes")
    assert face.begun == [StopJobs((JOB, SPLIT), label="night")] and selected(app, "jobs") == ""


def test_one_that_is_refused_holds_back_no_other_and_stays_ticked(opened: Opener) -> None:
    face = FakeFace.sample()
    refused(face, StopJobs, OTHER, refusal(BUSY))
    app = clicked(opened(face, "overview", jobs=f"{JOB},{OTHER}"), "jobs_stop")
    assert f"{OTHER} stays as it is" in texts(app) and "job.not_running" in texts(app)
    assert app.button(key="jobs_stop_yes").label == "Stop 1"
    app = answered(app, "jobs_stop", "jobs_stop_yes")
    assert face.begun == [StopJobs((JOB, OTHER))]
    assert selected(app, "jobs") == OTHER and f"{OTHER} was not stopped" in texts(app)
    assert f"{OTHER} was not stopped" not in texts(clicked(app, "jobs_refused_away"))


def test_several_are_resumed_with_the_plan_of_each_before(opened: Opener) -> None:
    face = FakeFace.sample()
    refused(face, ResumeJobs, JOB, refusal(Conflict("job.running", f"Job {JOB} runs", "Stop it.")))
    app = clicked(opened(face, "overview", jobs=f"{JOB},{OTHER},{SPLIT}"), "jobs_resume")
    words = texts(app)
    assert f"{JOB} stays as it is" in words and "Query id" in words
    assert [expander.label.partition(":")[0] for expander in app.expander if ":" in expander.label] == [OTHER, SPLIT]
    app = answered(app, "jobs_resume", "jobs_resume_yes")
    assert face.begun == [ResumeJobs((JOB, OTHER, SPLIT))] and selected(app, "jobs") == JOB


def test_none_that_can_be_stopped_leaves_nothing_to_agree_to(opened: Opener) -> None:
    face = FakeFace.sample()
    refused(face, StopJobs, OTHER, refusal(BUSY))
    app = clicked(opened(face, "overview", jobs=OTHER), "jobs_stop")
    assert app.button(key="jobs_stop_yes").disabled
