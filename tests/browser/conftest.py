"""A browser and a server for the tests that look at pages: one of each for all of them, a fresh page for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from tests.browser.faked import Faked, faked
from tests.browser.serving import Served, served
from tests.browser.watching import Watched
from tests.entering import enter

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
def artifacts() -> Path | None:
    """Where screenshots go: to the folder that TIDEMARK_ARTIFACTS names; without it none are made."""
    given = os.environ.get("TIDEMARK_ARTIFACTS")
    if not given:
        return None
    Path(given).mkdir(parents=True, exist_ok=True)
    return Path(given)


@pytest.fixture(scope="module")
def server(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The real server on an empty workspace. Its jobs would slow all other tests down, so it ends with the file's tests."""
    folder = tmp_path_factory.mktemp("walk")
    with served(folder / "workspace", folder / "server.log") as running:
        enter(browser, running.url, running.token)
        yield running


@pytest.fixture(scope="package")
def faked_server(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faked]:
    """The dashboard on a workspace in memory, one for all tests."""
    with faked(tmp_path_factory.mktemp("fakes") / "server.log") as running:
        enter(browser, running.url)
        yield running


@pytest.fixture
def fakes(faked_server: Faked) -> str:
    """Its address, with a busy workspace made anew whose pages stand still: what refreshes itself takes time from what is looked at."""
    return faked_server.arrange("--busy", "--still")


@pytest.fixture
def live_fakes(faked_server: Faked) -> str:
    """Its address, with a busy workspace made anew whose pages refresh themselves."""
    return faked_server.arrange("--busy")


@pytest.fixture(scope="package")
def browser(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """Chromium with a profile of its own, in a zone that is not UTC: what it has fetched and compiled once serves all tests."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=chromium,
            args=list(FLAGS),
            viewport={"width": 1600, "height": 1000},
            timezone_id="Europe/Berlin",
            color_scheme="light",
            reduced_motion="reduce",
        )
        yield opened
        opened.close()


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    """A page of a wide screen."""
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


@pytest.fixture
def watched(page: Page, artifacts: Path | None) -> Iterator[Watched]:
    """The page with screenshots of its steps; its console may say no error until the test is over."""
    watching = Watched(page, artifacts)
    yield watching
    assert watching.errors == []
