"""The code editor where Streamlit takes it off the page at a rerun and puts it back: what somebody types in it does not notice."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

LINES = 200
TYPED = "print('typed')"
OPEN = """async ([text, mode]) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: ".tm-code-split { overflow: auto; }" }));
    const { default: editor } = await import("/assets/code_editor.js");
    window.said = [];
    window.data = {
        name: "code.0", value: text, original: "", mode, diagnostics: [], height: 300, label: "Code", language: "python", pauseMs: 50,
    };
    window.show = () => {
        const host = document.body.appendChild(document.createElement("div"));
        const leave = editor({ data: window.data, parentElement: host, setStateValue: (name, value) => said.push(value) });
        return { host, leave };
    };
    window.shown = show();
}"""
AGAIN = {
    "first off": "() => { shown.host.remove(); shown.leave(); window.shown = show(); }",
    "first on": "() => { const old = shown; window.shown = show(); old.leave(); old.host.remove(); }",
    "a moment between": """async () => {
        shown.leave();
        shown.host.remove();
        await new Promise(requestAnimationFrame);
        window.shown = show();
    }""",
}
SCROLLED = "() => (document.querySelector('.tm-code-split') ?? document.querySelector('.cm-scroller')).scrollTop"


@pytest.mark.parametrize("mode", ["edit", "split"])
@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN.keys())
def test_an_editor_that_is_put_back_is_as_it_was(watched: Watched, fakes: str, again: str, mode: str) -> None:
    page = watched.page
    page.goto(f"{fakes}/api/v1/about")
    page.evaluate(OPEN, ["\n".join(f"line = {n}" for n in range(LINES)), mode])
    page.locator(".cm-content").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(f"\n{TYPED}")
    expect(page.get_by_text(TYPED)).to_be_visible()
    page.wait_for_function(f"({SCROLLED})() > 0")
    before = page.evaluate(SCROLLED)
    page.evaluate(again)
    expect(page.locator(".tm-code")).to_have_count(1)
    assert page.evaluate(SCROLLED) == before
    page.keyboard.insert_text("  # and more")
    expect(page.get_by_text(f"{TYPED}  # and more")).to_be_visible()
    page.wait_for_function("() => said.at(-1)?.endsWith('# and more')")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(page.get_by_text(TYPED)).to_have_count(0)


def test_an_editor_that_stays_away_is_gone(watched: Watched, fakes: str) -> None:
    page = watched.page
    page.goto(f"{fakes}/api/v1/about")
    page.evaluate(OPEN, ["first = 1", "edit"])
    page.locator(".cm-content").click()
    page.keyboard.insert_text(TYPED)
    page.evaluate("async () => { shown.leave(); await new Promise((done) => setTimeout(done, 1100)); window.shown = show(); }")
    expect(page.locator(".cm-content")).to_have_text("first = 1")


def test_sql_is_coloured_as_sql_also_where_it_was_pasted_into_python(watched: Watched, fakes: str) -> None:
    page = watched.page
    page.goto(f"{fakes}/api/v1/about")
    page.evaluate(OPEN, ["CREATE STREAMING TABLE t AS SELECT 'a' FROM STREAM v -- all", "edit"])
    words = page.locator(".cm-content span")
    coloured = "() => Array.from(document.querySelectorAll('.cm-content span'), (it) => it.textContent)"
    assert "-- all" not in page.evaluate(coloured), "Python has no such comment"
    page.evaluate("() => { shown.host.remove(); shown.leave(); data.language = 'sql'; window.shown = show(); }")
    for word in ("CREATE", "STREAMING", "SELECT", "-- all"):
        expect(words.filter(has_text=word)).to_have_count(1)


def test_two_versions_are_read_in_one_column_where_two_have_no_room(watched: Watched, fakes: str) -> None:
    """Every word of both stands within a phone's width."""
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{fakes}/api/v1/about")
    page.evaluate(OPEN, [f"counted = events.groupBy({', '.join(map(repr, range(30)))})", "edit"])
    page.evaluate(
        "() => { shown.host.remove(); shown.leave(); data.original = 'counted = 1'; data.mode = 'split'; data.readonly = true; show(); }"
    )
    expect(page.locator(".cm-mergeView")).to_have_count(0)
    expect(page.locator(".cm-deletedChunk")).to_contain_text("counted = 1")
    expect(page.locator(".cm-line").last).to_contain_text("28, 29)")
    assert page.evaluate("() => { const it = document.querySelector('.cm-scroller'); return it.scrollWidth - it.clientWidth; }") <= 0
