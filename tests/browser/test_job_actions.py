"""What can be done on a job's page, on fakes, in light and in dark: each dialog, notice and answer is looked at as it stands there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.faked import Faked
from tests.browser.pressing import DIALOG, POPOVER, choose, command, dialog, more, press, put_away, typed
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

PAIRS = ".tm-pairs"


def state(page: Page, words: str) -> None:
    expect(page.locator(".tm-head").first.get_by_text(words, exact=True)).to_be_visible()


def test_a_running_job_is_forked_cancelled_stopped_and_resumed(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Configuration", PAIRS)
    press(page, "Fork")
    dialog(page, "Fork post_")
    watched.look("job_fork", DIALOG)
    put_away(page)
    menu = more(page)
    watched.look("job_more", POPOVER)
    press(menu, "Limits…")
    asked = dialog(page, "Set limits of post_")
    typed(page, "No progress: without a batch for", "20m")
    command(asked)
    watched.look("job_limits", DIALOG)
    press(asked, "Set limits")
    expect(asked).to_have_count(0)
    press(more(page), "Rescale…")
    asked = dialog(page, "Rescale post_")
    page.get_by_role("spinbutton", name="Partitions of its state").fill("8")
    page.keyboard.press("Enter")
    expect(asked.get_by_text("4 become 8")).to_be_visible()
    command(asked)
    watched.look("job_rescale", DIALOG)
    press(asked, "Rescale")
    expect(asked).to_have_count(0)
    press(more(page), "Cancel at once…")
    asked = dialog(page, "Cancel the run of")
    watched.look("job_cancel", DIALOG)
    press(asked, "Cancel")
    expect(asked).to_have_count(0)
    press(page, "Stop")
    asked = dialog(page, "Stop post_")
    command(asked)
    asked.get_by_text("Take a savepoint after it stopped").click()
    expect(asked.get_by_role("textbox", name="Label")).to_be_disabled()
    watched.look("job_stop", DIALOG)
    press(asked, "Stop")
    state(page, "Stopped")
    page.locator(".st-key-resume").click()
    asked = dialog(page, "Resume post_")
    watched.look("job_resume", DIALOG)
    asked.get_by_text("From a savepoint").click()
    expect(asked.get_by_text("Query id", exact=True)).to_be_visible()
    command(asked)
    watched.look("job_resume_from", DIALOG)
    press(asked, "Resume")
    state(page, "Running")


def test_a_savepoint_is_taken_and_opened(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Configuration", PAIRS)
    press(page, "Savepoint")
    expect(page.get_by_test_id("taken")).to_contain_text("batch 9")
    watched.look("job_taken", ".st-key-notice")
    press(page, "Open savepoint")
    expect(page).to_have_url(re.compile("/savepoints\\?savepoint=sp-"))
    watched.rest()


def test_a_batch_is_found_saved_and_gone_back_to(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_events&tab=Savepoints", ".st-key-point")
    typed(page, "Batch or time", "999")
    expect(page.get_by_role("alert")).to_contain_text("Batch 999 is not kept")
    watched.look("job_no_such_batch", ".stTabs")
    typed(page, "Batch or time", "8")
    expect(page.get_by_text("Batch 8", exact=True)).to_be_visible()
    press(page, "Savepoint here")
    expect(page.get_by_test_id("taken")).to_contain_text("batch 8")
    watched.look("job_point", ".stTabs")
    press(page, "Rewind to here…")
    asked = dialog(page, "Rewind post_events to batch 8")
    watched.look("job_rewind", DIALOG)
    press(asked, "Rewind")
    state(page, "Running")


def test_savepoints_are_taken_by_schedule(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Savepoints", ".st-key-schedule_line")
    expect(page.locator(".st-key-schedule_line")).to_contain_text("none")
    watched.look("job_schedule_line", ".st-key-schedule_line")
    press(page, "Schedule…")
    asked = dialog(page, "Set schedule of post_engagement")
    asked.get_by_text("By cron", exact=True).click()
    typed(page, "Cron", "30 3 * * *")
    expect(asked.get_by_text("Then:")).to_be_visible()
    command(asked)
    watched.look("job_schedule", DIALOG)
    watched.rest()
    press(asked, "Set schedule")
    expect(asked).to_have_count(0)
    watched.rest()
    press(page, "Prune…")
    asked = dialog(page, "Prune savepoints of post_engagement")
    command(asked)
    watched.look("job_prune", DIALOG)
    press(asked, "Prune")
    expect(asked).to_have_count(0)


def test_a_failed_job_is_examined_and_gone_back_with(watched: Watched, faked_server: Faked) -> None:
    url = faked_server.arrange("--damaged", "--still")
    page = watched.open(f"{url}/job?job=post_engagement_split&tab=Configuration", ".tm-box")
    press(page, "Examine the checkpoint")
    expect(page.locator(".tm-findings")).to_be_visible()
    watched.look("job_doctor", ".st-key-failed")
    page.get_by_role("button", name=re.compile("Go back to batch|Resume from a savepoint")).click()
    asked = page.get_by_role("dialog")
    watched.look("job_doctor_way_on", DIALOG)
    put_away(page)
    expect(asked).to_have_count(0)
    press(page, "Dismiss")
    expect(page.locator(".tm-findings")).to_have_count(0)
    press(page, "Read the log")
    expect(page).to_have_url(re.compile("tab=Logs"))
    expect(page.get_by_test_id("log")).to_be_visible()


def test_a_job_is_forgotten(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_events&tab=Configuration", PAIRS)
    press(more(page), "Forget this job…")
    asked = dialog(page, "Forget post_")
    watched.look("job_forget", DIALOG)
    press(asked, "Forget")
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    expect(page.locator("[data-testid=table-jobs] tbody tr").first).to_be_visible()
    expect(page.locator("[data-testid=table-jobs]").get_by_text("post_events")).to_have_count(0)


def test_a_batch_is_opened_and_closed(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Batches", "[data-testid=table-batches] tbody tr")
    page.locator("[data-testid=table-batches] tbody tr").first.click()
    expect(page.get_by_role("heading", name="Batch 9")).to_be_visible()
    watched.look("job_batch", ".st-key-card_batch")
    page.locator(".st-key-batch_close").click()
    expect(page.get_by_role("heading", name="Batch 9")).to_have_count(0)


def test_a_version_is_seen_beside_the_one_before(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement_split&tab=Versions", ".cm-editor")
    for view, there in (("Changes", ".cm-changedLine, .cm-deletedChunk"), ("Side by side", ".cm-mergeView")):
        page.get_by_role("radio", name=view).click()
        expect(page.locator(there).first).to_be_visible()
        watched.look(f"job_version_{view.casefold().replace(' ', '_')}", ".stTabs")
    with page.expect_download() as download:
        press(page, "Download")
    assert download.value.suggested_filename == "post_engagement.py"


def test_the_log_is_wrapped_and_taken_along(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Logs", ".tm-log")
    page.get_by_text("Wrap lines").click()
    expect(page.locator(".tm-log.wrap")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename.endswith(".log")


def test_a_job_that_waits_for_its_restart_and_one_at_a_poison_batch(watched: Watched, faked_server: Faked) -> None:
    fakes = faked_server.arrange("--failing", "--still")
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Configuration", PAIRS)
    expect(page.get_by_text("The job restarts by itself from its checkpoint")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    watched.look("job_restarting")
    press(more(page), "Restarts…")
    asked = dialog(page, "Set restart strategy of post_")
    choose(page, "Strategy", "fixed-delay")
    typed(page, "Restarts at most", "3")
    command(asked)
    watched.look("job_restart_strategy", DIALOG)
    press(asked, "Set strategy")
    expect(asked).to_have_count(0)
    page = watched.open(f"{fakes}/job?job=post_engagement_split&tab=Configuration", PAIRS)
    expect(page.get_by_text("Poison batch: counts failed 3 times in a row at batch 7")).to_be_visible()
    watched.look("job_poison")
    press(page, "Fork with changed code…")
    dialog(page, "Fork post_")
