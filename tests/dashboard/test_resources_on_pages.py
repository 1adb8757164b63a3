"""Limits on memory and processors on pages: the dialog of a job, the forms of what begins, and what settings say holds them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.typed import Limits
from pipelines.domain.errors import NotFound
from pipelines.domain.resources import ALL, Means, Resources
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resources import SetResources
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from tests import samples
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace

JOB, STOPPED, SAVEPOINT = "post_engagement", "post_events", "sp-000000000002"
OWN = Resources(2 * 2**30, 1.5)


def limited(job: str, own: Resources = OWN) -> FakeFace:
    """The sample, where the job has limits, and a plan says what holds them."""
    face = FakeFace.sample()
    may_take(face, job, own)
    for kind, name, savepoint in ((Fork, f"{job}_fork", SAVEPOINT), (Resume, job, "")):
        plan = samples.restore_plan(savepoint, name, keeps_query_id=kind is Resume)
        face.plans_as(kind, replace(plan, resources=own, means=Means.SUPERVISOR))
    return face


def may_take(face: FakeFace, job: str, own: Resources) -> None:
    detail = face.ask(ShowJob(job))
    face.answers(ShowJob(job), replace(detail, summary=replace(detail.summary, job=replace(detail.summary.job, resources=own))))


def upgrade_key(face: FakeFace) -> str:
    return f"fork_upgrade_{STOPPED}_{face.runs[STOPPED][-1].version}"


def test_the_dialog_sets_what_differs(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    app.button(key="resources").click().run()
    assert app.button(key="resources_set_yes").disabled and "Held by the supervisor" in texts(app)
    app.button(key="resources").click()
    app.text_input(key="resources_memory").set_value("1.5g").run()
    app.button(key="resources").click()
    app.button(key="resources_set_yes").click().run()
    assert face.begun == [SetResources(JOB, memory_bytes=3 * 2**29)]


@pytest.mark.parametrize(
    ("field", "text", "words"), [("memory", "100m", "too little"), ("memory", "x", "no size"), ("cpus", "x", "no number")]
)
def test_what_cannot_be_is_said(opened: Opener, field: str, text: str, words: str) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB)
    app.button(key="resources").click().run()
    app.button(key="resources").click()
    app.text_input(key=f"resources_{field}").set_value(text).run()
    assert words in texts(app) and app.button(key="resources_set_yes").disabled


def test_a_new_job_begins_with_its_limits(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "new_job", source="Gallery")
    app.text_input(key="new_0_memory").set_value("2g")
    app.text_input(key="new_0_cpus").set_value("1.5").run()
    app.button(key="start").click().run()
    (begun,) = face.begun
    assert isinstance(begun, RunScript) and (begun.memory_bytes, begun.cpus) == (2 * 2**30, 1.5)


@pytest.mark.parametrize(
    ("memory", "cpus", "differing"),
    [
        ("2g", "1.5", (None, None)),
        (" 2048m ", "1.50", (None, None)),
        ("3g", "1.5", (3 * 2**30, None)),
        ("", "", (0, 0.0)),
        ("2g", "0", (None, 0.0)),
    ],
)
def test_what_is_the_same_in_other_words_does_not_differ(memory: str, cpus: str, differing: tuple[int | None, float | None]) -> None:
    assert Limits(memory, cpus).differing(OWN) == differing


@pytest.mark.parametrize("own", [ALL, OWN, Resources(3 * 2**29, 2.0), Resources(2**30 + 1, 1.23456789)])
def test_limits_are_typed_as_they_are_read(own: Resources) -> None:
    assert Limits.of(own).differing(own) == (None, None)


def test_a_fork_begins_with_the_limits_of_its_parent(opened: Opener) -> None:
    """What stays is not sent; an emptied field takes the limit away; the plan says what holds the job."""
    face = limited(JOB)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    memory, cpus = (app.text_input(key=f"fork_{SAVEPOINT}_A_{field}") for field in ("memory", "cpus"))
    assert (memory.value, cpus.value) == ("2g", "1.5") and "2 GiB of memory, 1.5 processors: held by the supervisor" in texts(app)
    assert not any("--memory" in block.value or "--cpus" in block.value for block in app.code)
    memory.set_value("3g")
    cpus.set_value("").run()
    assert any("--memory 3g --cpus 0" in block.value for block in app.code), [block.value for block in app.code]
    assert any('"memory_bytes": 3221225472, "cpus": 0.0' in block.value for block in app.code), [block.value for block in app.code]
    clicked(app, "fork_start")
    (begun,) = face.begun
    assert isinstance(begun, Fork) and (begun.memory_bytes, begun.cpus) == (3 * 2**30, 0.0)


def test_a_fork_as_its_parent_is_sends_no_limits(opened: Opener) -> None:
    face = limited(JOB)
    clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_start")
    (begun,) = face.begun
    assert isinstance(begun, Fork) and (begun.memory_bytes, begun.cpus) == (None, None)


def test_a_draft_follows_its_parent_but_for_what_was_typed(opened: Opener) -> None:
    """Somebody changes the parent's limits while the draft lies there."""
    app = opened(limited(JOB), "fork", savepoint=SAVEPOINT)
    draft = app.session_state[f"draft_{SAVEPOINT}"]
    assert draft.inheriting(ALL).variants[0].limits == Limits()
    typed = draft.changed(replace(draft.variants[0], limits=Limits("4g", "1.5"))).inheriting(ALL).variants[0]
    assert (typed.limits, typed.asked().memory_bytes, typed.asked().cpus) == (Limits("4g", "1.5"), 2**32, 1.5)


def test_a_fork_of_a_job_that_is_gone_begins_without_limits(opened: Opener) -> None:
    face = FakeFace.sample()
    face.answers(ShowJob(JOB), NotFound("job.not_found", f"there is no job {JOB!r}", "List them."))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    assert app.text_input(key=f"fork_{SAVEPOINT}_A_memory").value == "" and "ready to start" in texts(app)


def test_limits_of_a_fork_that_cannot_be_read_are_said(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_{SAVEPOINT}_A_memory").set_value("much").run()
    assert "resources.size" in texts(app) and app.button(key="fork_start").disabled


def test_an_upgrade_changes_the_limits_of_its_job(opened: Opener) -> None:
    face = limited(STOPPED)
    app = opened(face, "upgrade", job=STOPPED)
    memory = app.text_input(key=f"{upgrade_key(face)}_memory")
    assert memory.value == "2g" and "Nothing is changed yet" in app.button(key="upgrade_start").help
    memory.set_value("1536m").run()
    assert "held by the supervisor" in texts(app) and any("resume post_events --memory 1536m" in block.value for block in app.code)
    clicked(app, "upgrade_start")
    assert face.begun == [Resume(STOPPED, memory_bytes=3 * 2**29, check=True)]


def test_settings_say_what_holds_jobs(opened: Opener) -> None:
    assert "Limits of jobs are held" in texts(opened(FakeFace.sample(), "settings"))
