"""What one may not do is disabled on a page, and says which role may, or on a standby which server."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from dashboard import navigation, session
from dashboard.answers import Answers
from pipelines.domain.access import Access, Caller, Role
from pipelines.domain.errors import Forbidden, Unauthenticated
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.storage import users
from pipelines.storage.users import Other, User
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.standby import Standby
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import ListTokens
from tests import samples
from tests.dashboard.opening import Opener, texts
from tests.entering import TOKEN
from tests.faces import FakeFace

JOB = "post_engagement"
OTHER = Other(User("jobs", 4_000, 4_000, (4_000,), "/nonexistent"), Path("/nonexistent"))


@pytest.mark.parametrize(
    ("role", "disabled"),
    [(Role.VIEWER, {"take", "fork", "stop"}), (Role.OPERATOR, {"fork"}), (Role.AUTHOR, set()), (Role.ADMIN, set())],
)
def test_a_button_that_a_role_may_not_press(opened: Opener, monkeypatch: pytest.MonkeyPatch, role: Role, disabled: set[str]) -> None:
    monkeypatch.setattr(session, "caller", lambda: Caller("ci", role))
    app = opened(FakeFace.sample(), "job", job=JOB)
    buttons = {key: app.button(key=key) for key in ("take", "fork", "stop")}
    assert {key for key, button in buttons.items() if button.disabled} == disabled
    assert all(buttons[key].help == f"Takes the role {'author' if key == 'fork' else 'operator'}; yours is {role}" for key in disabled)


def test_an_answer_that_browsers_share_is_not_another_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    monkeypatch.setattr(session, "_workspace", face)
    monkeypatch.setattr(session, "_answers", Answers())
    monkeypatch.setattr(session, "caller", partial(Caller, "ci", Role.ADMIN))
    session.shared(ListTokens(), age_ms=600_000)
    monkeypatch.setattr(session, "caller", partial(Caller, "ci", Role.VIEWER))
    with pytest.raises(Forbidden):
        session.shared(ListTokens(), age_ms=600_000)
    answered = session.soon(ListTokens(), 600_000)
    assert answered is not None and answered[1] is not None and answered[1].code == "access.role"


@pytest.mark.parametrize(("role", "examines"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
def test_what_is_damaged_is_examined_for_who_may(opened: Opener, monkeypatch: pytest.MonkeyPatch, role: Role, examines: bool) -> None:
    face, savepoint = FakeFace.sample(), SavepointId("sp-000000000002")
    face.verified(samples.verification(face.savepoints_by_id[savepoint], Trust.INTACT, damaged=True))
    monkeypatch.setattr(session, "caller", lambda: Caller("ci", role))
    failed = opened(face, "job", job="post_engagement_split", examine="yes")
    button = failed.button(key="failed_examine")
    assert (button.disabled, button.help) == (not examines, "" if examines else "Takes the role operator; yours is viewer")
    opened(face, "savepoints", savepoint=savepoint)
    assert [type(change) for change in face.begun] == [Diagnose, Diagnose] * examines
    assert "may not do this" not in texts(failed)


def test_a_file_of_the_servers_machine_is_read_for_whose_code_has_its_rights(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The workspace's key is such a file: who reads it is the owner. Under `--run-as` an author's code cannot read it."""
    (tmp_path / "access.key").write_text(TOKEN)
    for as_other, role, reads in [
        (None, Role.VIEWER, False),
        (None, Role.OPERATOR, False),
        (None, Role.AUTHOR, True),
        (OTHER, Role.AUTHOR, False),
        (OTHER, Role.ADMIN, True),
    ]:
        monkeypatch.setattr(session, "caller", partial(Caller, "ci", role))
        users.assume(as_other)
        try:
            app = opened(FakeFace(), "new_job", source="File", path=str(tmp_path / "access.key"))
        finally:
            users.assume(None)
        assert ("new_job" in app.session_state and app.session_state["new_job"].code == TOKEN) == reads, (as_other, role)
        assert (f"may not do this; an {'admin' if as_other else 'author'} may" in texts(app)) == (not reads)


def test_a_page_does_as_its_browsers_token_may(monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace.sample()
    session.open_with(face)
    monkeypatch.setattr(session, "caller", lambda: Caller("ci", Role.OPERATOR))
    do(session.workspace(), Take(JOB))
    assert face.actor == "ci" and face.begun == [Take(JOB)]
    monkeypatch.setattr(session, "caller", lambda: Caller("looker", Role.VIEWER))
    with pytest.raises(Forbidden, match="a viewer may not do this; an operator may"):
        session.workspace().begin(Stop(JOB))


def test_without_a_token_a_page_does_nothing() -> None:
    session.open_with(FakeFace.sample(), Access(TOKEN))
    with pytest.raises(Unauthenticated):
        session.workspace()
    session.open_with(None)


def test_on_a_standby_every_page_is_drawn_says_so_and_changes_nothing(opened: Opener) -> None:
    face, active = FakeFace.sample(), "http://127.0.0.1:8501"
    for page in navigation.PAGES:
        app = opened(face, page, **({"job": JOB} if page == "job" else {}))
        session.open_with(Standby(face, lambda: active), active=lambda: active)
        app.run()
        assert not app.exception, app.exception[0].stack_trace
        assert [f"Standby of [{active}]({active}): reads only" in warning.value for warning in app.warning][:1] == [True], page
    assert face.begun == []


def test_a_standbys_buttons_name_the_active_server_until_it_takes_over(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    session.open_with(Standby(face, lambda: "http://here"), active=lambda: "http://here")
    app.run()
    buttons = [app.button(key=key) for key in ("take", "fork", "stop")]
    assert all(button.disabled for button in buttons)
    assert {button.help for button in buttons} == {"This server is a standby of http://here: it only reads. Ask http://here."}
    session.open_with(face)
    app.run()
    assert not any(app.button(key=key).disabled for key in ("take", "fork", "stop"))
    assert not app.warning
