"""What is pressed on the tabs of a job's page (batches, state, versions, events, the axis of batches), on fakes, in light and in dark."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.faked import Faked
from tests.browser.pressing import POPOVER, more, press, put_away
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

JOB = "/job?job=post_engagement&tab="
STRIP = "[data-testid=film-film_post_engagement]"
TIMELINE = "[data-testid=panel-timeline_counts_post_engagement]"


@pytest.fixture
def past(faked_server: Faked) -> str:
    """Jobs with many batches, several versions and a past, on pages that stand still."""
    return faked_server.arrange("--busy", "--past", "--still")


def rows(page: Page, table: str) -> Locator:
    return page.locator(f"[data-testid=table-{table}] tbody tr")


def thin(page: Page, batch: int) -> Locator:
    """The thin frame of a batch on the strip."""
    return page.locator(f'{STRIP} [data-frame="counts:{batch}"]')


def test_more_batches_are_listed(watched: Watched, faked_server: Faked) -> None:
    """On a page that refreshes itself: Streamlit may leave what a part drew no more until that part is drawn again."""
    past = faked_server.arrange("--busy", "--past")
    page = watched.open(f"{past}{JOB}Batches", "[data-testid=table-batches] tbody tr")
    expect(rows(page, "batches")).to_have_count(100)
    button = page.get_by_role("button", name="Show 500")
    button.scroll_into_view_if_needed()
    watched.look("job_batches_more")
    fourth_batch(page)
    watched.look("job_batch")
    batch_put_away(page)
    button.click()
    expect(rows(page, "batches")).to_have_count(500)
    expect(page).to_have_url(re.compile("batches=500"))
    press(page, "Show 2,000")
    expect(rows(page, "batches")).to_have_count(700)
    expect(page.get_by_role("button", name=re.compile("^Show"))).to_have_count(0)
    fourth_batch(page)
    batch_put_away(page)


def fourth_batch(page: Page) -> None:
    rows(page, "batches").nth(3).click()
    expect(page.locator(".st-key-card_batch")).to_contain_text("Batch 697")


def batch_put_away(page: Page) -> None:
    page.locator(".st-key-batch_close button").first.click()
    expect(page.locator(".st-key-card_batch")).to_have_count(0)


def test_a_bar_of_the_timeline_is_forked_from(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Batches", f"{TIMELINE} .barlayer .point")
    expect(page.get_by_role("img", name="100 batches over time")).to_be_visible()
    watched.look("job_timeline")
    bar(page, 40)
    expect(page.locator(".st-key-card_batch")).to_contain_text("Batch 641")
    expect(page).to_have_url(re.compile("batch=counts%3A641"))
    watched.look("job_timeline_batch")
    watched.rest()
    bar(page, 40)
    expect(page.locator(".st-key-card_batch")).to_have_count(0)
    watched.rest()
    bar(page, 41)
    press(page, "Fork from here")
    expect(page).to_have_url(re.compile(r"/fork\?savepoint=sp-"))
    watched.rest()


def bar(page: Page, place: int) -> None:
    """Presses one of the timeline's bars, counted from the left."""
    at = page.locator(f"{TIMELINE} .barlayer .trace").first.locator(".point").nth(place).bounding_box()
    assert at is not None
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    expect(page.locator(f"{TIMELINE} .hoverlayer .hovertext")).to_be_visible()
    page.mouse.down()
    page.mouse.up()


