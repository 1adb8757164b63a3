"""A browser and a server for the tests that look at pages: one of each for all of them, a fresh page for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.faked import faked
from tests.browser.serving import Served, served
from tests.browser.watching import Watched

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000
"""How long a page may take to show what it should: machines are shared."""


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: TIDEMARK_ARTIFACTS, which CI keeps, else a temporary directory."""
    given = os.environ.get("TIDEMARK_ARTIFACTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The real server on an empty workspace. Its jobs would slow all other tests down, so it ends with these."""
    folder = tmp_path_factory.mktemp("walk")
    with served(folder / "workspace", folder / "server.log") as running:
        yield running


@pytest.fixture(scope="package")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the dashboard on a workspace in memory."""
    with faked(tmp_path_factory.mktemp("fakes") / "server.log", "--busy") as url:
        yield url


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """Chromium, driven by Playwright."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a wide screen in a zone that is not UTC."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000}, timezone_id="Europe/Berlin", color_scheme="light")
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    context.close()


@pytest.fixture
def watched(page: Page, artifacts: Path) -> Watched:
    """The page with what its console says, and screenshots of its steps."""
    return Watched(page, artifacts)
