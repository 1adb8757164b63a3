"""What is copied on a page: it stands still for nothing, shows how far it is, and says what came of it when it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.views import changes
from pipelines.domain.errors import Unavailable
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.operations import CancelOperation, ListOperations, ShowOperation
from pipelines.verbs.savepoints import ListSavepoints
from tests import samples
from tests.copies import Copies
from tests.dashboard.opening import Opener, agreed, clicked, selected, texts
from tests.faces import FakeFace
from tests.waiting import until

SAVEPOINT = "sp-000000000002"
JOB = "post_engagement"


@pytest.fixture
def face() -> FakeFace:
    return FakeFace.sample()


@pytest.fixture
def copies(face: FakeFace) -> Iterator[Copies]:
    made = Copies(face)
    yield made
    made.finish()


def come(app: AppTest, face: FakeFace, key: str) -> AppTest:
    """The page once what it waits for is there."""
    _ended(app, face, key)
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def _ended(app: AppTest, face: FakeFace, key: str) -> None:
    """Waits until it has ended; the page may have seen that already."""
    asked = app.session_state["waiting"].get(key)
    if asked:
        until(lambda: face.now[asked.begun.operation.id].state is not OperationState.RUNNING, 30)


def test_a_savepoint_that_is_copied_is_followed_to_its_notice(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    assert "Taking a savepoint of post_engagement" in texts(app) and "of 2.0 MB" in texts(app)
    assert 'data-testid="taken"' not in texts(app)
    assert app.button(key="take").disabled and app.button(key="take").help == changes.BUSY
    before = len(face.ask(ListSavepoints()))
    copies.finish()
    words = texts(come(app, face, f"take_{JOB}"))
    assert 'data-testid="taken"' in words and len(face.ask(ListSavepoints())) == before + 1
    assert not app.button(key="take").disabled


def test_it_is_cancelled_where_it_is_seen(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    (going,) = face.ask(ListOperations(running=True))
    clicked(app, f"cancel_job_{going.id}")
    assert face.ask(ShowOperation(going.id)).state is OperationState.CANCELLED
    words = texts(come(app, face, f"take_{JOB}"))
    assert "Taking a savepoint of post_engagement was cancelled" in words and "What it had made was removed" in words
    assert "operation.cancelled" not in words, "it is said once"
    assert not app.button(key="take").disabled


def test_cancelled_by_somebody_else_it_is_an_error(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    do(face, CancelOperation(face.ask(ListOperations(running=True))[0].id))
    assert "operation.cancelled" in texts(come(app, face, f"take_{JOB}"))


def test_another_session_sees_it_and_cancels_it(opened: Opener, face: FakeFace, copies: Copies) -> None:
    asking = clicked(opened(face, "job", job=JOB), "take")
    other = opened(face, "savepoints")
    assert "Taking a savepoint of post_engagement" in texts(other)
    clicked(other, f"cancel_savepoints_{face.ask(ListOperations(running=True))[0].id}")
    assert "operation.cancelled" in texts(come(asking, face, f"take_{JOB}"))


def test_what_refuses_a_copy_late_is_said_on_the_job_s_page(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    (going,) = face.ask(ListOperations(running=True))
    face.under_way(samples.failed(going, Unavailable("storage.away", "the store is away", "Wait.")))
    assert "storage.away" in texts(come(app, face, f"take_{JOB}"))


def test_a_fork_that_is_copied_opens_when_it_is_there(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_start")
    assert "Forking sp-00000000 as post_engagement_fork" in texts(app)
    assert app.button(key="fork_start").disabled and "post_engagement_fork" not in face.runs
    copies.finish()
    come(app, face, f"fork_{SAVEPOINT}")
    assert selected(app, "job") == "post_engagement_fork"
    assert face.runs["post_engagement_fork"][0].state is RunState.RUNNING


def test_a_cancelled_fork_leaves_what_was_typed(opened: Opener, face: FakeFace, copies: Copies) -> None:
    app = opened(face, "fork", savepoint=SAVEPOINT)
    draft = app.session_state[f"draft_{SAVEPOINT}"]
    clicked(app, "fork_start")
    clicked(app, f"cancel_fork_{face.ask(ListOperations(running=True))[0].id}")
    words = texts(come(app, face, f"fork_{SAVEPOINT}"))
    assert "was cancelled" in words and "post_engagement_fork" not in face.runs
    assert app.session_state[f"draft_{SAVEPOINT}"] == draft and not app.button(key="fork_start").disabled


def test_a_resume_that_is_copied_shows_its_bar_on_the_job_s_page(opened: Opener, face: FakeFace, copies: Copies) -> None:
    face.ended(JOB)
    app = agreed(clicked(opened(face, "savepoints", savepoint=SAVEPOINT), "resume_catalog"), "resume_catalog")
    assert "Resuming post_engagement from sp-00000000" in texts(app) and selected(app, "job") == JOB
    assert app.button(key="resume").disabled
    copies.finish()
    come(app, face, f"resume_{JOB}")
    assert face.runs[JOB][-1].from_savepoint == SAVEPOINT


def elsewhere(opened: Opener, face: FakeFace, end: Callable[[], object]) -> str:
    """What is said on the events' page of a savepoint asked for on the job's, once `end` has ended it."""
    app = clicked(opened(face, "job", job=JOB), "take")
    end()
    _ended(app, face, f"take_{JOB}")
    app.query_params.clear()
    app.run()
    return texts(app)


def test_whoever_has_gone_elsewhere_reads_it_at_the_foot(
    opened: Opener, face: FakeFace, copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "refreshing", lambda: True)
    assert "A savepoint of post_engagement was taken" in elsewhere(opened, face, copies.finish)


def test_also_what_refused_it(opened: Opener, face: FakeFace, copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "refreshing", lambda: True)
    assert "operation.cancelled" in elsewhere(opened, face, lambda: do(face, CancelOperation(face.ask(ListOperations(running=True))[0].id)))


def test_what_answers_at_once_is_no_operation(opened: Opener, face: FakeFace) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    assert 'data-testid="taken"' in texts(app) and app.session_state["waiting"] == {}
    assert face.ask(ListOperations()) == ()
