"""A page run by Streamlit itself on a workspace in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import navigation, session
from tests.faces import FakeFace

APP = Path(navigation.__file__).with_name("app.py")


class Opener:
    """Opens pages of one workspace, each as if its address had been typed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, face: FakeFace, page: str, /, **query: str) -> AppTest:
        """The page `page` with `query` in its address, run once without an exception."""
        session.open_with(face)
        self._monkeypatch.setattr(navigation, "FIRST", page)
        app = AppTest.from_file(str(APP), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception, app.exception[0].stack_trace
        return app


def texts(app: AppTest) -> str:
    """All HTML, captions and markdown of the page, in order of kind."""
    html = "".join(str(element.proto.body) for element in app.get("html"))
    return "\n".join([html, *(caption.value for caption in app.caption), *(text.value for text in app.markdown)])


def clicked(app: AppTest, key: str) -> AppTest:
    """The page after a click on the button `key`; it may have become another page."""
    app.button(key=key).click().run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def agreed(app: AppTest, key: str) -> AppTest:
    """The page after a yes to the question of the button `key`: both are pressed at once, for the whole page is drawn anew."""
    app.button(key=key).click()
    app.button(key="confirm_yes").click().run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def asked(app: AppTest, opens: str, **typed: object) -> AppTest:
    """The page with the dialog of the button `opens` open, and what was typed into its fields (by key) taken up."""
    app.button(key=opens).click().run()
    for key, value in typed.items():
        widget = next(
            field for field in (*app.text_input, *app.number_input, *app.checkbox, *app.radio, *app.selectbox) if field.key == key
        )
        widget.set_value(value)
        app.button(key=opens).click().run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def answered(app: AppTest, opens: str, answers: str) -> AppTest:
    """The page after the button `answers` of the dialog that the button `opens` opened."""
    app.button(key=opens).click()
    return clicked(app, answers)


def selected(app: AppTest, name: str) -> str:
    """What the address selects."""
    value = app.query_params.get(name, "")
    return str(value[0] if isinstance(value, list) else value)


def tables(app: AppTest) -> dict[str, list[str]]:
    """The ids of each table's rows, by its name."""
    return {data["name"]: [row["id"] for row in data["rows"]] for data in _tables(app)}


def column(app: AppTest, table: str, name: str) -> list[str]:
    """What stands in one column of a table."""
    data = next(data for data in _tables(app) if data["name"] == table)
    place = [head["name"] for head in data["columns"]].index(name)
    return [row["cells"][place].get("t", "") for row in data["rows"]]


def _tables(app: AppTest) -> list[dict[str, Any]]:
    return [
        json.loads(component.proto.json) for component in app.get("bidi_component") if "tidemark_table" in component.proto.component_name
    ]
