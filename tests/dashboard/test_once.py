"""A change that one click asks for twice is begun once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dashboard import once, session
from pipelines.domain.trust import Trust
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace

JOB = "post_engagement"
VIEWS = Path(once.__file__).parent


@pytest.fixture
def face() -> FakeFace:
    return FakeFace.sample()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The moment of the pages, which stands still until a test moves it."""
    now = [session.now_ms()]
    monkeypatch.setattr(session, "now_ms", lambda: now[0])
    return now


def test_a_double_click_takes_one_savepoint(opened: Opener, face: FakeFace, clock: list[float]) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    clicked(app, "take")
    assert face.begun == [Take(JOB)]
    assert 'data-testid="taken"' in texts(app)


def test_who_has_seen_the_outcome_can_ask_for_another(opened: Opener, face: FakeFace, clock: list[float]) -> None:
    app = clicked(opened(face, "job", job=JOB), "take")
    clock[0] += once.SAME_CLICK_MS
    clicked(app, "take")
    assert face.begun == [Take(JOB), Take(JOB)]


def test_several_changes_of_one_click_are_begun_once_each(opened: Opener, face: FakeFace, clock: list[float]) -> None:
    app = opened(face, "savepoints", savepoint="sp-000000000002,sp-000000000003")
    for _ in range(2):
        app.menu_button(key="bulk_verify").click(Trust.INTACT).run()
    assert [type(change) for change in face.begun] == [Verify, Verify]
    assert {change.level for change in face.begun if isinstance(change, Verify)} == {Trust.INTACT}


def test_another_change_is_begun(face: FakeFace, clock: list[float]) -> None:
    session.open_with(face)
    first, second = once.begin(Take(JOB)), once.begin(Stop(JOB))
    assert first != second and face.begun == [Take(JOB), Stop(JOB)]
    session.open_with(None)


def test_no_page_begins_a_change_by_another_way() -> None:
    others = [
        f"{path.name}:{node.lineno}"
        for path in (VIEWS / "views").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "pipelines.verbs.face"
    ]
    assert others == []
