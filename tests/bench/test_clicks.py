"""What people wait for after a click, in a real browser before a real server with real Spark: the example, a savepoint.

Run by hand: `python3 -m tests -m bench tests/bench/test_clicks.py -s`. The example is clicked once the server's processes are warm.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pipelines.sandbox.pool import DRIVERS
from pipelines.workspace import example
from tests.browser.conftest import FLAGS
from tests.browser.serving import Served, served
from tests.entering import enter
from tests.waiting import until

pytestmark = [pytest.mark.bench, pytest.mark.browser, pytest.mark.spark, pytest.mark.timeout(1_200)]
ROUNDS, SAVEPOINTS = 3, 7
EXAMPLE_S, SAVEPOINT_MS = 5.0, 200.0
PATIENCE_MS = 120_000
STOPWATCH = """() => {
    document.addEventListener('click', () => { window.clicked = performance.now() }, { capture: true, once: true })
    const watch = new MutationObserver(() => {
        if (!document.querySelector('[data-testid=taken]')) return
        window.seen = performance.now()
        watch.disconnect()
    })
    watch.observe(document.body, { subtree: true, childList: true })
}"""


def warm(server: Served) -> bool:
    about = server.ask("/about")
    return len(about["warm"]) == DRIVERS and all(process["is_warm"] for process in about["warm"])


def first_batch_s(page: Page, server: Served) -> float:
    """From the click on the example to its counter's first batch."""
    page.goto(server.url)
    button = page.get_by_role("button", name="Start the example")
    expect(button).to_be_visible()
    until(lambda: warm(server), PATIENCE_MS / 1_000)
    began = time.monotonic()
    button.click()
    until(lambda: has_batch(server), PATIENCE_MS / 1_000, every=0.05)
    return time.monotonic() - began


def has_batch(server: Served) -> bool:
    if str(example.COUNTER) not in {row["job"]["name"] for row in server.ask("/jobs")}:
        return False
    return server.ask(f"/jobs/{example.COUNTER}")["summary"]["batch"] is not None


def savepoints_ms(page: Page, server: Served) -> list[float]:
    """From each click on a running job's button to the savepoint's name on the page, by the page's own clock, once it has been drawn."""
    times = []
    for _ in range(SAVEPOINTS):
        page.goto(f"{server.url}/job?job={example.COUNTER}")
        button = page.get_by_role("button", name="Savepoint", exact=True)
        expect(button).to_be_enabled()
        page.wait_for_load_state("networkidle")
        page.evaluate("() => new Promise(done => requestIdleCallback(done))")
        page.evaluate(STOPWATCH)
        button.click()
        page.get_by_test_id("taken").wait_for()
        times.append(page.evaluate("() => window.seen - window.clicked"))
    return times


def one_round(browser: Browser, folder: Path) -> tuple[float, list[float]]:
    with served(folder / "ws", folder / "log") as server:
        context = browser.new_context(viewport={"width": 1600, "height": 1000})
        context.set_default_timeout(PATIENCE_MS)
        enter(context, server.url, server.token)
        page = context.new_page()
        seconds = first_batch_s(page, server)
        times_ms = savepoints_ms(page, server)
        context.close()
        return seconds, times_ms


def test_the_example_and_a_savepoint(chromium: str, tmp_path: Path) -> None:
    print(f"\n{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        rounds = []
        for number in range(ROUNDS):
            folder = tmp_path / str(number)
            folder.mkdir()
            rounds.append(one_round(browser, folder))
        browser.close()
    firsts, times_ms = [seconds for seconds, _ in rounds], [ms for _, times in rounds for ms in times]
    median = statistics.median(firsts)
    figures = ", ".join(f"{seconds:.1f}" for seconds in firsts)
    print(f"the example from the click to its first batch: {figures} s; {median / EXAMPLE_S:.2f} of what is expected")
    figures = f"median {statistics.median(times_ms):.0f} ms, most {max(times_ms):.0f} ms"
    print(f"a savepoint from the click to its name: {figures}; {statistics.median(times_ms) / SAVEPOINT_MS:.2f} of what is expected")
