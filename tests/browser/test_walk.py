"""The first steps of a new user, in a real browser against a real server with real Spark: from the empty page to a savepoint."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest
from playwright.sync_api import Locator, Page, expect
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from pipelines.domain.collection import GENERATORS
from pipelines.workspace import example
from tests.browser.pressing import find
from tests.browser.serving import ROOT, Served
from tests.browser.watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.spark, pytest.mark.timeout(1_200)]

JOB, GENERATOR = str(example.COUNTER), str(example.GENERATOR)
GENERATOR_SCRIPT = ROOT / "pipelines" / "jobs" / f"{GENERATOR}.py"
LONG_MS = 400_000
"""For what Spark does: its drivers start slowly on a busy machine, and windows close in the network's own time."""
FEW, BATCHES = 2, 24
"""A savepoint after the second number of batches, two seconds of events each, holds closed windows and open ones."""
FILES_BEFORE = 28
"""What is there before the counter begins; promotion, in which A and B differ, begins with the 30th."""
SAVEPOINT = re.compile(r"sp-[0-9a-f]{12}")
SOME = re.compile(r"[1-9][0-9,]*")


def test_the_first_steps(watched: Watched, server: Served) -> None:
    """`tests/long/test_walk.py` has the whole walk. Its steps are tried every time on fakes, and what they do in the workspace's tests."""
    the_empty_page_offers_the_example(watched, server)
    its_health_appears(watched, server, FEW)
    savepoint = a_savepoint_is_taken(watched, server, FEW)
    watched.page.get_by_role("button", name="Fork this savepoint").click()
    expect(watched.page).to_have_url(re.compile(rf"/fork\?savepoint={savepoint}"))
    expect(watched.page.get_by_text("ready to start")).to_be_visible()
    assert watched.errors == []


def walk(watched: Watched, server: Served) -> str:
    """From there to A against B, and the tree; the savepoint that was taken."""
    page = watched.page
    the_empty_page_offers_the_example(watched, server)
    its_events_began_a_while_ago(server)
    its_health_appears(watched, server, BATCHES)
    savepoint = a_savepoint_is_taken(watched, server, BATCHES)
    a_fork_is_prepared_as_an_experiment(watched, savepoint)
    a_and_b_are_compared(watched)
    the_tree_shows_it_all(watched, savepoint)
    a_pasted_link_shows_the_same(watched, page.url, savepoint)
    return savepoint


def the_empty_page_offers_the_example(watched: Watched, server: Served) -> None:
    page = watched.page
    page.goto(server.url)
    example = page.get_by_role("button", name="Start the example")
    expect(example).to_be_visible()
    watched.shoot("1_empty")
    example.click()
    page.get_by_role("row").get_by_role("link", name=JOB, exact=True).click()
    expect(page).to_have_url(re.compile(rf"/job\?job={JOB}"))


def its_events_began_a_while_ago(server: Served) -> None:
    """The generator goes on after files that it could have written already: the counter reads one a second, and new ones come every two."""
    server.tell(f"/jobs/{GENERATOR}/stop", {"savepoint": False})
    stopped(server, GENERATOR)
    output = server.workspace / "jobs" / GENERATOR / "output"
    asked = [argument.replace("{output}", str(output)) for argument in GENERATORS[GENERATOR][0]]
    made = [*asked, "--files", str(FILES_BEFORE), "--fast"]
    subprocess.run([sys.executable, str(GENERATOR_SCRIPT), *made], check=True)
    server.tell(f"/jobs/{GENERATOR}/resume", {})


def its_health_appears(watched: Watched, server: Served, batches: int) -> None:
    page = watched.page
    expect(page.get_by_text("Running", exact=True).first).to_be_visible(timeout=LONG_MS)
    for chart in ("Throughput", "Batch latency", "State rows"):
        panel = page.locator(".tm-panel").filter(has=page.get_by_text(chart, exact=True))
        expect(panel.locator(".js-plotly-plot")).to_be_visible(timeout=LONG_MS)
    batch_reached(server, batches)
    watched.shoot("2_health")


@retry(wait=wait_fixed(0.3), stop=stop_after_delay(LONG_MS / 1_000), retry=retry_if_result(lambda there: not there))
def batch_reached(server: Served, batch: int) -> bool:
    return int(server.ask(f"/jobs/{JOB}")["summary"]["batch"] or 0) >= batch


def a_savepoint_is_taken(watched: Watched, server: Served, batches: int) -> str:
    page = watched.page
    began = time.perf_counter()
    page.get_by_role("button", name="Savepoint", exact=True).click()
    answer = page.get_by_test_id("taken")
    expect(answer).to_contain_text(SAVEPOINT)
    print(f"\nfrom the click to the answer: {(time.perf_counter() - began) * 1_000:.0f} ms")
    text = answer.inner_text()
    match = SAVEPOINT.search(text)
    assert match is not None
    taken = server.ask(f"/savepoints/{match.group()}")
    assert taken["queries"][0]["batch"] >= batches
    for words in (rf"batch {taken['queries'][0]['batch']:,}", r"\d+ files, \d", r"new on disk"):
        assert re.search(words, text), text
    expect(page.get_by_text(taken["path"]).first).to_be_visible()
    print(f"the savepoint itself: {taken['took_ms']:.0f} ms, {taken['bytes']:,} bytes, {taken['new_bytes']:,} of them new")
    watched.shoot("3_savepoint")
    return match.group()


