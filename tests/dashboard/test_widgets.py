"""Pieces of pages, run by Streamlit itself."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from dashboard.components.code_editor import syntax_diagnostics
from dashboard.key_figures import spark
from dashboard.widgets import STATES, chip, state_chip, when
from pipelines.domain.runs import RunState


def test_every_state_has_a_chip() -> None:
    assert set(STATES) == {None, *RunState}
    assert "Failed" in state_chip(RunState.FAILED)
    assert "live" in state_chip(RunState.RUNNING)


def test_what_people_typed_is_escaped() -> None:
    assert "<script" not in chip("<script>", hint='"><script>')


def test_a_relative_time_has_the_exact_one_on_hover() -> None:
    assert when(1_000, 13_000) == '<time datetime="1970-01-01 00:00:01 UTC" title="1970-01-01 00:00:01 UTC">12 s ago</time>'


def test_a_small_line_needs_two_numbers() -> None:
    assert spark([1.0, None]) == ""
    assert "mask-image" in spark([1.0, None, 3.0])
    assert "mask-image" in spark([0.0, 0.0])


def test_diagnostics_point_at_the_fault() -> None:
    assert syntax_diagnostics("x = 1\n") == []
    diagnostics = syntax_diagnostics("x = 1\ny = (\n")
    assert [(d.line, d.severity) for d in diagnostics] == [(2, "error")]


def _page() -> None:
    import streamlit as st

    from dashboard.components.code_editor import code_editor
    from dashboard.components.panel import panel
    from dashboard.drawing.jobs import throughput
    from dashboard.key_figures import KeyFigure, key_figures
    from dashboard.widgets import empty_state, errors_shown, page_header
    from pipelines.domain.errors import Conflict

    with page_header("A page", chips=["<i>chip</i>"], caption="said"):
        st.button("Act")
    key_figures([KeyFigure("Input", "1k", "rows/s", note="up", tone="green", line=[1, 2])])
    panel(throughput({"t": [0, 1], "input_rate": [1, 2], "processed_rate": [1, None]}), key="one", group="g")
    panel(throughput({"t": []}), key="two", group="g")
    st.text(code_editor("x = 1", key="code", original="x = 2", mode="split"))
    with empty_state("Nothing", "It says what this is.", key="none"):
        st.button("Begin")
    with errors_shown():
        raise Conflict("a.code", "It cannot be <done>.", "Wait for `it`.")


def test_a_page_of_all_pieces_runs() -> None:
    page = AppTest.from_function(_page, default_timeout=30).run()
    assert not page.exception
    html = "".join(str(element.proto.body) for element in page.get("html"))
    for words in ("<h1>A page</h1>", "rows/s", "It cannot be &lt;done&gt;.", "a.code", '<code class="tm-mono">it</code>', "Nothing"):
        assert words in html
    assert page.text[0].value == "x = 1"


def _asking() -> None:
    import streamlit as st

    from dashboard.widgets import confirm
    from pipelines.domain.errors import Conflict

    def go() -> None:
        if "refuse" in st.session_state:
            raise Conflict("still.needed", "It is still needed.")
        st.session_state.gone = True

    if "gone" not in st.session_state:
        confirm("Really?", "It goes.", "Go", go)


def test_a_question_is_asked_before_something_goes() -> None:
    page = AppTest.from_function(_asking, default_timeout=30).run()
    assert "gone" not in page.session_state
    page.button(key="confirm_yes").click().run()
    assert page.session_state["gone"] is True
    assert not page.button


def test_what_was_refused_is_said_where_it_was_asked() -> None:
    page = AppTest.from_function(_asking, default_timeout=30)
    page.session_state["refuse"] = True
    page.run().button(key="confirm_yes").click().run()
    assert "gone" not in page.session_state
    assert "still.needed" in page.get("html")[0].proto.body
