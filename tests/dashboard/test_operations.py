"""Work under way on the pages: it is shown where it was begun, survives a reload, can be cancelled, and ends with what came of it."""

from __future__ import annotations

import pytest

from dashboard import once
from pipelines.domain.errors import Conflict
from pipelines.domain.trust import Trust
from pipelines.verbs.import_ import Import
from pipelines.verbs.operations import CancelOperation, ListOperations
from pipelines.verbs.verify import Verify
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, answered, asked, clicked, texts
from tests.faces import FakeFace

SAVEPOINT = "sp-000000000002"
EXPORTING = "op-exporting"


def test_a_proof_is_followed_to_its_badge(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Verify)
    app = clicked(opened(face, "savepoints", savepoint=SAVEPOINT), "prove_catalog")
    assert Verify(SAVEPOINT, Trust.PROVED) in face.begun
    assert "Proving sp-00000000 of post_engagement" in texts(app)
    assert "reading state" in texts(app)
    while face.ask(ListOperations(running=True)):
        app.run()
    words = texts(app.run())
    assert "Proved sp-00000000 of post_engagement: proved" in words
    assert "Spark 4.3.0 restored it in 9.50 s" in words
    assert any({"Rows read", "Rows the job counted"} <= set(frame.value.columns) for frame in app.dataframe)


def test_what_runs_is_there_after_a_reload_and_on_every_page(opened: Opener) -> None:
    face = FakeFace.busy()
    assert "Exporting" in texts(opened(face, "savepoints"))
    assert "Exporting" in texts(opened(face, "overview"))
    assert "500 kB of 2.0 MB" in texts(opened(face, "job", job="clicks"))


def test_nothing_is_shown_while_nothing_runs(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints")
    assert "progressbar" not in texts(app)


def test_of_another_job_nothing_is_said_on_a_job_s_page_itself(opened: Opener) -> None:
    app = opened(FakeFace.busy(), "job", job="post_events")
    assert [button.key for button in app.button if button.key and button.key.startswith("cancel_")] == [f"cancel_top_{EXPORTING}"]


def test_cancelling_ends_it_and_says_so_until_it_is_put_away(opened: Opener) -> None:
    face = FakeFace.busy()
    app = clicked(opened(face, "savepoints"), f"cancel_savepoints_{EXPORTING}")
    assert face.begun == [CancelOperation(EXPORTING)]
    assert "was cancelled" in texts(app)
    assert "What it had made was removed" in texts(app)
    assert "was cancelled" not in texts(clicked(app, f"away_savepoints_{EXPORTING}"))


def test_a_cancel_that_is_refused_is_said(opened: Opener) -> None:
    face = FakeFace.busy()
    app = opened(face, "savepoints")
    face.refuses(CancelOperation, Conflict("operation.not_cancellable", "It cannot be called back", "Wait."))
    assert "operation.not_cancellable" in texts(clicked(app, f"cancel_savepoints_{EXPORTING}"))


def test_an_import_that_fails_says_what_why_and_what_to_do(opened: Opener) -> None:
    face = FakeFace.busy()
    url = "s3://lake/archive/clicks.tar.zst"
    begun = samples.begun("op-import", "import", "", url)
    face.answers(Import, lambda _: face.under_way(begun, samples.failed(begun, samples.here_already(SAVEPOINT))))
    app = answered(asked(opened(face, "savepoints"), "import", import_url=url), "import", "import_yes")
    words = texts(app.run())
    for part in ("failed", f"{SAVEPOINT} is here already", "Dispose of it first", "savepoint.exists"):
        assert part in words


def test_what_came_of_earlier_work_gives_way_to_new_work(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "SAME_CLICK_MS", 0)
    face = FakeFace.sample()
    app = clicked(opened(face, "savepoints", savepoint=SAVEPOINT), "prove_catalog")
    while face.ask(ListOperations(running=True)):
        app.run()
    assert "ended-prove" in texts(app.run())
    assert "ended-prove" not in texts(clicked(app, "prove_catalog"))
