"""One time zone on all pages: the browser's, or UTC; every text, hint, chart and file follows the switch in the top bar."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.pages import opened
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

CLOCKS = """async (moments) => {
    const { wall, moment } = await import("/assets/zones.js");
    return moments.map(([at, zone]) => [wall(at, zone), moment(wall(at, zone), zone) - at]);
}"""
NEWEST = "document.querySelector('[data-testid=panel-throughput_post_engagement] .js-plotly-plot').data[0].x.at(-1)"
CASES: list[tuple[int, str, str]] = [
    (1_800_000_000_000, "UTC", "2027-01-15 08:00:00.000"),
    (1_800_000_000_000, "Europe/Berlin", "2027-01-15 09:00:00.000"),
    (1_815_000_000_123, "America/New_York", "2027-07-07 18:40:00.123"),
    (1_800_000_000_000, "Asia/Kathmandu", "2027-01-15 13:45:00.000"),
    (1_806_195_600_000, "Europe/Berlin", "2027-03-28 03:00:00.000"),
    (1_806_195_599_999, "Europe/Berlin", "2027-03-28 01:59:59.999"),
]
"""The last two are on both sides of the night in which an hour is left out."""


def test_a_moment_in_a_zone_and_back(watched: Watched, fakes: str) -> None:
    watched.page.goto(f"{fakes}/assets/zones.js")
    told: list[Any] = watched.page.evaluate(CLOCKS, [[at, zone] for at, zone, _ in CASES])
    assert told == [[shown, 0] for _, _, shown in CASES]


def test_the_switch_to_utc_changes_every_time_and_goes_along(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "job")
    page = watched.page
    berlin, switch = page.evaluate(NEWEST), page.locator(".st-key-zone_bar")
    assert re.search(r"\d:\d\d CES?T", page.content())
    switch.get_by_text("UTC", exact=True).click()
    expect(page).to_have_url(re.compile("zone=UTC"))
    page.wait_for_function(f"(before) => {NEWEST} !== before", arg=berlin)
    watched.rest()
    assert page.evaluate(NEWEST)[11:13] != berlin[11:13]
    assert not re.findall(r"\d:\d\d CES?T", page.content())
    watched.look("zone_utc")
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.locator("[data-testid=table-jobs] tbody tr").first).to_be_visible()
    watched.rest()
    expect(page).to_have_url(re.compile("zone=UTC"))
    assert re.search(r"\d:\d\d UTC", page.content()) and not re.findall(r"\d:\d\d CES?T", page.content())
    assert "zone=UTC" in (page.locator("[data-testid=table-jobs] tbody a").first.get_attribute("href") or "")
    switch.get_by_text("Berlin", exact=True).click()
    expect(page).not_to_have_url(re.compile("zone="))


def test_an_address_says_the_zone(watched: Watched, fakes: str) -> None:
    watched.open(f"{fakes}/events?zone=UTC", "[data-testid=table-events] tbody tr")
    assert not re.findall(r"\d:\d\d CES?T", watched.page.content())
