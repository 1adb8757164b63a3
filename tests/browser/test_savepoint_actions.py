"""What can be done with savepoints, on fakes, in light and in dark: each dialog, menu and answer is looked at as it stands there."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.faked import Faked
from tests.browser.pressing import DIALOG, POPOVER, choose, command, dialog, more, press, put_away, typed
from tests.browser.watching import Watched
from tests.entering import SHOWN

pytestmark = pytest.mark.browser

OLD, NEW, WATCHED = "sp-000000000002", "sp-000000000003", "sp-000000000007"
MENU = "[role=menu]"
CARD = ".st-key-card_catalog"
ARCHIVED = "s3://lake/archive/clicks.tar.zst"
"""Where the busy workspace has exported one to."""
SECOND_AFTER = """async ([first, second, said, delay]) => {
    const frame = () => new Promise(requestAnimationFrame);
    const tick = async (name) => {
        const box = () => document.querySelector(`input[aria-label="${name}"]`);
        while (!box()) await frame();
        box().click();
    };
    await tick(first);
    while (!location.search.includes(said)) await frame();
    await new Promise((then) => setTimeout(then, delay));
    await tick(second);
}"""
"""Ticks a second box so long (ms) after the first one is in the address: while the page is drawn anew, and after."""


def chosen(watched: Watched, url: str, *savepoints: str) -> Page:
    """The catalog with these savepoints selected."""
    shown = (
        "[data-testid=savepoint-id]"
        if len(savepoints) == 1
        else ".st-key-card_bulk"
        if savepoints
        else "[data-testid=table-savepoints] tbody tr"
    )
    return watched.open(f"{url}/savepoints?savepoint={','.join(savepoints)}", shown)


def test_one_is_verified_and_proved(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD)
    press(page, "Verify")
    expect(page.locator(MENU)).to_be_visible()
    watched.look("savepoint_verify", MENU)
    page.get_by_role("menuitem", name="Checksums of all files").click()
    expect(page.get_by_test_id("ended-verify")).to_contain_text("intact")
    press(page, "Prove")
    expect(page.get_by_test_id("operation-prove")).to_be_visible()
    expect(page.get_by_test_id("ended-prove")).to_contain_text("proved")
    watched.look("savepoint_proved", ".st-key-card_operations_savepoints")


def test_one_is_exported_by_its_plan(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD)
    press(page, "Export…")
    asked = dialog(page, "Export sp-")
    expect(asked.get_by_role("button", name="Export", exact=True)).to_be_disabled()
    typed(page, "Destination", ARCHIVED)
    expect(asked.get_by_role("alert")).to_contain_text("is taken")
    watched.look("savepoint_export_refused", DIALOG)
    typed(page, "Destination", "/mnt/archive/one")
    asked.get_by_text("Then dispose of the savepoint here").click()
    expect(asked.get_by_text("What leaves this workspace")).to_be_visible()
    command(asked)
    watched.look("savepoint_export", DIALOG)
    press(asked, "Export, then dispose")
    expect(page.get_by_test_id("ended-export")).to_be_visible()
    expect(page.get_by_test_id("savepoint-id")).to_have_count(0)


def test_one_comes_back(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes)
    press(page, "Import…")
    asked = dialog(page, "Import a savepoint into this workspace")
    typed(page, "Where the export is", "/nowhere")
    press(asked, "Import")
    expect(asked.get_by_role("alert")).to_contain_text("there is no savepoint at /nowhere")
    watched.look("savepoint_import", DIALOG)
    typed(page, "Where the export is", ARCHIVED)
    press(asked, "Import")
    expect(page.get_by_test_id("ended-import")).to_be_visible()
    press(page, "Open savepoint")
    expect(page.get_by_test_id("savepoint-id")).to_be_visible()


def test_one_is_resumed_from(watched: Watched, fakes: str) -> None:
    httpx.post(f"{fakes}/api/v1/jobs/post_engagement/stop", json={"savepoint": False}, headers=SHOWN, timeout=60).raise_for_status()
    page = chosen(watched, fakes, OLD)
    press(page, "Resume from here")
    asked = dialog(page, "Resume post_engagement from")
    watched.look("savepoint_resume", DIALOG)
    press(asked, "Resume from here")
    expect(page).to_have_url(re.compile(r"/job\?job=post_engagement"))
    watched.rest()


def test_one_is_disposed_of(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD)
    menu = more(page, "commands_catalog")
    watched.look("savepoint_more", POPOVER)
    press(menu, "Dispose…")
    asked = dialog(page, "Dispose of sp-")
    watched.look("savepoint_dispose", DIALOG)
    asked.get_by_role("button", name="Dispose", exact=True).click()
    expect(asked).to_have_count(0)
    expect(page.get_by_test_id("savepoint-id")).to_have_count(0)


def test_one_is_annotated(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD)
    press(page, "Edit")
    page.get_by_role("textbox", name="Note").fill("Before the ads.")
    watched.look("savepoint_edit", CARD)
    page.get_by_test_id("stDateInputCalendarButton").click()
    expect(page.get_by_role("application", name="Choose date")).to_be_visible()
    watched.shoot("savepoint_best_before")
    page.keyboard.press("Escape")
    press(page, "Save")
    expect(page.get_by_text("Before the ads.")).to_be_visible()


def test_what_one_holds(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD)
    for tab in ("Offsets", "State", "Files", "Configuration", "Code"):
        page.get_by_role("tab", name=tab).click()
        if tab == "Code":
            expect(page.locator(".cm-editor")).to_be_visible()
        watched.look(f"savepoint_{tab.casefold()}", CARD)


def test_boxes_select_several_and_a_row_one(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes)
    for savepoint in (OLD, NEW):
        page.get_by_role("checkbox", name=f"Select {savepoint}").check()
        watched.rest()
    expect(page).to_have_url(re.compile(f"savepoint={OLD}%2C{NEW}"))
    expect(page.locator(".st-key-card_bulk")).to_contain_text("2 savepoints")
    watched.look("savepoints_selected")
    page.get_by_role("checkbox", name="Select all rows shown").check()
    expect(page.locator(".st-key-card_bulk")).to_contain_text("3 savepoints")
    watched.rest()
    page.locator(f"[data-row={NEW}]").get_by_text("post_engagement").click()
    expect(page.get_by_test_id("savepoint-id")).to_have_text(NEW)
    watched.rest()
    page.locator(f"[data-row={NEW}]").get_by_text("post_engagement").click()
    expect(page.get_by_test_id("savepoint-id")).to_have_count(0)


def test_a_second_box_counts_whenever_it_is_ticked(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes)
    for delay_ms in (0, 40, 80, 160):
        page.evaluate(SECOND_AFTER, [f"Select {OLD}", f"Select {NEW}", f"savepoint={OLD}", delay_ms])
        expect(page.locator(".st-key-card_bulk")).to_contain_text("2 savepoints")
        expect(page).to_have_url(re.compile(f"savepoint={OLD}%2C{NEW}"))
        watched.rest()
        page.locator(".st-key-bulk_none button").first.click()
        expect(page).not_to_have_url(re.compile("savepoint="))
        watched.rest()
        for savepoint in (OLD, NEW):  # the table is drawn after the script has come to its end: until then a click takes a tick away
            expect(page.get_by_role("checkbox", name=f"Select {savepoint}")).not_to_be_checked()


def test_several_at_once(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes, OLD, NEW)
    press(page, "Verify")
    watched.look("savepoints_verify", MENU)
    page.keyboard.press("Escape")
    press(page, "Export…")
    asked = dialog(page, "Export 2 savepoints")
    typed(page, "Folder", "/mnt/archive")
    expect(asked.get_by_role("button", name="Export 2")).to_be_enabled()
    watched.look("savepoints_export", DIALOG)
    put_away(page)
    press(page, "Label…")
    asked = dialog(page, "Label 2 savepoints")
    typed(page, "Label", "of March")
    expect(asked.get_by_text("Replaces the label of 1 savepoint.")).to_be_visible()
    watched.look("savepoints_label", DIALOG)
    press(asked, "Save")
    expect(asked).to_have_count(0)
    press(page, "Dispose…")
    asked = dialog(page, "Dispose of 2 savepoints")
    watched.look("savepoints_dispose", DIALOG)
    press(asked, "Cancel")
    expect(asked).to_have_count(0)
    press(page, "Compare")
    expect(page.get_by_test_id("comparing")).to_be_visible()


def test_a_damaged_one_says_what_to_do(watched: Watched, faked_server: Faked) -> None:
    page = chosen(watched, faked_server.arrange("--damaged", "--still"), NEW)
    expect(page.locator(".tm-findings")).to_be_visible()
    expect(page.get_by_role("button", name="Export…")).to_be_disabled()
    watched.look("savepoint_damaged", CARD)
    press(page, "Take a savepoint of batch 9 again")
    expect(page.get_by_test_id("savepoint-id")).not_to_have_text(NEW)
    expect(page.locator(".tm-findings")).to_have_count(0)


def test_what_is_under_way_is_called_back(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/settings", "[data-testid=table-runtimes] tbody tr")
    menu = more(page, "under_way_list")
    watched.look("under_way", POPOVER)
    press(menu, "Cancel")
    expect(page.locator(".st-key-under_way_list")).to_have_count(0)


def test_savepoints_are_filtered(watched: Watched, fakes: str) -> None:
    page = chosen(watched, fakes)
    page.get_by_role("combobox", name="Job").click()
    expect(page.get_by_role("option", name="clicks")).to_be_visible()
    watched.shoot("savepoints_choice")
    page.keyboard.press("Escape")
    choose(page, "Job", "post_engagement")
    expect(page).to_have_url(re.compile("job=post_engagement"))
    watched.rest()
    press(page, "Select shown")
    expect(page.locator(".st-key-card_bulk")).to_contain_text("2 savepoints")
    watched.rest()
    page.get_by_role("textbox", name="Filter").fill("nothing is called this")
    expect(page.get_by_text("No savepoint fits.")).to_be_visible()
