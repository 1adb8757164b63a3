"""How soon a page can be looked at: a browser that has never been here opens the overview and a job's page, on fakes.

Run by hand: `python3 -m tests -m bench tests/bench/test_first_paint.py -s`. Prints medians; asserts only that the pages came.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS
from tests.browser.faked import faked
from tests.browser.pages import PAGES
from tests.entering import enter

ROUNDS = 7
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
BYTES = "() => performance.getEntriesByType('resource').reduce((sum, one) => sum + one.transferSize, 0)"


@pytest.mark.bench
@pytest.mark.browser
def test_first_paint(chromium: str, tmp_path: Path) -> None:
    with faked(tmp_path / "server.log", "--busy") as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        opened(browser, served.url, "overview")
        print(f"\n{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of {ROUNDS}, each with an empty cache")
        for name in ("overview", "job"):
            paints, heads, contents, sizes = zip(*(opened(browser, served.url, name) for _ in range(ROUNDS)), strict=True)
            figures = ", ".join(
                f"{what} {statistics.median(of):,.0f} ms"
                for what, of in (("first paint", paints), ("title", heads), ("table" if name == "overview" else "charts", contents))
            )
            print(f"{name}: {figures}; {statistics.median(sizes) / 1e6:.1f} MB")
        browser.close()


def opened(browser: Browser, url: str, name: str) -> tuple[float, float, float, float]:
    """First contentful paint, title and content in ms after the address was entered, and bytes fetched."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    enter(context, url)
    page = context.new_page()
    path, shown = PAGES[name]
    began = time.perf_counter()
    page.goto(url + path, wait_until="commit")
    page.wait_for_selector(".tm-head h1")
    head = (time.perf_counter() - began) * 1_000
    page.wait_for_selector(shown)
    content = (time.perf_counter() - began) * 1_000
    measured = (page.evaluate(PAINT), head, content, page.evaluate(BYTES))
    context.close()
    return measured
