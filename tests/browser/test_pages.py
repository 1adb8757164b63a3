"""Every page on fakes: nothing in the console, readable by everybody in light and dark, whole on a phone and on a wide screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.faked import Faked
from tests.browser.pages import PAGES, opened
from tests.browser.pasts import LONG_NAMES
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

WIDTHS = {"1600": (1600, 1000), "2560": (2560, 1300), "phone": (390, 844)}
BESIDE = """() => {
    const main = document.querySelector('[data-testid="stMain"]'), width = document.documentElement.clientWidth;
    const clipped = (element) => {
        let at = element.parentElement;
        while (at !== main && getComputedStyle(at).overflowX === "visible") at = at.parentElement;
        return at !== main;
    };
    const beside = [...main.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > width + 1 && !clipped(one));
    const scrolls = main.scrollWidth > main.clientWidth || document.documentElement.scrollWidth > width;
    return [...(scrolls ? ["the page scrolls"] : []), ...beside.map((one) => one.className)];
}"""
"""What stands out of the page to the right; boxes that scroll by themselves may hold more."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page(watched: Watched, fakes: str, name: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 1000})
    opened(watched, fakes, name)
    assert not re.findall(r"\d:\d\d UTC", page.content()), "the page is told in the browser's time zone"
    watched.look(f"page_{name}_1280")
    for width, (across, down) in WIDTHS.items():
        page.set_viewport_size({"width": across, "height": down})
        watched.rest()
        page.wait_for_function(f"({BESIDE})().length === 0")
        watched.picture(f"page_{name}_{width}")


def test_a_chart_says_in_words_what_it_shows(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "job")
    for name in ("Throughput over time; last: input", "Batch time by phase over time", "Checkpoint size over time"):
        expect(watched.page.get_by_role("img", name=name)).to_be_visible()
    opened(watched, fakes, "versions")
    expect(watched.page.get_by_role("img", name="4 jobs with 3 savepoints over time")).to_be_visible()


def test_tab_goes_from_the_top_to_the_table_and_is_seen(watched: Watched, fakes: str) -> None:
    opened(watched, fakes, "overview")
    page = watched.page
    passed = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, seen, in_row = page.evaluate(FOCUSED)
        passed.append(name)
        assert seen, f"nobody sees that {name} has the focus"
        if in_row:
            break
    expected = ["Savepoints", "Events", "Live", "New job", "Filter jobs", "State"]
    assert [name for name in passed if name in expected] == expected, passed
    assert passed[-1] == "Select post_engagement", "the box of the row comes before the row"
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)[0] == "post_engagement"


FOCUSED = """() => {
    const at = document.activeElement;
    const name = at.getAttribute("aria-label") || at.innerText?.split("\\n").at(-1).trim() || at.tagName;
    const ring = (one, pseudo) => {
        const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(one, pseudo);
        return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    };
    const around = [at, at.parentElement, at.parentElement?.parentElement, at.nextElementSibling, at.closest("label")].filter(Boolean);
    const marked = [...(at.closest("label")?.querySelectorAll("div") ?? []), ...around].some((one) => ring(one, null));
    const seen = marked || at.matches("input[type=text], input[type=search]");
    return [name, seen, at.closest("[data-testid=table-jobs] tbody") !== null];
}"""
"""The name of what has the focus, whether a ring says so (a text field shows its caret and border), and whether it is in a row."""


TOP_OF_A_PHONE = """() => {
    const top = (selector) => document.querySelector(selector).getBoundingClientRect().top;
    return [top(".st-key-card_attention") < top(".tm-figures"), top(".st-key-under_way") < 52];
}"""


def test_the_navigation_of_a_phone(watched: Watched, fakes: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    opened(watched, fakes, "overview")
    assert page.evaluate(TOP_OF_A_PHONE) == [True, True], "attention comes before tiles, work under way stands in the top bar"
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavItems").get_by_role("link", name="Events").click()
    expect(page).to_have_url(re.compile("/events$"))
    expect(page.get_by_role("heading", name="Events")).to_be_in_viewport()
    expect(page.get_by_test_id("stSidebar")).not_to_be_in_viewport()


def test_long_names_fit_a_phone_and_are_told_apart_by_their_ends(watched: Watched, faked_server: Faked) -> None:
    url, page = faked_server.arrange("--long", "--still"), watched.page
    watched.open(f"{url}/", "[data-testid=table-jobs] tbody tr")
    for name in LONG_NAMES:
        link = page.get_by_role("link", name=re.compile(f"{name[:20]}.*{name[-6:]}"))
        expect(link).to_have_count(1)
        assert link.evaluate(
            "(it) => it.querySelector('.end').getBoundingClientRect().right <= it.closest('td').getBoundingClientRect().right"
        )
    page.set_viewport_size({"width": 390, "height": 844})
    watched.open(f"{url}/job?job={LONG_NAMES[0]}", ".tm-head h1")
    assert page.get_by_test_id("stMain").evaluate("(it) => it.scrollWidth <= it.clientWidth")


@pytest.mark.parametrize("options", [("--busy", "--failing"), ("--long",)], ids=["long states", "long names"])
def test_a_laptop_shows_the_table_of_jobs_whole(watched: Watched, faked_server: Faked, options: tuple[str, ...]) -> None:
    url, page = faked_server.arrange(*options, "--still"), watched.page
    watched.open(f"{url}/", "[data-testid=table-jobs] tbody tr")
    for across in (1440, 1536, 1600):
        page.set_viewport_size({"width": across, "height": 1000})
        watched.rest()
        assert page.get_by_test_id("table-jobs").evaluate("(it) => it.scrollWidth <= it.clientWidth"), f"at {across} px it scrolls"


def test_both_sides_of_a_comparison_stand_on_a_phone(watched: Watched, fakes: str) -> None:
    watched.page.set_viewport_size({"width": 390, "height": 844})
    watched.open(f"{fakes}/versions?savepoint=sp-000000000002&with=sp-000000000003", ".tm-both.tm-apart")
    assert watched.page.locator(".tm-wide").first.evaluate("(it) => it.scrollWidth <= it.clientWidth")


def test_an_address_has_a_line_of_its_own_on_a_phone(watched: Watched, fakes: str) -> None:
    watched.page.set_viewport_size({"width": 390, "height": 844})
    for path, label in (("/new?source=Runs+elsewhere", "Checkpoint"), ("/settings", "Place")):
        watched.open(f"{fakes}{path}", f'input[aria-label="{label}"]')
        assert watched.page.get_by_label(label, exact=True).evaluate("(it) => it.getBoundingClientRect().width") > 250