def a_fork_is_prepared_as_an_experiment(watched: Watched, savepoint: str) -> None:
    page = watched.page
    page.get_by_role("button", name="Fork this savepoint").click()
    expect(page).to_have_url(re.compile(rf"/fork\?savepoint={savepoint}"))
    expect(page.get_by_role("heading", name=f"Fork {JOB}")).to_be_visible()
    expect(page.get_by_text("ready to start")).to_be_visible()
    watched.shoot("4_fork")
    page.get_by_role("button", name="Add variant").click()
    expect(page).to_have_url(re.compile("variant=B"))
    watched.rest()
    another_script(watched, "post_engagement_split.py")
    page.get_by_role("radio", name="Side by side").click()
    expect(page.locator(".cm-mergeView")).to_be_visible()
    expect(page.get_by_text("(paid)").first).to_be_visible()
    expect(page.get_by_text("ready to start")).to_be_visible()
    watched.shoot("4_fork_split")
    page.get_by_role("button", name="Start experiment").click()
    expect(page).to_have_url(re.compile(r"/experiments\?experiment=e-"))


def another_script(watched: Watched, name: str) -> None:
    page = watched.page
    page.get_by_role("button", name="Load script").click()
    find(page, "From the gallery", name)
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("+3", exact=True)).to_be_visible()
    page.keyboard.press("Escape")


def a_and_b_are_compared(watched: Watched) -> None:
    page = watched.page
    for side, job in (("A", f"{JOB}_fork"), ("B", f"{JOB}_fork_b")):
        expect(page.locator(f".st-key-card_side_{side.lower()}").get_by_role("link", name=job, exact=True)).to_be_visible()
    for figure in ("Rows equal", "Changed", "Only in B"):
        expect(value(page, figure)).to_have_text(SOME, timeout=LONG_MS)
    expect(value(page, "Only in A")).to_have_text("0")
    expect(page.get_by_test_id("panel-output_views").locator(".js-plotly-plot")).to_be_visible()
    expect(page.get_by_test_id("panel-overlay_latency").locator(".js-plotly-plot")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_role("tab", name=re.compile("Changed"))).to_be_visible()
    switch, paused = page.get_by_text("Live", exact=True), page.get_by_test_id("paused")
    switch.click()  # beside four drivers a page that compares is hardly ever at rest
    expect(paused).to_be_visible()
    watched.shoot("5_experiment")
    page.locator(".st-key-card_code").scroll_into_view_if_needed()
    watched.shoot("5_experiment_code")
    switch.click()
    expect(paused).to_have_count(0)


def value(page: Page, figure: str) -> Locator:
    return page.get_by_role("group", name=figure, exact=True).locator(".tm-value")


def the_tree_shows_it_all(watched: Watched, savepoint: str) -> None:
    page = watched.page
    page.get_by_role("link", name="Versions").click()
    tree = page.get_by_test_id("panel-version_tree")
    for job in (JOB, f"{JOB}_fork", f"{JOB}_fork_b", GENERATOR):
        expect(tree.get_by_text(job, exact=True)).to_be_visible()
    watched.rest()
    where = tree.locator(".js-plotly-plot").evaluate(MARK, savepoint)
    page.mouse.click(where["x"], where["y"])
    expect(page).to_have_url(re.compile(rf"savepoint={savepoint}"))
    expect(page.get_by_test_id("savepoint-id")).to_have_text(savepoint)
    for fork in (f"{JOB}_fork", f"{JOB}_fork_b"):
        expect(page.locator(".st-key-card_descendants").get_by_role("link", name=fork, exact=True)).to_be_visible()
    watched.shoot("6_versions")


MARK = """(chart, savepoint) => {
    const { xaxis, yaxis } = chart._fullLayout;
    const frame = chart.getBoundingClientRect();
    for (const points of chart.calcdata) {
        const trace = points[0].trace;
        const at = (trace.customdata ?? []).findIndex(([id]) => id === savepoint);
        if (at >= 0) {
            const point = points[at];
            return { x: frame.left + xaxis._offset + xaxis.c2p(point.x), y: frame.top + yaxis._offset + yaxis.c2p(point.y) };
        }
    }
    throw new Error(`no mark of ${savepoint}`);
}"""
"""Where in the window a savepoint's mark is."""


@retry(wait=wait_fixed(0.3), stop=stop_after_delay(LONG_MS / 1_000), retry=retry_if_result(lambda there: not there))
def stopped(server: Served, job: str) -> bool:
    return bool(server.ask(f"/jobs/{job}")["summary"]["state"] == "stopped")


def a_pasted_link_shows_the_same(watched: Watched, url: str, savepoint: str) -> None:
    page = watched.page
    page.goto(url)
    expect(page.get_by_test_id("savepoint-id")).to_have_text(savepoint)
    watched.rest()
