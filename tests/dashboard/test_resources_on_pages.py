"""Limits on memory and processors on pages: the dialog of a job, the form of a new one, and what settings say holds them."""

from __future__ import annotations

import pytest

from pipelines.verbs.resources import SetResources
from pipelines.verbs.run import RunScript
from tests.dashboard.opening import Opener, said
from tests.faces import FakeFace

JOB = "post_engagement"


def test_the_dialog_sets_what_differs(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    app.button(key="resources").click().run()
    assert app.button(key="resources_set_yes").disabled and "Held by the supervisor" in said(app)
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
    assert words in said(app) and app.button(key="resources_set_yes").disabled


def test_a_new_job_begins_with_its_limits(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "new_job", source="Gallery")
    app.text_input(key="new_0_memory").set_value("2g")
    app.text_input(key="new_0_cpus").set_value("1.5").run()
    app.button(key="start").click().run()
    (begun,) = face.begun
    assert isinstance(begun, RunScript) and (begun.memory_bytes, begun.cpus) == (2 * 2**30, 1.5)


def test_settings_say_what_holds_jobs(opened: Opener) -> None:
    assert "Limits of jobs are held" in said(opened(FakeFace.sample(), "settings"))
