"""The catalog of savepoints: what it shows, what it does, what it asks first."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views.savepoints.contents import by_kind, kind_of
from dashboard.views.savepoints.trust import nearest_sound, states_frame
from pipelines.domain.errors import AlreadyExists, Conflict, Unavailable, refusal
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Reason, StoredFile
from pipelines.domain.trust import StateCount, Trust, Verification
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, agreed, answered, asked, clicked, column, selected, tables, texts
from tests.faces import NOW_MS, QUERY, FakeFace
from tests.samples import proof
from tests.waiting import until

FIRST, SECOND = "sp-000000000002", "sp-000000000003"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("code/job.py", "code"),
        ("queries/q/checkpoint/metadata", "other"),
        ("queries/q/checkpoint/offsets/7", "offsets"),
        ("queries/q/checkpoint/commits/7", "commits"),
        ("queries/q/checkpoint/sources/0/9.compact", "sources"),
        ("queries/q/checkpoint/state/0/1/7.changelog", "state"),
        ("queries/q/sink/7", "sink"),
        ("queries/q/table/state=1/part-0.parquet", "table"),
        ("queries/q/table/x/state/0", "table"),
        ("checksums.json", "other"),
    ],
)
def test_files_are_told_apart(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_files_are_counted_by_kind() -> None:
    files = [
        StoredFile("code/a.py", 5),
        StoredFile("queries/q/checkpoint/state/0/0/1.zip", 7),
        StoredFile("queries/q/checkpoint/state/0/1/1.zip", 8),
    ]
    assert [(kind.title, kind.files, kind.bytes) for kind in by_kind(files)] == [("State", 2, 15), ("Code", 1, 5)]


def test_an_empty_catalog_teaches(opened: Opener) -> None:
    app = opened(FakeFace(), "savepoints")
    assert "No savepoints yet" in texts(app)
    assert any("python -m pipelines savepoint" in block.value for block in app.code)


def test_all_savepoints_are_listed_newest_first(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints")
    assert tables(app)["savepoints"] == [SECOND, FIRST]
    assert column(app, "savepoints", "Batch") == ["9", "7"]


def test_the_figures_are_those_that_somebody_has_to_act_on(opened: Opener) -> None:
    face = FakeFace.sample()
    face.saved("post_events")
    old = face.ask(ListSavepoints("post_engagement"))[0]
    face.savepoints_by_id[old.id] = replace(old, created_ms=NOW_MS - 3 * 86_400_000)
    face.savepoints_by_id[FIRST] = replace(face.savepoints_by_id[FIRST], created_ms=NOW_MS - 4 * 86_400_000)
    face.verified(samples.verification(face.savepoints_by_id[FIRST], Trust.INTACT, damaged=True))
    words = texts(opened(face, "savepoints"))
    assert re.search('Longest unsaved</div>.{20,80}<div class="tm-note"><a [^>]*job=post_engagement"', words)
    assert 'Newest not proved</div><div class="tm-value">2 / 2' in words
    assert 'Damaged</div><div class="tm-value">1<' in words


def test_the_address_filters(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", filter="before")
    assert tables(app)["savepoints"] == [FIRST]
    app = opened(FakeFace.sample(), "savepoints", filter="nothing like it")
    assert "No savepoint fits" in texts(app)


def test_the_address_selects_one_and_its_contents_are_shown(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint=FIRST)
    words = texts(app)
    for part in (FIRST, "before ads", "complete", "by hand", "12 files, 2.0 MB", "42 ms"):
        assert part in words
    assert any(block.value == f"/fake/savepoints/{FIRST}" for block in app.code)
    tables = [set(frame.value.columns) for frame in app.dataframe]
    for columns in ({"Query", "Source", "Stands at"}, {"Operator", "Provider"}, {"Kind", "Files", "Bytes"}, {"Conf", "Value"}):
        assert any(columns <= table for table in tables)


def test_a_running_job_cannot_be_resumed_from_here(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint=FIRST)
    assert app.button(key="resume_catalog").disabled
    assert "stop it first" in app.button(key="resume_catalog").help


def test_a_stopped_job_goes_back_after_one_question(opened: Opener) -> None:
    face = FakeFace.sample()
    face.ended("post_engagement")
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "resume_catalog")
    assert "begins again at batch 7" in texts(app)
    agreed(app, "resume_catalog")
    assert face.begun[-1] == Resume("post_engagement", from_savepoint=FIRST)
    plan = samples.restore_plan(FIRST, "post_engagement", keeps_query_id=True)
    face.plans_as(Resume, replace(plan, refusal=refusal(Conflict("source.gone", "Rows are gone.", "Take a newer savepoint."))))
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "resume_catalog")
    assert app.button(key="confirm_yes").disabled
    assert "Rows are gone." in texts(app) and "Take a newer savepoint." in texts(app)


def test_two_are_compared_in_the_tree(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_compare")
    assert {selected(app, "savepoint"), selected(app, "with")} == {FIRST, SECOND}


def test_several_are_verified_as_operations(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}")
    app.menu_button(key="bulk_verify").click(Trust.INTACT).run()
    assert sorted(face.begun, key=repr) == [Verify(FIRST), Verify(SECOND)]
    words = texts(finished(app, face))
    assert all(f"Verified {savepoint[:11]} of post_engagement: intact" in words for savepoint in (FIRST, SECOND))


def test_a_damaged_one_shows_what_the_doctor_finds_and_the_way_out(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Take)
    face.verified(samples.verification(face.savepoints_by_id[FIRST], Trust.INTACT, damaged=True))
    face.answers(Diagnose, [samples.diagnosis(FIRST, "/c", damaged=True)])
    app = opened(face, "savepoints", savepoint=FIRST)
    words = texts(app)
    for part in (f"{FIRST} has 1 damaged file", "state of operator 0, partition 3", "batches 7–8", "Batch 8 is whole", "the file is gone"):
        assert part in words
    for key in ("fork_catalog", "resume_catalog", "export_catalog"):
        assert app.button(key=key).disabled
    assert "Open sp-00000000, batch 9" in [button.label for button in app.button]
    app = clicked(app, "again_catalog")
    assert face.begun[-1] == Take("post_engagement", batch=7, label="before ads")
    assert selected(app, "savepoint") == face.ask(ListSavepoints())[0].id


def test_the_nearest_sound_savepoint_is_offered() -> None:
    face = FakeFace.sample()
    first, second = face.ask(ShowSavepoint(FIRST)), face.ask(ShowSavepoint(SECOND))
    assert nearest_sound(first, face.ask(ListSavepoints())) == second
    assert nearest_sound(first, [first, replace(second, damaged_files=1)]) is None


def test_levels_are_badges_with_their_times(opened: Opener) -> None:
    face = FakeFace.sample()
    words = texts(opened(face, "savepoints", savepoint=FIRST))
    assert 'class="tm-chip tm-not"' in words
    assert "Nobody has verified it yet" in words
    face.verified(samples.verification(face.savepoints_by_id[FIRST], Trust.PROVED))
    words = texts(opened(face, "savepoints", savepoint=FIRST))
    assert 'class="tm-chip tm-not"' not in words
    assert "Spark restored it, counted its rows and ran a batch" in words


def test_counts_that_differ_are_said() -> None:
    states = [StateCount(QUERY, 0, "dedupe", 5, 5), StateCount(QUERY, 1, "join", 5, 6), StateCount(QUERY, 2, "rank", 5, None)]
    assert list(states_frame(states)["Agrees"]) == ["yes", "no", "not known"]


def test_a_proof_that_could_not_run_a_batch_says_why(opened: Opener) -> None:
    face, unproved = FakeFace.sample(), replace(proof(), note="Nothing new to read.")
    face.verifications[FIRST] = Verification(SavepointId(FIRST), Trust.PROVED, Trust.INTACT, NOW_MS, 1, 1, proof=unproved)
    words = texts(opened(face, "savepoints", savepoint=FIRST))
    assert f"{FIRST} is intact, not proved" in words and unproved.note in words


def test_sizes_are_shown_each_and_together(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint=FIRST)
    words = texts(app)
    for part in ("On disk", "they would take 4.0 MB", "Frees if deleted", "4.1 kB (0.2 %)", "Full size", "New bytes", "Shared"):
        assert part in words
    assert column(app, "savepoints", "Frees if deleted") == ["4.1 kB", "4.1 kB"]


def test_an_export_shows_its_plan_and_leaves_when_told_to(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints", savepoint=FIRST)
    app = asked(app, "export_catalog", export_url="/archive/a.tar.zst", export_dispose=True)
    words = texts(app)
    for part in ("12 files, 2.0 MB", "one compressed file", "What leaves this workspace", "environment of Tidemark"):
        assert part in words
    assert face.begun == []
    app = answered(app, "export_catalog", "export_yes")
    assert face.begun == [Export(FIRST, "/archive/a.tar.zst", archive=True, then_dispose=True)]
    assert "to /archive/a.tar.zst" in texts(finished(app, face))
    app = answered(asked(opened(face, "savepoints"), "import", import_url="/archive/a.tar.zst"), "import", "import_yes")
    assert face.begun[1:] == [Import("/archive/a.tar.zst")]
    assert "Imported sp-" in texts(finished(app, face))


def test_an_export_to_a_taken_place_is_refused_before_it_starts(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Export(FIRST, "/archive/a", archive=False), AlreadyExists("export.exists", "/archive/a is taken", "Choose another URL."))
    app = asked(opened(face, "savepoints", savepoint=FIRST), "export_catalog", export_url="/archive/a")
    assert "export.exists" in texts(app)
    assert app.button(key="export_yes").disabled
    assert app.text_input(key="export_url").value == "/archive/a"


def test_where_each_came_from_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    face.saved("post_engagement", batch=8, reason=Reason.REWIND)
    app = opened(face, "savepoints")
    assert column(app, "savepoints", "Origin") == ["rewind", "by hand", "by hand"]


def finished(app: AppTest, face: FakeFace) -> AppTest:
    """The page once nothing is under way."""
    while face.ask(ListOperations(running=True)):
        app.run()
    return app.run()


def test_a_savepoint_that_is_gone_leaves_the_list(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint="sp-gone")
    assert tables(app)["savepoints"] == [SECOND, FIRST] and "savepoint-id" not in texts(app)
    assert "There is no savepoint sp-gone" in texts(app)


def test_an_error_is_said(opened: Opener) -> None:
    face = FakeFace()
    face.refuses(ListSavepoints, Unavailable("catalog.away", "The catalog is away.", "Wait."))
    assert "catalog.away" in texts(opened(face, "savepoints"))


def test_the_list_is_there_while_the_disk_is_still_asked(opened: Opener) -> None:
    face, measured = FakeFace.sample(), threading.Event()
    disk_space = face.ask(ShowSpace())
    face.answers(ShowSpace, lambda _: disk_space if measured.wait(60) else None)
    app = opened(face, "savepoints")
    assert "measuring …" in texts(app)
    assert SECOND in tables(app)["savepoints"]
    measured.set()
    until(lambda: "measuring …" not in texts(app.run()), 20)
    assert "of 4.0 MB full size" in texts(app)