def test_a_thin_frame_of_the_strip_is_saved(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Savepoints", f"{STRIP} .tm-film-frame")
    expect(page.locator(f"{STRIP} .tm-film-thin button")).to_have_count(100)
    thin(page, 641).click()
    expect(page.locator(".tm-point")).to_contain_text("Batch 641")
    expect(page).to_have_url(re.compile("batch=counts%3A641"))
    watched.look("job_strip")
    press(page, "Savepoint here")
    expect(page.get_by_test_id("taken")).to_contain_text("batch 641")
    thin(page, 641).click()
    expect(page.locator(".tm-point")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("batch="))


def test_a_fork_begins_at_a_thin_frame_of_event_time(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Savepoints", f"{STRIP} .tm-film-frame")
    page.get_by_role("radio", name="Event time").click()
    expect(page).to_have_url(re.compile("axis=event"))
    expect(page.locator(f"{STRIP} .tm-film-thin button")).to_have_count(34)
    thin(page, 664).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator(".tm-point")).to_contain_text("Batch 661")
    watched.look("job_strip_event")
    press(page, "Fork from here")
    expect(page).to_have_url(re.compile(r"/fork\?savepoint=sp-"))
    expect(page.locator(".cm-editor")).to_be_visible()
    watched.rest()


def test_the_state_of_the_newest_batch_is_looked_into(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}State", "[data-testid=table-states] tbody tr")
    more(page, "commands_state")
    watched.look("job_state_command", POPOVER)
    put_away(page)
    rows(page, "states").first.click()
    expect(page).to_have_url(re.compile(r"/state\?.*store=default"))
    page.go_back()
    press(page, "Savepoint of the newest batch")
    expect(page).to_have_url(re.compile(r"/state\?savepoint=sp-"))
    expect(page.get_by_text("at batch 700, in savepoint")).to_be_visible()
    watched.look("state_newest")


def test_a_cell_of_the_heat_map_opens_that_state(watched: Watched, past: str) -> None:
    heat = "[data-testid^=heat-heat_post_engagement]"
    page = watched.open(f"{past}{JOB}State", f"{heat} canvas")
    watched.look("job_heat")
    page.locator(f"{heat} .tm-heat-plot").hover(position={"x": 4, "y": 4})
    expect(page.locator(f"{heat} .tm-heat-said")).to_contain_text("partition 0 · batch 601")
    page.get_by_role("radio", name="Size").click()
    expect(page).to_have_url(re.compile("measure=bytes"))
    expect(page.locator(heat)).to_contain_text("1.6 times the average")
    page.locator(f"{heat} .tm-heat-plot").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/state\?.*savepoint=sp-"))
    expect(page).to_have_url(re.compile("partition_id"))
    watched.rest()


def test_a_run_shows_its_version(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Versions", "[data-testid=table-runs] tbody tr")
    run = rows(page, "runs").nth(1)
    run.click()
    expect(run).to_have_attribute("aria-current", "true")
    version = run.locator("td").nth(2).inner_text()
    expect(page).to_have_url(re.compile(f"version={version}"))
    expect(page.locator(".st-key-version_head")).to_contain_text(version)
    watched.rest()
    page.get_by_role("radio", name="Side by side").click()
    expect(page.locator(".cm-mergeView")).to_be_visible()
    watched.look("job_version_of_a_run")


def test_an_event_opens_what_it_is_about(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Events", "[data-testid=table-occurrences] tbody tr")
    watched.look("job_occurrences")
    rows(page, "occurrences").filter(has_text="savepoint.taken").click()
    expect(page).to_have_url(re.compile(r"/savepoints\?savepoint=sp-"))
    expect(page.get_by_test_id("savepoint-id")).to_be_visible()
    page.go_back()
    rows(page, "occurrences").filter(has_text="run.failed").click()
    expect(page).to_have_url(re.compile("tab=Logs"))
    expect(page.get_by_test_id("log")).to_be_visible()
    watched.rest()


def test_a_brush_on_the_timeline_chooses_its_batches(watched: Watched, past: str) -> None:
    page = watched.open(f"{past}{JOB}Batches", f"{TIMELINE} .barlayer .point")
    box = page.locator(f"{TIMELINE} .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 60, steps=6)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from=.*&to="))
    expect(page.get_by_test_id("span")).to_contain_text("batches")
    watched.rest()
    assert 5 < rows(page, "batches").count() < 60
    watched.look("job_timeline_range")
    press(page, "Back to now")
    expect(rows(page, "batches")).to_have_count(100)
