"""The files that pages need are on this server, every one of them, and nothing else is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import dashboard
from dashboard.served import asset_path, asset_url

HERE = Path(dashboard.__file__).parent


@pytest.mark.parametrize("name", ["panel.js", "panel.css", "figure.js", "code_editor.js", "plotly.min.js", "tide.svg", "favicon.png"])
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
