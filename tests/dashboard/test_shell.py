"""The HTML that a page begins with: it knows its server, and asks in time for what the page needs."""

from __future__ import annotations

import re

import httpx
import pytest
import streamlit
from starlette.applications import Starlette

from dashboard import shell
from dashboard.navigation import FIRST, PAGES
from dashboard.served import PLOTLY
from tests.dashboard.asking import answered

STATIC = shell._static()


def got(path: str) -> httpx.Response:
    return answered(Starlette(routes=shell.routes()), path)


@pytest.mark.parametrize("path", ["/", *(f"/{listed.path}" for name, listed in PAGES.items() if name != FIRST)])
def test_every_page_begins_with_the_server_it_talks_to(path: str) -> None:
    answer = got(f"{path}?job=a")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "window.__streamlit = { BACKEND_BASE_URL: location.origin }" in answer.text
    assert answer.text.index("BACKEND_BASE_URL") < answer.text.index("/static/js/index.")
    assert "<title>Tidemark</title>" in answer.text
    assert "SourceSans" not in answer.text


def test_the_first_page_has_one_address() -> None:
    answer = got("/overview?filter=a%20b&live=false")
    assert (answer.status_code, answer.headers["Location"]) == (307, "/?filter=a%20b&live=false")
    assert got("/overview").headers["Location"] == "/"


@pytest.mark.parametrize(("path", "hint"), [("/job", "preload"), ("/versions", "preload"), ("/events", "prefetch")])
def test_plotly_comes_first_where_there_are_charts(path: str, hint: str) -> None:
    assert re.search(rf'<link rel="{hint}" href="/assets/{re.escape(PLOTLY)}\?v=\w+" as="script">', got(path).text)


def test_streamlit_s_late_scripts_are_named_once_and_exist() -> None:
    named = re.findall(r'href="\./static/js/([\w.-]+)"', got("/").text)
    assert len(named) == len(set(named))
    assert {name for name in named if not (STATIC / "static" / "js" / name).is_file()} == set()
    assert {widget for widget in shell.WIDGETS if not any(name.startswith(f"{widget}.") for name in named)} == set()


def test_streamlit_still_reads_what_it_is_told() -> None:
    scripts = "".join(path.read_text() for path in (STATIC / "static" / "js").glob("index.*.js"))
    assert "BACKEND_BASE_URL" in scripts, f"Streamlit {streamlit.__version__} looks for its server in another way"
