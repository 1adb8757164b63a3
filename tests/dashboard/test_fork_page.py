"""The page of a fork: what it begins with, what it says before anything starts, what it refuses, what it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard import gallery, typed
from dashboard.views.fork import drafts, form
from pipelines.domain.errors import Conflict, Invalid, NotFound, TidemarkError, refusal
from pipelines.domain.restores import SinkPlan
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.savepoints import ReadManifest
from tests.dashboard.opening import Opener, clicked, said, selected
from tests.faces import FakeFace

SAVEPOINT = "sp-000000000002"


def draft() -> drafts.Draft:
    return drafts.begin(FakeFace.sample().ask(ReadManifest(SAVEPOINT)), {"post_engagement"})


def test_a_draft_begins_with_what_the_savepoint_has() -> None:
    first = draft().variants[0]
    assert (first.name, first.script, first.code) == ("post_engagement_fork", "post_engagement.py", "print('a')\n")
    assert first.asked() == Variant(
        name="post_engagement_fork",
        code="print('a')\n",
        script="post_engagement.py",
        args=("--out", "{output}"),
        conf={"spark.x": "1"},
        master="local[2]",
        python="",
    )


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert typed.free_name("a", {"b"}) == "a"
    assert typed.free_name("a", {"a", "a_2"}) == "a_3"
    assert typed.free_name("a", {"a_b"}, suffix="b") == "a_b_2"


def test_variants_come_and_go() -> None:
    two = draft().added(set())
    assert [(one.letter, one.name) for one in two.variants] == [("A", "post_engagement_fork"), ("B", "post_engagement_fork_b")]
    assert two.is_experiment
    assert not two.without("B").is_experiment
    assert two.without("A").added(set()).variants[1].letter == "A"
    assert draft().without("A") == draft()


@pytest.mark.parametrize(
    ("read", "text", "code"),
    [(typed.words, "--a 'b", "form.arguments"), (drafts.settings, "spark.x", "fork.confs")],
)
def test_what_cannot_be_read_is_refused(read: Callable[[str], object], text: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.code == code


def test_arguments_and_confs_are_read_as_written() -> None:
    assert typed.words("--a 'b c'\n--d") == ("--a", "b c", "--d")
    assert drafts.settings("spark.a = 1\n\n spark.b=x=y ") == {"spark.a": "1", "spark.b": "x=y"}


def test_confs_that_the_savepoint_pins_are_found() -> None:
    manifest = FakeFace.sample().ask(ReadManifest(SAVEPOINT))
    assert drafts.pinned(manifest, {"spark.sql.shuffle.partitions": "8", "spark.y": "1"}) == [("spark.sql.shuffle.partitions", "8", "4")]
    assert drafts.pinned(manifest, {"spark.sql.shuffle.partitions": "4"}) == []


def test_differences_are_counted() -> None:
    assert drafts.difference("a\nb\n--c\n", "a\nx\ny\n--c\n") == (2, 1)
    assert drafts.difference("a\n", "a\n") == (0, 0)


def test_names_that_differ_in_case_alone_are_the_same() -> None:
    first = draft().variants[0]
    assert drafts.doubled([replace(first, name="One"), replace(first, name="one "), replace(first, name="two")]) == {"One", "one "}


def test_the_gallery_has_both_versions_of_the_example() -> None:
    assert {"post_engagement.py", "post_engagement_split.py"} <= set(gallery.names())
    assert "(paid)" in gallery.from_gallery("post_engagement_split.py").code


def test_scripts_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "a.py"
    binary.write_bytes(b"\xff\xfe\x00")
    cases: list[tuple[Callable[[], object], type[TidemarkError]]] = [
        (lambda: gallery.from_gallery("../secret.py"), NotFound),
        (lambda: gallery.from_path(str(tmp_path)), NotFound),
        (lambda: gallery.from_path(str(binary)), Invalid),
    ]
    for read, kind in cases:
        with pytest.raises(kind):
            read()


def test_without_a_savepoint_one_is_chosen(opened: Opener) -> None:
    assert "Fork which savepoint?" in said(opened(FakeFace.sample(), "fork"))
    assert "There is none yet" in said(opened(FakeFace(), "fork"))


def test_the_plan_is_shown_before_anything_starts(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    words = said(app)
    for part in ("ready to start", "12 files, 2.0 MB", "4.1 kB", "a new one", "the sink&#x27;s log is carried over", "a warning"):
        assert part in words
    assert face.begun == []
    assert not app.button(key="fork_start").disabled


def test_a_fork_is_started(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_start")
    assert "post_engagement_fork" in face.runs
    assert face.runs["post_engagement_fork"][0].from_savepoint == SAVEPOINT
    assert selected(app, "job") == "post_engagement_fork"


def test_a_name_that_is_taken_cannot_be_started(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("post_events").run()
    assert app.button(key="fork_start").disabled
    assert "post_events" in app.button(key="fork_start").help
    assert "job.exists" in said(app)


def test_what_is_not_python_cannot_be_started_and_says_the_line(opened: Opener, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = (\n")
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key="fork_path").set_value(str(broken)).run()
    clicked(app, "fork_load_now")
    assert app.button(key="fork_start").disabled
    assert "Line 2" in app.button(key="fork_start").help
    clicked(app, "fork_load_original")
    assert not app.button(key="fork_start").disabled


def test_a_sink_that_is_refused_cannot_be_started(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = FakeFace._restore_plan

    def refusing(self: FakeFace, *args: object, **more: object) -> object:
        plan = whole(self, *args, **more)  # type: ignore[arg-type]
        sink = SinkPlan(plan.sinks[0].query, "parquet", "/shared", "refuse", "Two jobs on one sink")
        return replace(plan, sinks=(sink,), refusal=refusal(Conflict("restore.sink_shared", sink.message)))

    monkeypatch.setattr(FakeFace, "_restore_plan", refusing)
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    assert app.button(key="fork_start").disabled
    assert "Two jobs on one sink" in app.button(key="fork_start").help


def test_a_fresh_output_is_asked_for_per_query(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    choice = next(one for one in app.segmented_control if one.key == f"fork_sink_{SAVEPOINT}_A_counts")
    assert choice.value == "continue"
    choice.set_value("fresh").run()
    assert any("--sink counts=fresh" in one.value for one in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork)
    assert change.sinks == {"counts": "fresh"}


def test_a_refused_sink_says_what_to_change(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = FakeFace._restore_plan

    def refusing(self: FakeFace, *args: object, **more: object) -> object:
        plan = whole(self, *args, **more)  # type: ignore[arg-type]
        sink = SinkPlan(plan.sinks[0].query, "parquet", "/shared", "refuse", "Two jobs on one sink")
        return replace(plan, sinks=(sink,), refusal=refusal(Conflict("restore.sink_shared", sink.message)))

    monkeypatch.setattr(FakeFace, "_restore_plan", refusing)
    words = said(opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT))
    for part in ("refused", "Two jobs on one sink", "Choose what happens with the output above"):
        assert part in words


def test_a_query_that_the_savepoint_does_not_know_is_named(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "more.py"
    script.write_text('a.writeStream.queryName("counts")\nb.writeStream.queryName("late")\n')
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    assert not app.multiselect
    app.text_input(key="fork_path").set_value(str(script)).run()
    app = clicked(app, "fork_load_now")
    assert "The code names late, which the savepoint does not hold" in said(app)
    app.multiselect(key=f"fork_new_{SAVEPOINT}_A").set_value(["late"]).run()
    assert "The code names late" not in said(app)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork)
    assert change.new_queries == ("late",)


def test_two_variants_make_an_experiment(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_add")
    assert selected(app, "variant") == "B"
    app.text_area(key=f"fork_confs_{SAVEPOINT}_B").set_value("spark.x=2").run()
    app = clicked(app, "fork_start")
    (asked,) = face.begun
    assert isinstance(asked, StartExperiment)
    assert [(one.name, dict(one.conf or {})) for one in asked.variants] == [
        ("post_engagement_fork", {"spark.x": "1"}),
        ("post_engagement_fork_b", {"spark.x": "2"}),
    ]
    assert selected(app, "experiment").startswith("ex-")


def test_two_variants_of_one_name_are_refused(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT), "fork_add")
    app.text_input(key=f"fork_name_{SAVEPOINT}_B").set_value("post_engagement_fork").run()
    assert app.button(key="fork_start").disabled
    clicked(app, "fork_remove")
    assert not app.button(key="fork_start").disabled


def test_the_parent_can_be_compared_with(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.toggle(key=f"fork_parent_{SAVEPOINT}").set_value(True).run()
    clicked(app, "fork_start")
    assert any(isinstance(change, StartExperiment) and change.with_parent for change in face.begun)


def test_a_savepoint_that_is_gone_is_said(opened: Opener) -> None:
    assert "savepoint.not_found" in said(opened(FakeFace.sample(), "fork", savepoint="sp-gone"))


def test_a_press_with_the_last_letter_counts(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("renamed")
    monkeypatch.setattr(form, "code_editor", lambda *_, **__: "print('typed')\n")
    clicked(app, "fork_start")
    assert face.ask(ShowVersion(face.runs["renamed"][0].version)).code == "print('typed')\n"
    assert selected(app, "job") == "renamed"


def test_a_press_with_what_is_refused_starts_nothing(opened: Opener) -> None:
    face = FakeFace.sample()
    before = {job: len(runs) for job, runs in face.runs.items()}
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("post_events")
    clicked(app, "fork_start")
    assert {job: len(runs) for job, runs in face.runs.items()} == before
    assert app.button(key="fork_start").disabled and "job.exists" in said(app)


def test_a_variant_is_added_with_the_last_letter(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("renamed")
    clicked(app, "fork_add")
    assert selected(app, "variant") == "B"
    assert app.session_state[f"draft_{SAVEPOINT}"].variants[0].name == "renamed"
