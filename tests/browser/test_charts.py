"""Charts as people read them: every name of a mark and every entry of a legend is there, and none covers another."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.faked import Faked
from tests.browser.pages import opened
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

V, R = "version", "restart"
NAMED: list[tuple[str, list[tuple[int, str, str]], list[tuple[str, str]]]] = [
    ("far apart", [(10, V, "v-1"), (600, V, "v-2")], [("v-1", "left"), ("v-2", "left")]),
    ("two close versions", [(15, V, "v-2"), (10, V, "v-1")], [("v-1 · v-2", "left")]),
    ("more than two", [(1, V, "v-1"), (2, V, "v-2"), (3, V, "v-3")], [("3 versions", "left")]),
    ("one version twice", [(1, V, "v-1"), (2, V, "v-1")], [("v-1", "left")]),
    ("restarts", [(100, R, "restart"), (105, R, "restart"), (110, R, "restart")], [("3 restarts", "left")]),
    ("both", [(300, R, "restart"), (310, V, "v-1"), (330, R, "restart")], [("v-1 · 2 restarts", "left")]),
    ("in fewer words near the end", [(750, V, "v-523522ba"), (770, V, "v-1c089c9f")], [("2 versions", "left")]),
    ("at the end", [(995, V, "v-1")], [("v-1", "right")]),
    ("pushed back from the end", [(930, V, "v-1"), (960, R, "restart")], [("v-1 · restart", "right")]),
    ("out of sight", [(-5, V, "v-1"), (1_005, V, "v-2")], []),
]
PLACED = """async ([marks, width]) => {
    const { placed } = await import("/assets/labels.js");
    return placed(marks, [0, 1000], width);
}"""
COVERED = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) => {
    const boxes = [...plot.querySelectorAll(".annotation-text")].map((one) => one.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return boxes.filter((a, i) => boxes.some((b, j) => i < j && meet(a, b)));
}).length"""
CUT = """() => [...document.querySelectorAll(".tm-panel")].filter((panel) => {
    const legend = panel.querySelector(".tm-panel-legend"), box = legend.getBoundingClientRect();
    const out = [...legend.children].some((one) => {
        const { left, right, bottom } = one.getBoundingClientRect();
        return left < box.left - 1 || right > box.right + 1 || bottom > box.bottom + 1;
    });
    return out || [...legend.querySelectorAll(".tm-panel-name")].some((name) => name.scrollWidth > name.clientWidth);
}).map((panel) => panel.dataset.testid)"""
LEVELS = """() => {
    const boxes = [...document.querySelectorAll(".tm-panel")].map((one) => one.getBoundingClientRect());
    const rows = Object.values(Object.groupBy(boxes, ({ top }) => Math.round(top)));
    return rows.map((row) => new Set(row.map(({ height }) => Math.round(height))).size);
}"""


@pytest.mark.parametrize(("marks", "labels"), [case[1:] for case in NAMED], ids=[case[0] for case in NAMED])
def test_names_that_would_overlap_become_one(
    watched: Watched, faked_server: Faked, marks: list[tuple[int, str, str]], labels: list[tuple[str, str]]
) -> None:
    placements = placed(watched.page, faked_server.url, marks)
    assert [(placement["text"], placement["side"]) for placement in placements] == labels


def test_however_many_marks_there_are_no_two_names_overlap(watched: Watched, faked_server: Faked) -> None:
    marks = [(at * at % 1_000, V if at % 3 else R, f"v-{at:08x}" if at % 3 else R) for at in range(400)]
    placements = placed(watched.page, faked_server.url, marks)
    assert all(before["to"] < after["from"] for before, after in pairwise(placements))
    assert sum(len(placement["marks"]) for placement in placements) == len(marks)


def placed(page: Page, url: str, marks: list[tuple[int, str, str]]) -> list[dict[str, Any]]:
    """The labels of marks on an axis of 0 to 1000 that is 330 px wide: a panel's of three in a row at 1280 px."""
    page.goto(f"{url}/assets/labels.js")
    points = [{"at": at, "kind": kind, "text": text} for at, kind, text in marks]
    return list(page.evaluate(PLACED, [points, 330]))


@pytest.mark.parametrize("width", [1280, 1600])
def test_no_legend_of_a_job_is_cut_and_panels_stay_level(watched: Watched, fakes: str, width: int) -> None:
    page = watched.page
    page.set_viewport_size({"width": width, "height": 1_500})
    opened(watched, fakes, "job")
    page.wait_for_function(f"({CUT})().length === 0 && ({LEVELS})().every((heights) => heights === 1)")
    assert page.locator(".tm-panel").count() >= 9
    watched.shoot(f"legends_{width}")
    assert watched.errors == []


def test_marks_of_a_restless_job_can_be_read(watched: Watched, faked_server: Faked) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 1_500})
    page.goto(f"{faked_server.arrange('--jobs', '3', '--past', '--still')}/job?job=post_engagement")
    page.get_by_text("3 restarts").first.wait_for()
    watched.rest()
    page.wait_for_function(f"({COVERED})() === 0")
    watched.shoot("marks")
