"""Whose rights code has is said where it is about to be started, and among what the server stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.cli.nouns.about import about_text
from pipelines.storage import users
from pipelines.storage.users import Other, User
from pipelines.verbs.system import ShowAbout
from pipelines.words import code_rights
from tests.dashboard.opening import Opener, texts
from tests.faces import FakeFace

PAGES: dict[str, dict[str, str]] = {"new_job": {}, "fork": {"savepoint": "sp-000000000002"}}


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    yield
    users.assume(None)


@pytest.mark.parametrize("page", PAGES)
def test_the_form_of_what_runs_code_says_as_whom(page: str, opened: Opener) -> None:
    app = opened(FakeFace.sample(), page, **PAGES[page])
    assert code_rights.line(users.name(), apart=False) in [caption.value for caption in app.caption]
    users.assume(Other(User("jobs", 1234, 1234, (1234,), "/home/jobs"), Path("/srv/tidemark")))
    app = opened(FakeFace.sample(), page, **PAGES[page])
    assert "as the user `jobs`, apart from Tidemark" in " ".join(caption.value for caption in app.caption)


def test_the_settings_and_the_command_say_it(opened: Opener) -> None:
    face = FakeFace.sample()
    about = face.ask(ShowAbout())
    for apart, words in ((True, "apart from the server"), (False, "own user: it may do all that the server may")):
        shown = replace(about, server=replace(about.server, code_runs_as="jobs", code_apart=apart))
        face.answers(ShowAbout, lambda _, shown=shown: shown)
        assert words in texts(opened(face, "settings"))
        assert words in about_text(shown, 0)
