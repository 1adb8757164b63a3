"""The log in a browser: searched, and read from its first error on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.watching import Watched

pytestmark = pytest.mark.browser


def test_a_search_and_the_first_line(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/job?job=post_engagement&tab=Logs", ".tm-log")
    log = page.get_by_test_id("log")
    expect(log).to_contain_text("line one")
    page.get_by_placeholder("Search the whole log").fill("two")
    expect(log).not_to_contain_text("line one")
    expect(page).to_have_url(re.compile("find=two"))
    watched.look("job_logs_search")
    log.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("line=9"))
    expect(log.locator(".here")).to_have_text("line two")
    watched.look("job_logs_line")
