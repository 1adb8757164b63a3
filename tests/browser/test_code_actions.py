"""What is typed and loaded where jobs begin (new, fork, upgrade), on fakes, in light and in dark, with what is refused."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pressing import POPOVER, find, more, press, put_away, typed
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

EDITOR = ".cm-editor"
FORK = "/fork?savepoint=sp-000000000002"


def code(page: Page, text: str) -> None:
    """Puts `text` at the end of the code."""
    page.locator(".cm-content").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(text)


def test_a_new_job_is_refused_and_started(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/new", EDITOR)
    code(page, "\ndef broken(:\n")
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    page.locator(".cm-content").last.press("Control+End")
    expect(page.locator(".cm-lintRange-error").first).to_be_visible()
    page.locator(".cm-lintRange-error").first.hover()
    expect(page.locator(".cm-tooltip-lint")).to_be_visible()
    watched.picture("new_hint")
    watched.look("new_wrong")
    page.get_by_role("radio", name="Paste").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("")
    code(page, "print('hello')")
    typed(page, "Name", "post_events")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    press(page, "Start")
    expect(page.get_by_role("alert").filter(has_text="A job post_events exists")).to_be_visible()
    watched.look("new_taken")
    more(page, "new_command")
    watched.look("new_command", POPOVER)
    put_away(page)
    typed(page, "Name", "hello")
    press(page, "Start")
    expect(page).to_have_url(re.compile(r"/job\?job=hello"))
    watched.rest()


def test_a_file_that_is_not_there(watched: Watched, fakes: str) -> None:
    watched.open(f"{fakes}/new?source=File&path=/nowhere/job.py", "[role=alert]")
    watched.look("new_no_file")


def test_one_that_runs_elsewhere_is_refused_and_attached(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/new?source=Runs+elsewhere", ".st-key-card_attach")
    typed(page, "Name", "orders")
    press(page, "Another query")
    expect(page.locator(".st-key-attach_row_1")).to_be_visible()
    page.locator(".st-key-attach_less_1").click()
    expect(page.locator(".st-key-attach_row_1")).to_have_count(0)
    page.locator("summary", has_text="Its code").click()
    typed(page, "Script", "/nowhere/orders.py")
    typed(page, "Checkpoint", "/data/gone")
    press(page, "Attach")
    expect(page.get_by_role("alert").filter(has_text="there is no checkpoint at /data/gone")).to_be_visible()
    watched.look("new_attach")
    typed(page, "Checkpoint", "/data/orders")
    page.get_by_role("combobox", name=re.compile("Sink")).click()
    expect(page.get_by_role("option", name="parquet")).to_be_visible()
    watched.shoot("new_attach_sinks")
    page.get_by_role("option", name="foreachBatch").click()
    more(page, "attach_command")
    expect(page.locator(POPOVER)).to_contain_text("foreachBatch")
    watched.look("new_attach_command", POPOVER)
    put_away(page)
    press(page, "Attach")
    expect(page).to_have_url(re.compile(r"/job\?job=orders"))
    watched.rest()


def test_a_fork_with_other_code(watched: Watched, fakes: str) -> None:
    page = watched.open(fakes + FORK, EDITOR)
    press(page, "Load script…")
    expect(page.locator(POPOVER)).to_be_visible()
    find(page, "From the gallery", "post_engagement_split.py")
    expect(page.get_by_role("button", name="Load", exact=True)).to_be_enabled()
    watched.look("fork_load", POPOVER)
    press(page, "Load")
    expect(page.locator(POPOVER)).to_have_count(0)
    for view, there in (("Changes", ".cm-changedLine"), ("Side by side", ".cm-mergeView")):
        page.get_by_role("radio", name=view).click()
        expect(page.locator(there).first).to_be_visible()
        watched.look(f"fork_{view.casefold()}")
    typed(page, "Name", "post_events")
    expect(page.get_by_role("alert")).to_contain_text("exists")
    expect(page.get_by_role("button", name="Start fork")).to_be_disabled()
    watched.look("fork_refused", ".st-key-card_plan")
    typed(page, "Name", "split")
    more(page, "fork_command")
    watched.look("fork_command", POPOVER)
    put_away(page)
    press(page, "Start fork")
    expect(page).to_have_url(re.compile(r"/job\?job=split"))
    watched.rest()


def test_an_experiment_of_two_variants(watched: Watched, fakes: str) -> None:
    page = watched.open(fakes + FORK, EDITOR)
    press(page, "Add variant")
    expect(page).to_have_url(re.compile("variant=B"))
    watched.rest()
    watched.look("fork_variants")
    press(page, "Remove")
    expect(page.locator(".st-key-card_variants")).to_have_count(0)
    page.get_by_text("Compare with post_engagement").click()
    expect(page.get_by_role("button", name="Start experiment")).to_be_visible()
    typed(page, "Experiment", "ours")
    press(page, "Start experiment")
    expect(page).to_have_url(re.compile(r"/experiments\?experiment=ex-"))
    watched.rest()


def test_an_upgrade_needs_a_change(watched: Watched, fakes: str) -> None:
    page = watched.open(f"{fakes}/upgrade?job=post_engagement_split&savepoint=", EDITOR)
    expect(page.get_by_role("button", name="Start upgrade")).to_be_disabled()
    page.get_by_role("textbox", name="Spark confs").fill("spark.x=2")
    page.get_by_role("textbox", name="Spark confs").press("Control+Enter")
    expect(page.get_by_text("ready to start")).to_be_visible()
    watched.look("upgrade_ready")
    press(page, "Back to the job")
    expect(page).to_have_url(re.compile(r"/job\?job=post_engagement_split$"))
    expect(page.locator(".tm-box").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("textbox", name="Spark confs")).to_have_value("spark.x=2")
    expect(page.get_by_text("ready to start")).to_be_visible()
    press(page, "Start upgrade")
    expect(page).to_have_url(re.compile(r"/job\?job=post_engagement_split"))
    watched.rest()
