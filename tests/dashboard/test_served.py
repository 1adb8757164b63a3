"""The files that pages need are on this server, every one of them, and nothing else is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import plotly
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

import dashboard
from dashboard.served import PLOTLY, asset_path, asset_url, serve_asset
from tests.dashboard.asking import answered

HERE = Path(dashboard.__file__).parent


@pytest.mark.parametrize("name", ["panel.js", "panel.css", "figure.js", "code_editor.js", "plotly-basic.min.js", "tide.svg", "favicon.png"])
def test_an_asset_is_there_under_the_hash_of_its_content(name: str) -> None:
    assert re.fullmatch(rf"/assets/{re.escape(name)}\?v=[0-9a-f]{{12}}", asset_url(name))


@pytest.mark.parametrize("name", ["../server.py", "..", ".", "code_editor/editor.js", "server.py", ".streamlit", "a\\b", "missing.js"])
def test_nothing_else_is_served(name: str) -> None:
    assert asset_path(name) is None


def test_the_theme_names_only_fonts_that_are_here() -> None:
    theme = tomllib.loads((HERE / ".streamlit" / "config.toml").read_text())["theme"]
    urls = [face["url"] for face in theme["fontFaces"]]
    assert urls
    assert all(asset_path(url.removeprefix("/assets/")) for url in urls)


@pytest.mark.parametrize(
    "name", ["assets/style.css", "components/panel.css", "components/panel.js", "components/figure.js", "components/plan.js"]
)
def test_pages_ask_nothing_of_other_sites(name: str) -> None:
    assert not re.findall(r"https?://(?!www\.w3\.org)", (HERE / name).read_text())


def test_the_server_listens_to_this_machine_alone_and_asks_nobody() -> None:
    config = tomllib.loads((HERE / ".streamlit" / "config.toml").read_text())
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False


def test_the_small_plotly_is_of_the_version_that_the_package_brings() -> None:
    whole = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    assert _version(whole) == _version(HERE / "assets" / PLOTLY)


def _version(script: Path) -> str:
    match = re.search(r"plotly\.js .*?v([\d.]+)", script.read_text()[:300])
    assert match is not None
    return match.group(1)


@pytest.mark.parametrize(("name", "packed"), [(PLOTLY, True), ("panel.css", True), ("inter.woff2", False)])
def test_text_goes_out_compressed_and_is_kept_for_ever(name: str, packed: bool) -> None:
    app = Starlette(routes=[Route("/assets/{name}", serve_asset)])
    answer = answered(app, asset_url(name))
    path = asset_path(name)
    assert path is not None
    assert answer.content == path.read_bytes()
    assert (answer.headers.get("Content-Encoding") == "gzip") is packed
    assert "immutable" in answer.headers["Cache-Control"]
    assert "Content-Encoding" not in answered(app, asset_url(name), **{"Accept-Encoding": "identity"}).headers
    assert "immutable" not in answered(app, f"/assets/{name}").headers["Cache-Control"]


def test_no_other_site_steers_a_page() -> None:
    """Streamlit takes messages from the origins that it lists; its own default is its makers' cloud."""
    config = tomllib.loads((HERE / ".streamlit" / "config.toml").read_text())
    assert config["client"]["allowedOrigins"] == []
