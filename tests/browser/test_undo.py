"""The notice that takes back what was just done: it floats, stays while the page refreshes itself and from page to page, works by keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.pages import opened
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

PHONE, WIDE = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=1000)
SEEN_ONCE = """() => {
    window.noticed = { same: document.querySelector('[data-testid="undo"]'), frames: 0, gone: 0 };
    const look = () => {
        const now = document.querySelector('[data-testid="undo"]');
        window.noticed.frames += 1;
        if (!now || getComputedStyle(now.closest('[data-testid="stElementContainer"]')).opacity !== "1") window.noticed.gone += 1;
        requestAnimationFrame(look);
    };
    look();
}"""
"""Looks at every frame whether the notice is there, and not faded."""


def test_a_dropped_variant_is_taken_back_by_keys(watched: Watched, fakes: str) -> None:
    page = watched.page
    page.set_viewport_size(WIDE)
    opened(watched, fakes, "experiment")
    title = page.get_by_role("heading", level=1)
    stood = title.bounding_box()
    page.get_by_role("button", name="Drop", exact=True).click()
    notice = page.get_by_test_id("undo")
    expect(notice).to_have_text("post_engagement_split was dropped")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert title.bounding_box() == stood, "the page beneath has not moved"
    watched.look("undo_drop")
    page.set_viewport_size(PHONE)
    watched.picture("undo_drop_phone")
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Undo", exact=True).focus()
    page.keyboard.press("Enter")
    expect(notice).to_have_text(re.compile("post_engagement_split is back"))
    expect(page.get_by_role("button", name="Drop", exact=True)).to_be_visible()


def test_it_stays_while_the_page_refreshes_itself_and_on_the_next_page(watched: Watched, live_fakes: str) -> None:
    page = watched.page
    opened(watched, live_fakes, "job")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    notice, resume = page.get_by_test_id("undo"), page.locator(".st-key-undo button")
    expect(notice).to_have_text("post_engagement stopped at batch 9")
    page.get_by_role("link", name="Savepoints", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Savepoints")).to_be_visible()
    watched.rest()
    resume.focus()
    page.evaluate(SEEN_ONCE)
    figures = page.get_by_test_id("key-figures")
    for _ in range(2):
        expect(figures).not_to_have_text(figures.inner_text(), use_inner_text=True)
    seen = page.evaluate("({ ...window.noticed, same: window.noticed.same === document.querySelector('[data-testid=\"undo\"]') })")
    assert seen["frames"] > 5 and seen["gone"] == 0, seen
    expect(resume).to_be_focused()
    page.keyboard.press("Enter")
    expect(notice).to_have_text("post_engagement goes on where it stopped")
    expect(notice).to_have_count(0)
