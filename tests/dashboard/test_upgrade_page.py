"""An upgrade: what has changed is asked for, from which point, and what is refused before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dashboard import typed
from dashboard.views import upgrade
from dashboard.views.fork import drafts, editor
from pipelines.domain import verdicts
from pipelines.domain.errors import Conflict, refusal
from pipelines.domain.ids import QueryName
from pipelines.domain.probations import Probation, Terms, Way
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part
from pipelines.domain.versions import version
from pipelines.verbs.check import Check
from pipelines.verbs.resume import Resume
from pipelines.verbs.try_code import TryCode
from pipelines.verbs.upgrade import Upgrade
from tests import samples
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import FakeFace

JOB = "post_events"
ORIGINAL = version("a.py", "x = 1\n", args=("--n", "1"), conf={"spark.x": "1"})


def key(face: FakeFace) -> str:
    return f"upgrade_{JOB}_{face.runs[JOB][-1].version}"


def test_only_what_has_changed_is_asked_for() -> None:
    same = drafts.of_version(ORIGINAL, "new", "a")
    assert upgrade.changed("a", ORIGINAL, "", same) == Resume("a", check=True)
    other = drafts.Variant("new", "a", "a.py", "x = 2\n", "--n 2", "spark.x=1", "yarn", "/py", new_queries=("late",), requirements="tiny\n")
    assert upgrade.changed("a", ORIGINAL, "sp-1", other) == Resume(
        "a",
        from_savepoint="sp-1",
        code="x = 2\n",
        args=("--n", "2"),
        master="yarn",
        python="/py",
        new_queries=("late",),
        requirements="tiny\n",
        check=True,
    )


def test_no_job_teaches(opened: Opener) -> None:
    assert "No job is chosen" in texts(opened(FakeFace.sample(), "upgrade"))


def test_a_job_that_is_only_watched_is_changed_where_it_runs_or_forked(opened: Opener) -> None:
    app = opened(FakeFace.busy(), "upgrade", job="clicks")
    assert "clicks runs elsewhere" in texts(app) and "fork it" in texts(app)
    assert {"fork", "upgrade_back"} <= {button.key for button in app.button} and not app.text_area
    assert clicked(app, "fork").button(key="fork_now")


def test_nothing_changed_is_not_started(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "upgrade", job=JOB)
    assert app.button(key="upgrade_start").disabled
    assert "Nothing is changed yet" in app.button(key="upgrade_start").help


def test_a_running_job_is_stopped_for_it_in_the_same_action(opened: Opener) -> None:
    face = FakeFace.sample()
    running = "post_engagement"
    edited = f"upgrade_{running}_{face.runs[running][-1].version}"
    app = opened(face, "upgrade", job=running)
    assert "Nothing is changed yet" in app.button(key="upgrade_start").help
    assert app.selectbox(key=f"{edited}_from").options == ["Where it stands when it has stopped"]
    app.text_area(key=f"fork_args_{edited}").set_value("--fast").run()
    app.number_input(key=f"probation_batches_{edited}").set_value(3).run()
    assert f"{running} stops at its next batch boundary, with a savepoint." in texts(app)
    command = f"upgrade {running} --arg=--fast --probation-batches 3"
    assert any(command in block.value for block in app.code)
    clicked(app, "upgrade_start")
    change = Upgrade(running, args=("--fast",), probation_batches=3, check=True)
    assert face.begun == [change] and selected(app, "job") == running
    refused = refusal(Conflict("probation.no_way_back", "There would be no way back from this code", "Leave it out."))
    plan = samples.restore_plan("", running, keeps_query_id=True)
    face.plans_as(Upgrade, samples.upgrade_plan(running, replace(plan, refusal=refused)))
    app = opened(face, "upgrade", job=running)
    app.text_area(key=f"fork_args_{edited}").set_value("--fast").run()
    assert "no way back from this code" in texts(app) and app.button(key="upgrade_start").disabled


def test_the_page_of_a_running_job_leads_to_it(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "job", job="post_engagement"), "upgrade")
    assert selected(app, "job") == "post_engagement"


def test_changed_arguments_go_on_from_its_own_checkpoint(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    assert "ready to start" in texts(app)
    assert any("resume post_events --arg=--fast" in block.value for block in app.code)
    clicked(app, "upgrade_start")
    assert face.begun == [Resume(JOB, args=("--fast",), check=True)]


def test_a_probation_is_typed_shown_in_the_plan_and_asked_for(opened: Opener) -> None:
    face = FakeFace.sample()
    probation = Probation(Terms(3, None, 30_000), Way.SAVEPOINT, ORIGINAL.id)
    face.plans_as(Resume, replace(samples.restore_plan("", JOB, keeps_query_id=True), probation=probation))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    app.number_input(key=f"probation_batches_{key(face)}").set_value(3).run()
    app.text_input(key=f"probation_longest_{key(face)}").set_value("soon").run()
    assert "soon" in texts(app) and app.button(key="upgrade_start").disabled
    app.text_input(key=f"probation_longest_{key(face)}").set_value("30s").run()
    assert f"to version {ORIGINAL.id}, to the savepoint before it" in texts(app)
    app.text_input(key=f"probation_limit_{key(face)}").set_value("event_time_lag_seconds > 5m").run()
    limited = "--probation-batches 3 --longest-batch 30s --probation-limit 'event_time_lag_seconds > 5m'"
    assert any(limited in block.value for block in app.code)
    clicked(app, "upgrade_start")
    limits = ("event_time_lag_seconds > 5m",)
    change = Resume(JOB, args=("--fast",), probation_batches=3, longest_batch_ms=30_000, probation_limits=limits, check=True)
    assert face.begun == [change]


def test_typed_requirements_are_asked_for_and_shown_as_a_command(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_requirements_{key(face)}").set_value("tiny==1.0").run()
    assert any("--requirements requirements.txt" in block.value for block in app.code)
    clicked(app, "upgrade_start")
    assert face.begun == [Resume(JOB, requirements="tiny==1.0", check=True)]


def test_a_press_with_the_last_letter_counts(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    monkeypatch.setattr(editor, "code_editor", lambda *_, **__: "print('typed')\n")
    clicked(app, "upgrade_start")
    assert face.begun == [Resume(JOB, code="print('typed')\n", args=("--fast",), check=True)]


def test_changed_code_from_a_savepoint_shows_its_plan(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "new.py"
    script.write_text('counts.writeStream.queryName("counts")\nother.writeStream.queryName("late ones")\n')
    face = FakeFace.sample()
    taken = face.saved(JOB)
    app = opened(face, "upgrade", job=JOB, savepoint=taken.id)
    app.text_input(key="fork_path").set_value(str(script)).run()
    app = clicked(app, "fork_load_now")
    words = texts(app)
    for part in ("+2", "12 files, 2.0 MB", "so nothing is lost", "The code names late ones, which the savepoint does not hold"):
        assert part in words
    app.multiselect(key=f"fork_new_{key(face)}").set_value(["late ones"]).run()
    clicked(app, "upgrade_start")
    assert face.begun[-1] == Resume(JOB, from_savepoint=taken.id, code=script.read_text(), new_queries=("late ones",), check=True)


def test_the_verdict_on_its_present_state_is_asked_for_and_shown(opened: Opener) -> None:
    face = FakeFace.sample()
    saved = face.saved(JOB)
    plan = samples.restore_plan("", JOB, keeps_query_id=True)
    face.plans_as(Resume, replace(plan, judged=saved.id))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    assert "not checked yet" in texts(app) and "No savepoint stands for" not in texts(app)
    clicked(app, "fork_check")
    app = clicked(app, "fork_try")
    change, tried = face.begun
    assert isinstance(change, Check) and (change.savepoint, change.args) == (saved.id, ("--fast",))
    assert isinstance(tried, TryCode) and (tried.savepoint, tried.args) == (saved.id, ("--fast",))
    assert "2 would be written" in texts(app)
    part = Part(QueryName("events"), 0, "stateStoreSave", Outcome.NEEDS_REWRITING, ("key: k string before, nothing now",))
    face.plans_as(Resume, replace(plan, verdict=verdicts.of(saved.id, ORIGINAL.id, (part,))))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    assert "needs rewriting" in texts(app) and "key: k string before, nothing now." in texts(app)


def test_code_that_cannot_be_checked_against_the_present_state_says_so(opened: Opener) -> None:
    face = FakeFace.sample()
    face.plans_as(Resume, replace(samples.restore_plan("", JOB, keeps_query_id=True), judged=None))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    assert "No savepoint stands for" in texts(app) and "Changed too" in texts(app)


def test_state_is_migrated_and_what_is_dropped_is_accepted_by_name(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.restore_plan("", JOB, keeps_query_id=True)
    part = Part(QueryName("events"), 1, "dedupe", Outcome.PARTLY_KEPT, ("No deduplication.",), dropped=("events.1",))
    face.plans_as(Resume, replace(plan, verdict=verdicts.of(face.saved(JOB).id, ORIGINAL.id, (part,))))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    next(group for group in app.button_group if group.key == f"fork_migrate_{key(face)}").set_value("by_columns").run()
    app.checkbox(key=f"drop_{key(face)}_events.1").set_value(True).run()
    clicked(app, "upgrade_start")
    assert face.begun[-1] == Resume(JOB, args=("--fast",), migrate={"columns": ""}, drop=("events.1",), check=True)


def test_an_operator_goes_on_as_the_one_that_is_chosen(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.restore_plan("", JOB, keeps_query_id=True)
    before, now = OperatorPlan(0, "dedupe"), OperatorPlan(1, "dedupe")
    pairs = tuple(OperatorPair(QueryName("events"), *sides, is_unclear=True) for sides in ((before, None), (None, now)))
    face.plans_as(Resume, replace(plan, verdict=replace(verdicts.of(face.saved(JOB).id, ORIGINAL.id, ()), operators=pairs)))
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_args_{key(face)}").set_value("--fast").run()
    app.selectbox(key=f"map_{key(face)}_events.0").select("events.1").run()
    assert any("--map events.0=events.1" in block.value for block in app.code)
    clicked(app, "upgrade_start")
    assert face.begun[-1] == Resume(JOB, args=("--fast",), map={"events.0": "events.1"}, check=True)


def test_a_refusal_keeps_what_was_typed(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "upgrade", job=JOB)
    app.text_area(key=f"fork_confs_{key(face)}").set_value("nonsense").run()
    assert "fork.confs" in texts(app)
    assert app.button(key="upgrade_start").disabled
    assert app.text_area(key=f"fork_confs_{key(face)}").value == "nonsense"


def test_the_resume_dialog_leads_to_it(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB)
    app = answered(asked(app, "resume"), "resume", "resume_upgrade")
    assert selected(app, "job") == JOB


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('a.queryName("x")', ("x",)),
        ("a.queryName( 'x y' ).start(); b.queryName('x y')", ("x y",)),
        ("a.queryName(name)", ()),
        ("a.queryName(\"x')", ()),
    ],
)
def test_names_of_queries_are_a_hint(code: str, names: tuple[str, ...]) -> None:
    assert typed.query_names(code) == names


def test_what_is_unknown_is_as_the_driver_would_call_it() -> None:
    code = 'a.queryName("counts"); b.queryName("late ones")'
    assert drafts.unknown_queries(code, {"counts"}) == ("late ones",)
    assert drafts.unknown_queries(code, {"counts", "late ones"}) == ()
