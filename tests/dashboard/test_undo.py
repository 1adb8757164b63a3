"""What can be taken back is not asked about: a notice says what was done, and its button puts things as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session, undo
from dashboard.views.fork import drafts
from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Operation, OperationState
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.face import do
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest
from pipelines.verbs.stop import Stop
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, agreed, answered, asked, clicked, selected, texts
from tests.faces import NOW_MS, FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"
JOB, SPLIT = "post_engagement", "post_engagement_split"
UNTIL_MS = 1_900_000_000_000


def notice(app: AppTest) -> str:
    """What the notice says; empty where there is none."""
    return next((str(element.proto.body) for element in app.get("html") if 'data-testid="undo"' in str(element.proto.body)), "")


def labelled(app: AppTest, label: str) -> AppTest:
    """The page of one savepoint after its label was changed in place."""
    app = clicked(app, "annotate_catalog")
    app.text_input(key=f"annotation_{FIRST}_label").set_value(label)
    return clicked(app, f"annotation_{FIRST}_save")


def noted() -> FakeFace:
    """The sample, where what is said of savepoints is there afterwards."""
    return follow(FakeFace.sample(), Annotate)


def working() -> FakeFace:
    """The sample with a variant that runs; jobs stop, are dropped, and go on."""
    face = follow(FakeFace.sample(), Stop, Resume, Drop, Undrop)
    face.began(SPLIT, face.versions[face.runs[SPLIT][-1].version])
    return face


def words(face: FakeFace) -> dict[str, tuple[str, str, int | None]]:
    return {savepoint.id: (savepoint.label, savepoint.note, savepoint.best_before_ms) for savepoint in face.ask(ListSavepoints())}


def test_what_was_said_of_a_savepoint_comes_back(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Annotate)
    do(face, Annotate(FIRST, note="why", best_before_ms=UNTIL_MS))
    before = words(face)
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "annotate_catalog")
    place = f"annotation_{FIRST}"
    app.text_input(key=f"{place}_label").set_value("renamed")
    app.text_area(key=f"{place}_note").set_value("")
    app.date_input(key=f"{place}_until").set_value(None)
    app = clicked(app, f"{place}_save")
    assert words(face)[FIRST] == ("renamed", "", None)
    assert "Label, note and best-before date of sp-00000000 changed" in notice(app) and 'role="status"' in notice(app)
    app = clicked(app, "undo")
    assert words(face) == before
    assert face.begun[-1] == Annotate(FIRST, "before ads", "why", UNTIL_MS)
    assert "as before" in notice(app) and "before ads" in texts(app)
    assert "undo" not in [button.key for button in app.button]


def test_each_of_several_gets_its_own_words_back(opened: Opener) -> None:
    face = noted()
    before = words(face)
    assert before[FIRST] != before[SECOND]
    app = asked(opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_label", bulk_label_text="audit")
    app = answered(app, "bulk_label", "bulk_label_yes")
    assert "Label of 2 savepoints changed" in notice(app)
    app = clicked(app, "undo")
    assert words(face) == before
    assert "Label of 2 savepoints as before" in notice(app)


def test_what_somebody_wrote_meanwhile_stays(opened: Opener) -> None:
    face = noted()
    app = asked(opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_label", bulk_label_text="audit")
    app = answered(app, "bulk_label", "bulk_label_yes")
    do(face, Annotate(FIRST, note="of somebody else"))
    app = clicked(app, "undo")
    assert words(face)[FIRST] == ("audit", "of somebody else", None) and words(face)[SECOND][0] == ""
    assert "1 of 2 are as before. sp-00000000 was annotated again meanwhile" in notice(app)


def test_one_that_is_gone_is_said_until_it_is_put_away(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = noted()
    app = labelled(opened(face, "savepoints", savepoint=FIRST), "renamed")
    del face.savepoints_by_id[FIRST]
    monkeypatch.setattr(undo, "SAID_MS", -1)
    app = clicked(app, "undo")
    assert "savepoint.not_found" in notice(app) and 'role="alert"' in notice(app)
    app.run()
    assert "savepoint.not_found" in notice(app)
    assert notice(clicked(app, "undo_away")) == ""


def test_what_changes_nothing_has_nothing_to_undo(opened: Opener) -> None:
    assert notice(labelled(opened(FakeFace.sample(), "savepoints", savepoint=FIRST), " before ads ")) == ""


def test_the_ones_that_were_changed_are_offered_where_another_failed(opened: Opener) -> None:
    face = noted()
    face.refuses(Annotate(SECOND, "audit"), Unavailable("storage.full", "The disk is full.", "Make room."))
    app = asked(opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_label", bulk_label_text="audit")
    app = answered(app, "bulk_label", "bulk_label_yes")
    assert "storage.full" in texts(app)
    clicked(app.run(), "undo")
    assert words(face)[FIRST][0] == "before ads"


def test_it_stays_over_reruns_until_another_one_or_its_time(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = noted()
    app = labelled(opened(face, "savepoints", savepoint=FIRST), "one")
    assert "changed" in notice(app.run())
    app = labelled(app, "two")
    app = clicked(app, "undo")
    assert words(face)[FIRST][0] == "one", "the last change alone is taken back"
    monkeypatch.setattr(undo, "OFFERED_MS", -1)
    app = labelled(app, "three")
    assert notice(app) == "" and "undo" not in [button.key for button in app.button]


def test_a_click_in_the_last_moment_counts(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = noted()
    app = labelled(opened(face, "savepoints", savepoint=FIRST), "renamed")
    kept = app.session_state["undo_notice"]
    monkeypatch.setattr(session, "now_ms", lambda: kept.until_ms + 1)
    clicked(app, "undo")
    assert words(face)[FIRST][0] == "before ads"


def test_a_stopped_job_goes_on_where_it_stopped(opened: Opener) -> None:
    face = working()
    app = answered(asked(opened(face, "job", job=JOB), "stop"), "stop", "stop_yes")
    assert f"{JOB} stopped at batch 9" in notice(app) and app.button(key="undo").label == "Resume"
    assert "Stopped, with a savepoint" in texts(app)
    app = clicked(app, "undo")
    assert face.begun[-1] == Resume(JOB)
    assert "goes on where it stopped" in notice(app) and "Stopped, with a savepoint" not in texts(app)


def test_a_cancelled_job_goes_on_too(opened: Opener) -> None:
    face = working()
    app = agreed(asked(opened(face, "job", job=JOB), "cancel"), "cancel")
    assert f"{JOB} was cancelled" in notice(app)
    clicked(app, "undo")
    assert face.begun[-1] == Resume(JOB)


def test_one_that_somebody_resumed_already_says_so(opened: Opener) -> None:
    face = working()
    app = answered(asked(opened(face, "job", job=JOB), "stop"), "stop", "stop_yes")
    do(face, Resume(JOB))
    app = clicked(app, "undo")
    assert f"{JOB} runs already" in notice(app) and face.begun.count(Resume(JOB)) == 1


def test_a_stop_from_an_experiment_is_followed_and_offers_the_same(opened: Opener) -> None:
    face = working()
    app = opened(face, "experiments", experiment="ex-1")
    app.menu_button(key="side_A").click("Stop…").run()
    app.menu_button(key="side_A").click("Stop…")
    app = clicked(app, "stop_yes")
    assert Stop(JOB) in face.begun
    assert f"{JOB} stopped at batch 9" in notice(app)


def test_a_dropped_variant_is_taken_back(opened: Opener) -> None:
    face = working()
    app = clicked(opened(face, "experiments", experiment="ex-1"), "decide_drop")
    assert face.begun == [Drop(SPLIT)]
    assert f"{SPLIT} was dropped" in notice(app) and "ended-drop" not in texts(app)
    app = clicked(app, "undo")
    assert face.begun == [Drop(SPLIT), Undrop(SPLIT)]
    assert "goes on where it was stopped" in notice(app) and "decide_drop" in [button.key for button in app.button]


@pytest.mark.parametrize("way", ["the note", "the menu"])
def test_one_that_was_dropped_long_ago_is_taken_back_where_it_is_shown(opened: Opener, way: str) -> None:
    face = follow(FakeFace.sample(), Drop, Undrop)
    do(face, Drop(SPLIT))
    app = opened(face, "experiments", experiment="ex-1")
    assert notice(app) == "" and f"undrop {SPLIT}" in "".join(block.value for block in app.code)
    app = clicked(app, f"undrop_{SPLIT}") if way == "the note" else app.menu_button(key="side_B").click("Undrop").run()
    assert face.begun[-1] == Undrop(SPLIT)
    assert "it does not run" in notice(app) and "was dropped" not in texts(app)


def test_a_fork_outside_of_experiments_is_resumed_instead(opened: Opener) -> None:
    face = working()
    face.experiments_by_id.clear()
    app = opened(face, "experiments", a=JOB, b=SPLIT)
    app.menu_button(key="side_B").click("Drop").run()
    assert app.button(key="undo").label == "Resume" and f"{SPLIT} was dropped" in notice(app)
    clicked(app, "undo")
    assert face.begun == [Drop(SPLIT), Resume(SPLIT)]


def test_a_refused_drop_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Drop, Conflict("decision.made", "That was decided already", "Fork again."))
    assert "decision.made" in notice(clicked(opened(face, "experiments", experiment="ex-1"), "decide_drop"))


def test_a_drop_that_failed_stays_among_the_operations(opened: Opener) -> None:
    begun = Operation(OperationId("op-drop"), "drop", JobName(SPLIT), OperationState.RUNNING, NOW_MS, subject=SPLIT)
    failed = samples.failed(begun, Unavailable("storage.full", "The disk is full.", "Make room."))
    face = FakeFace.sample()
    face.answers(Drop, failed)
    app = clicked(opened(face, "experiments", experiment="ex-1"), "decide_drop")
    assert "ended-drop" in texts(app) and "storage.full" in texts(app) and notice(app) == ""


def test_a_dropped_job_says_so_on_its_page_and_is_taken_back_there(opened: Opener) -> None:
    face = FakeFace.sample()
    assert "undrop" not in [button.key for button in opened(face, "job", job=SPLIT).button]
    do(follow(face, Drop, Undrop), Drop(SPLIT))
    app = opened(face, "job", job=SPLIT)
    assert "experiments?experiment=ex-1" in texts(app) and "Dropped" in texts(app)
    app = clicked(app, "undrop")
    assert face.begun[-1] == Undrop(SPLIT) and "Dropped" not in texts(app)


def test_a_variant_that_was_removed_comes_back_as_it_was_typed(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "fork", savepoint=FIRST), "fork_add")
    app.text_input(key=f"fork_name_{FIRST}_B").set_value("typed").run()
    app.text_area(key=f"fork_confs_{FIRST}_B").set_value("spark.x=2").run()
    app = clicked(app, "fork_remove")
    assert "typed removed" in notice(app) and "fork_remove" not in [button.key for button in app.button]
    app = clicked(app, "undo")
    assert selected(app, "variant") == "B"
    assert app.text_input(key=f"fork_name_{FIRST}_B").value == "typed"
    assert app.text_area(key=f"fork_confs_{FIRST}_B").value == "spark.x=2"


def test_where_there_is_no_room_it_says_so() -> None:
    face = FakeFace.sample()
    draft = drafts.begin(face.ask(ReadManifest(FIRST)), set())
    for _ in drafts.LETTERS[1:]:
        draft = draft.added(set())
    gone = draft.variants[1]
    assert [variant.letter for variant in draft.without("B").restored(gone).variants] == list(drafts.LETTERS)
    other = draft.without("B").without("C").added(set())
    assert [variant.name for variant in other.restored(gone).variants].count(gone.name) == 2, "under another letter"
    with pytest.raises(Conflict) as error:
        draft.restored(gone)
    assert error.value.code == "fork.full"


def test_code_that_another_script_took_the_place_of_comes_back(opened: Opener, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = (\n")
    app = opened(FakeFace.sample(), "fork", savepoint=FIRST)
    app.text_input(key="fork_path").set_value(str(broken)).run()
    app = clicked(app, "fork_load_now")
    assert "broken.py loaded in place of the code" in notice(app)
    app = clicked(app, "fork_load_original")
    assert not app.button(key="fork_start").disabled
    app = clicked(app, "undo")
    assert "Line 2" in app.button(key="fork_start").help and "broken.py is back" in notice(app)
