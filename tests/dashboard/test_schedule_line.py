"""A job's page says when its savepoints are taken by themselves, and sets it."""

from __future__ import annotations

from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Reason
from pipelines.domain.schedules import Attempt, Outcome, Schedule, Times
from pipelines.verbs.prune import Prune
from pipelines.verbs.schedule import SetSchedule
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace
from tests.samples import NOW_MS

JOB = "post_engagement"
HOUR_MS = 3_600_000


def test_the_line_says_when_the_next_is_and_what_is_kept(opened: Opener) -> None:
    face = FakeFace.sample()
    assert "By schedule: none" in texts(opened(face, "job", job=JOB, tab="Savepoints"))
    face.schedules = {"": Schedule(Times(cron="0 * * * *")), JOB: Schedule(keep=24)}
    face.attempts[JOB] = Attempt(NOW_MS - HOUR_MS, NOW_MS, Outcome.FAILED, code="storage.full", message="the disk is full")
    face.saved(JOB, batch=8, reason=Reason.SCHEDULED)
    shown = texts(opened(face, "job", job=JOB, tab="Savepoints"))
    assert "By schedule: every hour, next at 20" in shown and "; keeps 24" in shown
    assert "failed: the disk is full" in shown


def test_it_is_set_beside_the_workspaces(opened: Opener) -> None:
    face = FakeFace.sample()
    face.schedules = {"": Schedule(Times(every_ms=HOUR_MS), keep=24)}
    app = opened(face, "job", job=JOB, tab="Savepoints")
    app.button(key="schedule").click().run()
    assert "s: every hour" in texts(app)
    assert app.number_input(key="schedule_keep").placeholder == "24, as usual"
    app.button(key="schedule").click()
    app.button_group(key="schedule_how").set_value("Every").run()
    app.button(key="schedule").click()
    app.text_input(key="schedule_every").set_value("5s").run()
    assert "Every 5s is too often" in texts(app) and app.button(key="schedule_yes").disabled
    app.button(key="schedule").click()
    app.text_input(key="schedule_every").set_value("30m").run()
    app.button(key="schedule").click()
    app.text_input(key="schedule_blackouts").set_value("22:00-06:00; Sat,Sun 00:00-24:00").run()
    app.button(key="schedule").click()
    app.text_input(key="schedule_keep_ms").set_value("7d").run()
    assert "Then: every 30m" in texts(app)
    app.button(key="schedule").click()
    clicked(app, "schedule_yes")
    windows = ("22:00-06:00", "Sat,Sun 00:00-24:00")
    assert face.begun == [SetSchedule(JOB, every_ms=1_800_000, blackouts=windows, keep_ms=7 * 24 * HOUR_MS)]


def test_it_is_switched_off_and_given_back(opened: Opener) -> None:
    face = FakeFace.sample()
    own = Schedule(Times(cron="0 3 * * *"), "Europe/Berlin", ("22:00-06:00",), 24)
    face.schedules = {JOB: own}
    app = opened(face, "job", job=JOB, tab="Savepoints")
    for choice, change in (("Never", SetSchedule(JOB, off=True)), ("As the workspace", SetSchedule(JOB, every_ms=0))):
        app.button(key="schedule").click().run()
        app.button(key="schedule").click()
        app.button_group(key="schedule_how").set_value(choice).run()
        app.button(key="schedule").click()
        app = clicked(app, "schedule_yes")
        assert face.begun.pop() == change


def test_all_are_kept_whatever_the_workspace_keeps(opened: Opener) -> None:
    face = FakeFace.sample()
    face.schedules = {"": Schedule(Times(every_ms=HOUR_MS), keep=24), JOB: Schedule()}
    for own, ticked, change in (
        (Schedule(), True, SetSchedule(JOB, keep_all=True)),
        (Schedule(keep_all=True), False, SetSchedule(JOB, keep=0)),
    ):
        face.schedules[JOB] = own
        app = opened(face, "job", job=JOB, tab="Savepoints")
        app.button(key="schedule").click().run()
        app.button(key="schedule").click()
        app.checkbox(key="schedule_keep_all").set_value(ticked).run()
        assert f"keeps {'all' if ticked else '24'}" in texts(app)
        app.button(key="schedule").click()
        clicked(app, "schedule_yes")
        assert face.begun.pop() == change


def test_proofs_are_shown_and_set(opened: Opener) -> None:
    face = FakeFace.sample()
    face.schedules = {"": Schedule(prove_at="0 3 * * *")}
    face.proof_attempts[JOB] = Attempt(NOW_MS - HOUR_MS, NOW_MS, Outcome.PROVED, SavepointId("sp-1"))
    app = opened(face, "job", job=JOB, tab="Savepoints")
    assert "By schedule: none; proves the newest by cron 0 3 * * *" in texts(app)
    assert "next proof at 20" in texts(app) and "proved sp-1" in texts(app)
    for typed, change in (("off", SetSchedule(JOB, prove_at="off")), ("0 4 * * *", SetSchedule(JOB, prove_at="0 4 * * *"))):
        app.button(key="schedule").click().run()
        assert app.text_input(key="schedule_prove_at").placeholder == "0 3 * * *, as usual"
        app.button(key="schedule").click()
        app.text_input(key="schedule_prove_at").set_value(typed).run()
        app.button(key="schedule").click()
        app = clicked(app, "schedule_yes")
        assert face.begun.pop() == change
    app.button(key="schedule").click().run()
    assert app.text_input(key="schedule_proof_limit").placeholder == "30m, as usual"
    app.button(key="schedule").click()
    app.text_input(key="schedule_proof_limit").set_value("2h")
    app.number_input(key="schedule_proof_cpus").set_value(1).run()
    app.button(key="schedule").click()
    clicked(app, "schedule_yes")
    assert face.begun.pop() == SetSchedule(JOB, proof_limit_ms=2 * HOUR_MS, proof_cpus=1)


def test_what_is_pruned_is_shown_first(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB, tab="Savepoints")
    app.button(key="prune").click().run()
    assert "1 savepoint, which frees 4.1 kB." in texts(app) and "more than are kept, older than is kept" in texts(app)
    assert face.begun == []
    app.button(key="prune").click()
    clicked(app, "prune_yes")
    assert face.begun == [Prune(JOB)]


def test_the_workspaces_is_set_on_the_page_of_all_savepoints(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints")
    app.button(key="schedule").click().run()
    assert "Holds for every job without a schedule of its own" in texts(app) and app.button(key="schedule_yes").disabled
    app.button(key="schedule").click()
    app.button_group(key="schedule_how").set_value("By cron").run()
    app.button(key="schedule").click()
    app.text_input(key="schedule_cron").set_value("0 */6 * * *").run()
    app.button(key="schedule").click()
    clicked(app, "schedule_yes")
    assert face.begun == [SetSchedule(cron="0 */6 * * *")]
