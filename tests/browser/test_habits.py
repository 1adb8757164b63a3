"""What people do all day without thinking: keys, pausing, zooming, taking rows and pictures along."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.faked import Faked
from tests.browser.pages import opened
from tests.browser.watching import BACKGROUNDS, Watched

pytestmark = pytest.mark.browser

THROUGHPUT = '[data-testid="panel-throughput_post_engagement"]'
RANGE = f"document.querySelector('{THROUGHPUT} .js-plotly-plot')._fullLayout.xaxis.range.map(String)"
LENGTH = f"new Date({RANGE}[1]) - new Date({RANGE}[0])"


MANY = 150
"""Jobs: more than a page of the table shows."""
LETTERS = {"t": "/settings", "s": "/savepoints", "v": "/versions", "x": "/experiments", "e": "/events", "o": "/"}
REFRESHED = ("Overview", "Savepoints", "Versions", "Events")
"""Pages that draw themselves anew; the list of experiments does not."""


def test_two_keys_open_a_page(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "overview")
    for letter, path in LETTERS.items():
        watched.page.keyboard.press("g")
        watched.page.keyboard.press(letter)
        expect(watched.page).to_have_url(re.compile(rf":\d+{path}$"))
        watched.rest()


def test_keys_leave_alone_what_is_typed(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "overview")
    page = watched.page
    field = page.get_by_role("searchbox", name="Filter jobs")
    expect(field).to_be_visible()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("g s?/")
    expect(field).to_have_value("g s?/")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+a")
    expect(page).to_have_url(re.compile("/\\?filter="))


def test_back_leads_to_where_one_was(watched: Watched, fakes: str) -> None:
    """Also where a button or a row has opened another page: that is one step, with what was selected."""
    opened(watched, fakes, "overview")
    opened(watched, fakes, "job_state")
    page = watched.page
    page.locator("[data-testid=table-states] tbody tr").first.click()
    expect(page).to_have_url(re.compile(r"/state\?savepoint=sp-"))
    watched.rest()
    page.go_back()
    expect(page).to_have_url(re.compile(r"/job\?job=post_engagement&tab=State$"))
    expect(page.locator("[data-testid=table-states] tbody tr")).to_have_count(1)
    page.get_by_role("tab", name="Batches").click()
    page.locator("[data-testid=table-batches] tbody tr").first.click()
    expect(page.locator(".st-key-card_batch")).to_be_visible()
    page.get_by_role("link", name="Events", exact=True).click()
    expect(page).to_have_url(re.compile("/events"))
    watched.rest()
    page.go_back()
    expect(page.locator(".st-key-card_batch")).to_be_visible()
    expect(page).to_have_url(re.compile("batch=counts"))


def test_the_list_of_keys(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "overview")
    page = watched.page
    button = page.get_by_role("button", name="New job")
    button.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Take a savepoint")
    page.keyboard.press("g")
    page.keyboard.press("e")
    watched.look("keys", within="dialog")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    expect(page).to_have_url(re.compile(r":\d+/$"))


def test_keys_work_from_the_first_moment(watched: Watched, fakes: str) -> None:
    page = watched.page
    page.goto(f"{fakes}/events", wait_until="domcontentloaded")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Take a savepoint")


def test_s_takes_a_savepoint_of_the_job(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "job")
    watched.page.keyboard.press("s")
    expect(watched.page.get_by_test_id("taken")).to_contain_text(re.compile("sp-[0-9a-f]{12}"))


def test_a_pause_goes_along(watched: Watched, live_fakes: str) -> None:
    opened(watched, live_fakes, "job")
    page = watched.page
    page.get_by_text("Live", exact=True).click()
    paused = page.get_by_test_id("paused")
    expect(paused).to_have_text(re.compile(r"^Paused, as of \d\d:\d\d:\d\d$"))
    expect(page).to_have_url(re.compile("live=false"))
    for name in ("Overview", "Savepoints", "Versions", "Experiments", "Events"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
        watched.rest()
        if name in REFRESHED:
            expect(page.get_by_role("switch", name="Live")).not_to_be_checked()
            expect(paused).to_be_visible()
            expect(page).to_have_url(re.compile("live=false"))
    caption = paused.inner_text()
    page.wait_for_function("(said) => !said.includes(new Date().toTimeString().slice(0, 8))", arg=caption)
    page.reload()
    expect(paused).not_to_have_text(caption)
    page.get_by_text("Live", exact=True).click()
    expect(paused).to_have_count(0)


def test_a_brushed_range_is_in_the_address_and_hover_survives_a_refresh(watched: Watched, live_fakes: str) -> None:
    opened(watched, live_fakes, "job")
    page = watched.page
    whole = page.evaluate(LENGTH)
    brush(page)
    reset = page.locator(THROUGHPUT).get_by_role("button", name="Reset")
    expect(page).to_have_url(re.compile(r"from=20\S+&to=20"))
    expect(page.get_by_test_id("span")).to_have_text(re.compile(r"\d\d:\d\d:\d\d – \d\d:\d\d:\d\d CES?T · \d+"))
    watched.rest()
    page.wait_for_function(f"(whole) => {LENGTH} < 0.6 * whole", arg=whole)
    brushed = page.evaluate(RANGE)
    hover(page, 0.5)
    hint = page.locator(f"{THROUGHPUT} .hoverlayer .hovertext, {THROUGHPUT} .hoverlayer .legend")
    expect(hint.first).to_be_visible()
    line = page.locator(".tm-line").inner_text()
    page.wait_for_function("(line) => document.querySelector('.tm-line').innerText !== line", arg=line)
    assert page.evaluate(RANGE) == brushed
    expect(hint.first).to_be_visible()
    page.reload()
    page.wait_for_selector(".js-plotly-plot .main-svg")
    page.wait_for_function(f"(brushed) => {RANGE}.join() === brushed.join()", arg=brushed)
    page.get_by_role("button", name="Earlier").click()
    page.wait_for_function(f"(brushed) => {RANGE}[1] === brushed[0]", arg=brushed)
    watched.shoot("job_range")
    reset.click()
    expect(page).not_to_have_url(re.compile("from="))
    words = page.get_by_role("textbox", name="Range in words")
    words.fill("some day")
    words.press("Enter")
    expect(page.get_by_text("'some day' is no range of time")).to_be_visible()
    watched.shoot("job_range_refused")
    words.fill("yesterday 03:10–03:30")
    words.press("Enter")
    expect(page.get_by_test_id("span")).to_contain_text("03:10:00 – 03:30:00")
    expect(page).to_have_url(re.compile(r"from=20\S+&to=20"))
    expect(words).to_have_value("")
    watched.shoot("job_range_words")


def test_a_click_on_a_chart_selects_the_batch_then(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "job")
    page = watched.page
    hover(page, 0.995)
    page.mouse.down()
    page.mouse.up()
    card = page.locator(".st-key-card_moment")
    expect(card.get_by_role("heading", name=re.compile(r"^Batch \d"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"at=\d{13}"))
    watched.look("job_moment")
    page.get_by_text("Beside the day before").click()
    expect(page).to_have_url(re.compile("yesterday=true"))
    watched.shoot("job_yesterday")
    card.get_by_role("link", name="Log at that time").click()
    expect(page).to_have_url(re.compile("tab=Logs"))
    expect(page.get_by_test_id("log")).to_contain_text("line three")
    watched.rest()
    page.go_back()
    expect(card.get_by_role("heading", name=re.compile(r"^Batch \d"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"at=\d{13}"))
    page.go_forward()
    expect(page.get_by_test_id("log")).to_contain_text("line three")


def hover(page: Page, share: float) -> None:
    """The pointer over the first chart, at that share of its width."""
    frame = page.locator(f"{THROUGHPUT} .nsewdrag").first.bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + share * frame["width"], frame["y"] + frame["height"] / 2, steps=3)


def brush(page: Page) -> None:
    hover(page, 0.3)
    page.mouse.down()
    hover(page, 0.7)
    page.mouse.up()


def saved(page: Page, kind: str, folder: Path) -> Path:
    """The rows of the page's table as a file of this kind."""
    page.get_by_role("button", name="Save all rows").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=kind, exact=True).click()
    assert re.fullmatch(rf"(Jobs|Savepoints)-\d{{8}}T\d{{6}}\.{kind.lower()}", download.value.suggested_filename)
    download.value.save_as(folder / kind)
    return folder / kind


