"""The box that has Spark's event log kept: on the form of a new job, of a fork, of an upgrade."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views.fork import confs, drafts
from pipelines.domain.event_logs import ENABLED, is_on
from pipelines.domain.versions import version
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from tests.dashboard.opening import Opener, clicked
from tests.faces import FakeFace

JOB, SAVEPOINT = "post_events", "sp-000000000002"


def of_parent(conf: dict[str, str]) -> FakeFace:
    """The sample, whose savepoint was taken of a version with these confs."""
    face = FakeFace.sample()
    manifest = face.ask(ReadManifest(SAVEPOINT))
    face.answers(ReadManifest(SAVEPOINT), replace(manifest, version=replace(manifest.version, conf=conf)))
    return face


def is_shown(app: AppTest, value: str) -> bool:
    """Whether the command and the call have the conf so."""
    command, call = f"--conf {ENABLED}={value}", f'"{ENABLED}": "{value}"'
    return all(any(text in block.value for block in app.code) for text in (command, call))


def test_a_new_job_keeps_it_where_that_is_ticked(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    box = app.checkbox(key="new_event_log_0")
    assert not box.value and "100 MB a run" in box.help
    box.check().run()
    assert is_shown(app, "true")
    clicked(app, "start")
    (begun,) = face.begun
    assert isinstance(begun, RunScript) and begun.conf == {ENABLED: "true"}


def test_a_fork_keeps_it_where_that_is_ticked(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    box = app.checkbox(key=f"fork_event_log_{SAVEPOINT}_A")
    assert not box.value and "100 MB a run" in box.help
    box.check().run()
    assert is_shown(app, "true")
    clicked(app, "fork_start")
    (begun,) = face.begun
    assert isinstance(begun, Fork) and begun.conf == {"spark.x": "1", ENABLED: "true"}


def test_a_fork_begins_as_its_parent_and_says_so_where_it_is_not_kept(opened: Opener) -> None:
    """A command adds confs to those of the savepoint: to leave one out would leave it as it was."""
    face = of_parent({"spark.x": "1", ENABLED: "true"})
    app = opened(face, "fork", savepoint=SAVEPOINT)
    box = app.checkbox(key=f"fork_event_log_{SAVEPOINT}_A")
    assert box.value and app.text_area(key=f"fork_confs_{SAVEPOINT}_A").value == "spark.x=1"
    assert not any(ENABLED in block.value for block in app.code)
    box.uncheck().run()
    assert is_shown(app, "false")
    clicked(app, "fork_start")
    (begun,) = face.begun
    assert isinstance(begun, Fork) and begun.conf == {"spark.x": "1", ENABLED: "false"}


@pytest.mark.parametrize("value", ["", "true", "TRUE", "false"])
def test_a_box_that_stands_as_it_began_changes_nothing(value: str) -> None:
    conf = {"spark.x": "1", **({ENABLED: value} if value else {})}
    variant = drafts.of_version(version("a.py", "x = 1\n", conf=conf), "A", "a")
    same = replace(variant, event_log=confs.said_of_event_log(conf, is_on(variant.event_log)))
    assert same.asked().conf == conf and same.confs == "spark.x=1"


def test_an_upgrade_keeps_it_where_that_is_ticked(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "upgrade", job=JOB)
    key = f"fork_event_log_upgrade_{JOB}_{face.runs[JOB][-1].version}"
    app.checkbox(key=key).check().run()
    assert is_shown(app, "true")
    app.checkbox(key=key).uncheck().run()
    assert "Nothing is changed yet" in app.button(key="upgrade_start").help
    app.checkbox(key=key).check().run()
    clicked(app, "upgrade_start")
    assert face.begun == [Resume(JOB, conf={ENABLED: "true"}, check=True)]


def test_what_is_ticked_counts_more_than_what_is_typed() -> None:
    typed = drafts.of_version(version("a.py", "x = 1\n", conf={ENABLED: "true"}), "A", "a")
    assert replace(typed, confs=f"{ENABLED}=false").asked().conf == {ENABLED: "true"}
