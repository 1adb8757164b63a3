"""Several savepoints at once: the preview of what goes, what is refused, what comes back; checks and exports as operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.views.savepoints.disposal import cautions, frame
from pipelines.domain.disposals import Disposal, DisposeOutcome
from pipelines.domain.errors import AlreadyExists, Conflict, refusal
from pipelines.domain.ids import QueryName
from pipelines.domain.trust import Trust
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.export import Export
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.verify import Verify
from pipelines.words.savepoints import FREES, FULL
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import NOW_MS, FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"
BOTH = f"{FIRST},{SECOND}"


def test_disposing_asks_with_what_it_deletes(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "dispose_catalog")
    words = texts(app)
    for part in ("12 files, 2.0 MB", "<strong>4.1 kB</strong>", "This cannot be undone"):
        assert part in words
    assert face.begun == []
    follow(face, Dispose)
    app = answered(app, "dispose_catalog", "dispose_yes")
    assert face.begun == [Dispose((FIRST,))]
    assert selected(app, "savepoint") == ""


def test_several_are_previewed_together_and_asked_once(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "savepoints", savepoint=BOTH), "bulk_dispose")
    words = texts(app)
    for part in ("2 savepoints", "24 files, 4.0 MB", "<strong>8.2 kB</strong>", "post_engagement has no savepoint left then."):
        assert part in words
    preview = next(frame.value for frame in app.dataframe if "Frees if deleted" in frame.value)
    assert sorted(preview["Savepoint"]) == [FIRST, SECOND]
    follow(face, Dispose)
    app = answered(app, "bulk_dispose", "dispose_yes")
    assert [type(change) for change in face.begun] == [Dispose]


def needed(face: FakeFace) -> Disposal:
    """What becomes of both where the second is needed."""
    message = f"Savepoint {SECOND} is needed: a fork is made from it right now"
    refused = DisposeOutcome(SECOND, None, refusal(Conflict("savepoint.in_use", message, "Try again when that has started.")))
    return samples.disposed(face.ask(ShowSavepoint(FIRST)), refused=[refused])


def test_the_batch_of_each_query_is_named_before_it_is_disposed_of() -> None:
    savepoint = FakeFace.sample().savepoints_by_id[FIRST]
    late = replace(savepoint.queries[0], query=QueryName("late"), batch=4)
    several = replace(savepoint, queries=(*savepoint.queries, late))
    shown = frame([savepoint, several], samples.disposed(savepoint))
    assert list(shown["Batch"]) == [str(savepoint.batch), f"{savepoint.batch} of counts, 4 of late"]
    assert [name for name in shown.columns if "ize" in name or "Frees" in name] == [FULL, FREES]


def test_what_is_needed_stays_and_says_why(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Dispose)
    face.plans_as(Dispose, needed(face))
    app = clicked(opened(face, "savepoints", savepoint=BOTH), "bulk_dispose")
    words = texts(app)
    for part in (f"{SECOND} stays", "a fork is made from it right now", "savepoint.in_use", "1 of 2 savepoints", "<strong>4.1 kB</strong>"):
        assert part in words
    app = answered(app, "bulk_dispose", "dispose_yes")
    assert selected(app, "savepoint") == SECOND
    face.plans_as(Dispose, samples.disposed(refused=needed(FakeFace.sample()).refused))
    app = clicked(opened(face, "savepoints", savepoint=SECOND), "dispose_catalog")
    assert app.button(key="dispose_yes").disabled


def test_one_that_fails_after_the_question_is_said(opened: Opener) -> None:
    """Between the preview and the yes a fork began."""
    face = FakeFace.sample()
    face.answers(Dispose, needed(face))
    app = opened(face, "savepoints", savepoint=BOTH)
    app = answered(clicked(app, "bulk_dispose"), "bulk_dispose", "dispose_yes")
    words = texts(app)
    assert "Disposed of 1 of 2 savepoints, which frees 4.1 kB" in words and f"{SECOND} was not disposed of" in words


def test_dates_that_are_to_come_are_a_caution() -> None:
    face = FakeFace.sample()
    face.savepoints_by_id[FIRST] = replace(face.savepoints_by_id[FIRST], best_before_ms=NOW_MS + 1)
    every = face.ask(ListSavepoints())
    assert cautions([face.ask(ShowSavepoint(FIRST))], every, NOW_MS) == ["It is not past its best-before date yet."]
    assert cautions([face.ask(ShowSavepoint(FIRST))], every, NOW_MS + 2) == []
    assert cautions(every, every, NOW_MS) == [
        "1 of them is not past its best-before date yet.",
        "post_engagement has no savepoint left then.",
    ]


@pytest.mark.parametrize("level", list(Trust))
def test_several_are_verified_as_operations(opened: Opener, level: Trust) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints", savepoint=BOTH)
    app.menu_button(key="bulk_verify").click(level).run()
    assert not app.exception
    assert sorted(face.begun, key=repr) == [Verify(FIRST, level), Verify(SECOND, level)]
    assert len(face.ask(ListOperations(running=True))) == 2


def test_one_that_cannot_be_verified_keeps_no_other(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Verify(SECOND), Conflict("savepoint.disposing", "It is being disposed of", "Use another one."))
    app = opened(face, "savepoints", savepoint=BOTH)
    app.menu_button(key="bulk_verify").click(Trust.INTACT).run()
    assert "1 of 2 savepoints are done" in texts(app) and "savepoint.disposing" in texts(app)
    assert [operation.subject for operation in face.ask(ListOperations(running=True))] == [FIRST]


def test_several_are_exported_into_one_folder(opened: Opener) -> None:
    face = FakeFace.sample()
    taken = Export(SECOND, f"s3://lake/old/{SECOND}.tar.zst", archive=True)
    face.refuses(taken, AlreadyExists("export.exists", f"{taken.url} is taken", "Choose another URL."))
    app = opened(face, "savepoints", savepoint=BOTH)
    app = asked(app, "bulk_export", export_all_url="s3://lake/old/")
    assert "export.exists" in texts(app) and "1 of 2 savepoints" in texts(app)
    app = asked(opened(face, "savepoints", savepoint=BOTH), "bulk_export", export_all_url="s3://lake/new")
    assert "24 files, 4.0 MB" in texts(app)
    answered(app, "bulk_export", "export_all_yes")
    assert face.begun == [Export(savepoint, f"s3://lake/new/{savepoint}.tar.zst", archive=True) for savepoint in (FIRST, SECOND)]