def test_all_pages_of_a_long_table_leave_in_their_order(watched: Watched, faked_server: Faked, tmp_path: Path) -> None:
    page = watched.page
    page.goto(faked_server.arrange("--jobs", str(MANY), "--still") + "/?sort=Job.down")
    expect(page.locator("[data-testid=table-jobs] tbody tr")).to_have_count(100)
    rows = list(csv.DictReader(saved(page, "CSV", tmp_path).read_text().splitlines()))
    names = [row["Job"] for row in rows]
    assert len(names) > MANY and names == sorted(names, key=str.casefold, reverse=True)


def test_rows_leave_as_they_are_filtered_with_plain_values(watched: Watched, fakes: str, tmp_path: Path) -> None:
    opened(watched, fakes, "overview")
    page = watched.page
    page.get_by_role("searchbox", name="Filter jobs").fill("post_engagement")
    expect(page.locator("[data-testid=table-jobs] tbody tr")).to_have_count(2)
    rows = list(csv.DictReader(saved(page, "CSV", tmp_path).read_text().splitlines()))
    assert [row["Job"] for row in rows] == ["post_engagement", "post_engagement_split"]
    assert (float(rows[0]["p99 (ms)"]), float(rows[0]["State size (bytes)"])) == (850, 1_500_000)
    assert datetime.fromisoformat(rows[0]["Last savepoint (Europe/Berlin)"]).utcoffset()
    assert len(rows[0]["Version"]) == len("v-") + 12
    assert rows[1]["p99 (ms)"] == ""
    table = pq.read_table(saved(page, "Parquet", tmp_path))
    assert table.column("Job").to_pylist() == [row["Job"] for row in rows]
    assert table.schema.field("Last savepoint (Europe/Berlin)").type == pa.timestamp("ms", tz="Europe/Berlin")
    assert pa.types.is_integer(table.schema.field("p99 (ms)").type)


