"""What can be done on the other pages (overview, state, versions, experiments, events, settings), on fakes, in light and in dark."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.faked import Faked
from tests.browser.pressing import DIALOG, POPOVER, choose, dialog, more, press, put_away
from tests.browser.watching import Watched
from tests.entering import SHOWN

pytestmark = pytest.mark.browser

STATE = "sp-000000000002"


def test_the_first_page_starts_the_example(watched: Watched, faked_server: Faked) -> None:
    page = watched.open(faked_server.arrange("--empty", "--still"), ".st-key-empty_jobs")
    watched.look("overview_empty")
    for path in ("savepoints", "versions", "experiments", "events"):
        page.get_by_role("link", name=path.capitalize(), exact=True).click()
        expect(page.locator("[class*=st-key-empty_]")).to_be_visible()
        watched.look(f"{path}_empty")
    page.get_by_role("link", name="Overview", exact=True).click()
    press(page, "Start the example")
    expect(page.locator("[data-testid=table-jobs] tbody tr")).to_have_count(2)


def test_what_needs_attention_is_acted_upon(watched: Watched, fakes: str) -> None:
    page = watched.open(fakes, "[data-testid=table-jobs] tbody tr")
    page.get_by_role("button", name=re.compile("^Failed")).click()
    expect(page.locator("[data-testid=table-jobs] tbody tr")).to_have_count(1)
    page.get_by_role("searchbox", name="Filter jobs").fill("nothing is called this")
    expect(page.get_by_text("No job fits.")).to_be_visible()
    watched.look("overview_none")
    page.locator("[class*=st-key-attention_] button").first.click()
    expect(page).to_have_url(re.compile(r"/job\?job="))
    watched.rest()


def test_a_savepoint_is_taken_of_a_job_that_has_none(watched: Watched, faked_server: Faked) -> None:
    page = watched.open(faked_server.arrange("--past", "--still"), ".st-key-attention_daily_totals_")
    watched.look("overview_unsaved")
    press(page, "Take a savepoint")
    expect(page).to_have_url(re.compile(r"/job\?job=daily_totals&tab=Savepoints"))
    expect(page.locator("[data-testid=table-job_savepoints] tbody tr")).to_have_count(1)
    page.go_back()
    expect(page.locator("[data-testid=table-jobs] tbody tr").first).to_be_visible()
    expect(page.locator(".st-key-attention_daily_totals_")).to_have_count(0)


def test_state_is_read_filtered_and_asked(watched: Watched, faked_server: Faked) -> None:
    url = faked_server.arrange("--busy", "--memory", "--still")
    page = watched.open(f"{url}/state?savepoint={STATE}", ".st-key-empty_unread")
    press(page, "Read the state")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    page.locator(".st-key-state_behind").click()
    expect(page.get_by_text(re.compile("^Rows [1-9][0-9,]+1 to"))).to_be_visible()
    page.get_by_role("textbox", name="Filter").fill("p42")
    expect(page).to_have_url(re.compile("filter=p42"))
    page.get_by_role("textbox", name="SQL").fill("SELECT nothing FROM state")
    press(page, "Run")
    expect(page.get_by_role("alert")).to_be_visible()
    watched.look("state_sql_wrong")
    page.get_by_role("textbox", name="SQL").fill("SELECT count(*) AS rows FROM state")
    press(page, "Run")
    expect(page.get_by_text(re.compile("^1 row in"))).to_be_visible()
    with page.expect_download() as download:
        page.locator(".st-key-save_state_answer").get_by_role("button", name="Parquet").click()
    assert download.value.suggested_filename == "state_answer.parquet"
    watched.look("state_answer")


def test_the_rest_of_a_large_state_is_read(watched: Watched, faked_server: Faked) -> None:
    url = faked_server.arrange("--memory", "--still")
    page = watched.open(f"{url}/state?savepoint={STATE}&query=counts&operator=2&store=default&variable=seen", ".st-key-read_all")
    watched.look("state_partly")
    press(page, "Read all 25,000 rows")
    expect(page.locator(".st-key-read_all")).to_have_count(0)
    expect(page.get_by_role("group", name="Rows", exact=True)).to_contain_text("all of them read")


def test_the_state_of_a_new_savepoint(watched: Watched, faked_server: Faked) -> None:
    url = faked_server.arrange("--memory", "--still")
    page = watched.open(f"{url}/state?savepoint={STATE}&query=counts&operator=1&store=left", ".st-key-empty_unread")
    press(page, "New savepoint")
    expect(page).not_to_have_url(re.compile(STATE))
    expect(page).to_have_url(re.compile(r"/state\?savepoint=sp-.*&operator=1&store=left"))
    expect(page.get_by_text("at batch 9, in savepoint")).to_be_visible()
    watched.look("state_new_savepoint")
    page.get_by_role("combobox", name=re.compile("Savepoint")).first.click()
    expect(page.get_by_role("option")).to_have_count(3)


def test_two_points_are_compared(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/versions?savepoint=sp-000000000002", "[data-testid=savepoint-id]")
    choose(page, "Compare with", "post_engagement_split")
    expect(page.get_by_test_id("comparing")).to_be_visible()
    expect(page.locator(".cm-mergeView")).to_be_visible()
    page.get_by_text("All values").click()
    watched.rest()
    watched.look("versions_difference", ".st-key-card_difference")
    press(page, "Swap")
    expect(page).to_have_url(re.compile("savepoint=post_engagement_split"))
    press(page, "Clear")
    expect(page.get_by_test_id("comparing")).to_have_count(0)


def test_a_variant_is_dropped_taken_back_and_promoted(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/experiments?experiment=ex-1", ".st-key-card_side_b")
    page.locator(".st-key-side_B button").click()
    watched.look("experiment_actions", "[role=menu]")
    page.get_by_role("menuitem", name="Drop", exact=True).click()
    expect(page.get_by_test_id("undo")).to_have_text("post_engagement_split was dropped")
    press(page, "Undo")
    expect(page.get_by_role("button", name="Promote…")).to_be_disabled()
    httpx.post(f"{fakes}/api/v1/jobs/post_engagement_split/resume", json={}, headers=SHOWN, timeout=60).raise_for_status()
    page.reload()
    expect(page.get_by_role("button", name="Promote…")).to_be_enabled()
    more(page, "compare_keys_button")
    watched.look("experiment_keys", POPOVER)
    put_away(page)
    press(page, "Promote…")
    asked = dialog(page, "Promote post_engagement_split")
    asked.get_by_role("radio").nth(1).check(force=True)
    expect(asked.get_by_text("Query id", exact=True)).to_be_visible()
    watched.look("experiment_promote", DIALOG)
    press(asked, "Promote")
    expect(page.get_by_text("post_engagement_split was promoted")).to_be_visible()


def test_the_side_of_an_experiment_is_stopped(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/experiments?experiment=ex-1", ".st-key-card_side_a")
    for item, title, yes in (
        ("Cancel at once…", "Cancel the run of", ""),
        ("Stop…", "Stop post_", "Stop"),
        ("Forget…", "Forget post_", "Forget"),
    ):
        page.locator(".st-key-side_A button").click()
        page.get_by_role("menuitem", name=item).click()
        asked = dialog(page, title)
        press(asked, yes or "Cancel")
        expect(asked).to_have_count(0)
    expect(page.get_by_text("This job was forgotten")).to_be_visible()
    watched.look("experiment_forgotten", ".st-key-card_side_a")


def test_any_two_jobs_are_compared(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/experiments", ".st-key-card_any_two")
    watched.rest()
    press(page, "Compare")
    expect(page.get_by_role("heading", level=1, name="against")).to_be_visible()
    watched.rest()


def test_events_are_filtered(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/events", "[data-testid=table-events] tbody tr")
    page.get_by_role("combobox", name="Time").click()
    expect(page.get_by_role("option").first).to_be_visible()
    watched.shoot("events_choice")
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Failures").click()
    expect(page.locator("[data-testid=table-events] tbody tr")).not_to_have_count(4)
    watched.look("events_failures")


def test_the_index_is_rebuilt(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/settings", "[data-testid=table-runtimes] tbody tr")
    more(page, "settings_command")
    watched.look("settings_command", POPOVER)
    put_away(page)
    press(page, "Rebuild…")
    asked = dialog(page, "Rebuild the index of ")
    watched.look("settings_rebuild", DIALOG)
    press(asked, "Rebuild")
    expect(page.get_by_text("The index was made anew")).to_be_visible()
    watched.look("settings_rebuilt")


def test_ranges_tabs_and_switches(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement", ".js-plotly-plot .main-svg")
    page.locator(".st-key-range").get_by_text("1h", exact=True).click()
    expect(page).to_have_url(re.compile("range=1h"))
    page.get_by_role("tab", name="Logs").click()
    expect(page.locator(".st-key-range")).to_be_hidden()
    page.locator(".st-key-log_bar").get_by_text("Follow", exact=True).click()
    expect(page.get_by_role("switch", name="Follow")).not_to_be_checked()
    page.get_by_role("tab", name="Events").click()
    page.get_by_role("tabpanel").locator("tbody tr").first.wait_for()
    watched.look("job_events_again")
    page.get_by_role("tab", name="Metrics").click()
    expect(page.locator(".st-key-range").get_by_role("radio", name="1h")).to_be_checked()
    expect(page).to_have_url(re.compile("range=1h"))


def test_examples_of_a_comparison_are_looked_at(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/experiments?experiment=ex-1", ".st-key-card_side_b")
    examples = page.locator("[class*=st-key-examples]")
    examples.locator("visible=true").first.wait_for()
    tabs = page.get_by_role("tab").all()
    assert len(tabs) > 1
    for tab in tabs:
        tab.click()
        expect(examples.locator("visible=true").first).to_be_visible()
    watched.look("experiment_examples")
