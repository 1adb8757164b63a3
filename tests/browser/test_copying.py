"""What is copied, in a browser on fakes: its bar moves, nothing stands still meanwhile, Cancel ends it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.faked import Faked
from tests.browser.pressing import press
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

SAVEPOINT = "sp-000000000002"


def test_a_savepoint_that_is_copied_shows_how_far_it_is_and_is_cancelled(watched: Watched, faked_server: Faked) -> None:
    url = faked_server.arrange("--copying")
    page = watched.open(f"{url}/job?job=post_engagement&tab=Configuration", ".tm-pairs")
    press(page, "Savepoint")
    bar = page.locator(".st-key-card_operations_job").get_by_test_id("operation-take")
    expect(bar).to_contain_text("of 2.0 MB")
    expect(bar).to_contain_text("left")
    expect(page.get_by_role("button", name="Savepoint", exact=True)).to_be_disabled()
    watched.look("job_copying", ".st-key-card_operations_job")
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_test_id("table-occurrences")).to_be_visible()
    press(page.locator(".st-key-card_operations_job"), "Cancel")
    ended = page.locator(".st-key-card_operations_job").get_by_test_id("ended-take")
    expect(ended).to_contain_text("was cancelled")
    expect(page.get_by_role("button", name="Savepoint", exact=True)).to_be_enabled()
    watched.look("job_copying_cancelled", ".st-key-card_operations_job")
    expect(page.get_by_test_id("taken")).to_have_count(0)


def test_a_fork_that_is_copied_is_cancelled_and_what_was_typed_stays(watched: Watched, faked_server: Faked) -> None:
    page = watched.open(f"{faked_server.arrange('--copying')}/fork?savepoint={SAVEPOINT}", ".cm-editor")
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("mine")
    page.keyboard.press("Enter")
    press(page, "Start fork")
    card = page.locator(".st-key-card_operations_fork")
    expect(card.get_by_test_id("operation-fork")).to_contain_text("as mine")
    watched.look("fork_copying", ".st-key-card_operations_fork")
    press(card, "Cancel")
    expect(card.get_by_test_id("ended-fork")).to_contain_text("was cancelled")
    expect(page.get_by_role("button", name="Start fork")).to_be_enabled()
    expect(name).to_have_value("mine")