def test_a_chart_leaves_as_a_picture(watched: Watched, fakes: str, tmp_path: Path) -> None:
    opened(watched, fakes, "job")
    for theme in watched.themes():
        with watched.page.expect_download() as download:
            watched.page.get_by_role("button", name="Save Throughput as a picture").click()
        path = tmp_path / f"picture_{theme}.png"
        download.value.save_as(path)
        with Image.open(path) as picture:
            drawn = picture.convert("RGB")
        assert f"rgb{drawn.getpixel((2, 2))}" == BACKGROUNDS[theme]
        assert drawn.width >= 2 * 480
        head = drawn.crop((0, 0, drawn.width, 100))
        assert len(head.getcolors(maxcolors=1 << 16) or ()) > 10, "the title and the legend stand above the chart"


def test_the_catalog_leaves_as_a_file(watched: Watched, live_fakes: str, tmp_path: Path) -> None:
    """Also while the page refreshes itself."""
    watched.page.goto(f"{live_fakes}/savepoints")
    watched.rest()
    rows = list(csv.DictReader(saved(watched.page, "CSV", tmp_path).read_text().splitlines()))
    assert {row["Savepoint"] for row in rows} >= {"sp-000000000007", "sp-000000000003", "sp-000000000002"}
    assert {int(row["Full size (bytes)"]) for row in rows} == {2_000_000}
    assert all(re.search(r"\+0[12]:00$", row["Taken (Europe/Berlin)"]) for row in rows)


def test_what_differs_leaves_as_a_file(watched: Watched, fakes: str, tmp_path: Path) -> None:
    watched.page.goto(f"{fakes}/versions?savepoint=sp-000000000002&with=sp-000000000003")
    watched.rest()
    with watched.page.expect_download() as download:
        watched.page.locator(".st-key-save_difference").get_by_role("button", name="Parquet").click()
    download.value.save_as(tmp_path / "difference.parquet")
    rows = pq.read_table(tmp_path / "difference.parquet").to_pylist()
    assert {row["Outcome"] for row in rows} <= {"changed", "only_a", "only_b", "unknown"}
    assert any(row["B − A"] for row in rows)


def test_a_tree_of_many_jobs_is_turned_and_unfolded(watched: Watched, faked_server: Faked) -> None:
    page = watched.page
    page.goto(faked_server.arrange("--jobs", str(MANY), "--past", "--still") + "/versions?savepoint=job_0")
    more = page.get_by_text("of job_0 that ended: show all")
    expect(more).to_be_visible()
    watched.shoot("versions_folded")
    more.click()
    expect(page).to_have_url(re.compile("whole=job_0"))
    expect(page.get_by_text("job_0_variant_33", exact=True)).to_be_visible()
    watched.rest()
    watched.shoot("versions_whole")
    page.wait_for_function("() => document.querySelector('.tm-panel').getBoundingClientRect().bottom > innerHeight + 600")
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 1_200)
    axis = page.locator(".tm-panel-axis")
    page.wait_for_function("() => document.querySelector('.tm-panel').getBoundingClientRect().top < -300")
    expect(axis).to_be_in_viewport()
    expect(axis).to_contain_text(":")
    watched.shoot("versions_scrolled")
    page.mouse.wheel(0, -3_000)
    page.get_by_role("button", name="Fold ended jobs").click()
    expect(page).not_to_have_url(re.compile("whole="))
    expect(more).to_be_visible()
    watched.rest()
    page.get_by_role("button", name="›").click()
    expect(page).to_have_url(re.compile(r"page=\d"))
    watched.look("versions_turned")


def test_ctrl_k_goes_to_a_job_a_savepoint_or_a_page(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/settings", "[data-testid=table-runtimes] tbody tr")
    asked = page.get_by_role("dialog", name="Go to")
    page.keyboard.press("Control+k")
    page.keyboard.type("split")
    expect(asked.get_by_role("option")).to_have_count(2)
    watched.look("switcher", ".tm-switcher")
    page.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("before ads")
    expect(asked.get_by_role("option", name="before ads")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("savepoint-id")).to_have_text("sp-000000000002")
    watched.rest()


def test_the_first_tab_passes_by_the_top_bar(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "overview")
    page = watched.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stMainBlockContainer")).to_be_focused()
