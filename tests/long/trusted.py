"""The walk's second half: a savepoint is proved, exported and brought back; a job is rewound; one that runs elsewhere is attached."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from playwright.sync_api import Page, expect
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from tests.browser.serving import Served
from tests.browser.watching import Watched

LONG_MS = 400_000
"""For what Spark does on a busy machine."""
WATCHED = "engagement_elsewhere"
NOTE = "Of the moment when\nthe ads were not sold yet."


def is_verified_and_proved(watched: Watched, server: Served, savepoint: str) -> None:
    """From the page, with progress, to the badges and the proof's counts."""
    page = watched.page
    page.goto(f"{server.url}/savepoints?savepoint={savepoint}")
    expect(page.get_by_test_id("savepoint-id")).to_have_text(savepoint)
    page.get_by_role("button", name="Verify", exact=True).click()
    page.get_by_role("menuitem", name="Checksums of all files").click()
    expect(page.get_by_test_id("ended-verify")).to_contain_text("intact", timeout=LONG_MS)
    page.get_by_role("button", name="Prove", exact=True).click()
    expect(page.get_by_test_id("operation-prove").first.get_by_role("progressbar")).to_be_visible()
    watched.shoot("7_proving")
    page.reload()
    expect(page.get_by_test_id("operation-prove").first).to_be_visible()
    expect(page.get_by_test_id("ended-prove")).to_contain_text("proved", timeout=LONG_MS)
    badges = page.get_by_role("group", name="Trust")
    expect(badges.get_by_text("proved")).to_be_visible()
    expect(badges.locator(".tm-not")).to_have_count(0)
    verification = server.ask(f"/savepoints/{savepoint}/verification")
    assert verification["reached"] == "proved"
    states = verification["proof"]["states"]
    assert states and all(state["rows"] == state["expected"] for state in states)
    expect(page.get_by_text(f"Spark {verification['proof']['spark_version']} restored it")).to_be_visible()
    watched.shoot("7_proved")


def is_annotated(watched: Watched, server: Served, savepoint: str) -> None:
    """In its place on the page; what was taken does not change."""
    page = watched.page
    manifest = server.ask(f"/savepoints/{savepoint}/manifest")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("textbox", name="Note", exact=True).fill(NOTE)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("textbox", name="Note", exact=True)).to_have_count(0)
    expect(page.get_by_text("the ads were not sold yet")).to_be_visible()
    watched.shoot("7_annotated")
    assert server.ask(f"/savepoints/{savepoint}")["note"] == NOTE
    assert server.ask(f"/savepoints/{savepoint}/manifest") == manifest


def is_exported_and_brought_back(watched: Watched, server: Served, savepoint: str, place: Path) -> None:
    """Out to a directory, away from here, and in again, whole; sizes say what it takes meanwhile."""
    page = watched.page
    space, before = server.ask("/space"), server.ask(f"/savepoints/{savepoint}")
    own = next(row for row in space["savepoints"] if row["savepoint"] == savepoint)
    assert 0 <= own["frees_bytes"] <= own["bytes"]
    assert space["disk_bytes"] <= space["full_bytes"]
    for figure, value in {"On disk": r"\d B|\d .B", "Longest unsaved": r"\d", "Damaged": "^0$"}.items():
        expect(page.get_by_role("group", name=figure, exact=True).locator(".tm-value")).to_have_text(re.compile(value))
    page.get_by_role("button", name="Export…").click()
    typed(page, "Destination", str(place))
    page.get_by_text("Then dispose of the savepoint here").click()
    expect(page.get_by_text("What leaves this workspace")).to_be_visible()
    watched.shoot("8_export")
    page.get_by_role("button", name="Export, then dispose").click()
    expect(page.get_by_test_id("ended-export")).to_contain_text(savepoint[:11], timeout=LONG_MS)
    expect(page.get_by_test_id("savepoint-id")).to_have_count(0)
    assert savepoint not in {row["id"] for row in server.ask("/savepoints")}
    assert json.loads((place / "manifest.json").read_text())["id"] == savepoint
    page.get_by_role("button", name="Import…").click()
    typed(page, "Where the export is", str(place))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_test_id("ended-import")).to_contain_text(savepoint, timeout=LONG_MS)
    page.get_by_role("button", name="Open savepoint").click()
    expect(page.get_by_test_id("savepoint-id")).to_have_text(savepoint)
    again = server.ask(f"/savepoints/{savepoint}")
    same = ("files", "bytes", "queries", "label", "note")
    assert [again[what] for what in same] == [before[what] for what in same] and again["reason"] == "imported"
    watched.shoot("8_imported")


def typed(page: Page, label: str, text: str) -> None:
    """Types into a field and has the page take it up."""
    page.get_by_role("textbox", name=label, exact=True).fill(text)
    page.keyboard.press("Enter")


def a_stopped_job_is_rewound(watched: Watched, server: Served, job: str) -> None:
    """Stopped without a savepoint, then back to a batch by its number; the point it left is kept."""
    page = watched.page
    page.goto(f"{server.url}/job?job={job}&tab=Savepoints")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("Take a savepoint after it stopped").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator(".st-key-resume button")).to_be_visible(timeout=LONG_MS)
    batch = server.ask(f"/jobs/{job}/retained")[0]["batch"]
    typed(page, "Batch or time", str(batch))
    expect(page.get_by_text(f"Batch {batch:,}", exact=True)).to_be_visible()
    watched.shoot("9_point")
    page.get_by_role("button", name="Rewind to here").click()
    expect(page.get_by_text("so nothing is lost")).to_be_visible()
    watched.shoot("9_rewind")
    page.get_by_role("button", name="Rewind", exact=True).click()
    expect(page.get_by_text("Running", exact=True).first).to_be_visible(timeout=LONG_MS)
    reasons = [savepoint["reason"] for savepoint in server.ask(f"/savepoints?job={job}")]
    assert reasons[:2] == ["rewind", "before-resume"]


def one_that_runs_elsewhere_is_attached(watched: Watched, server: Served, job: str, place: Path) -> None:
    """By a copy of a checkpoint outside of the workspace; a savepoint of it is taken like of any other."""
    page = watched.page
    seen = server.ask(f"/jobs/{job}")["queries"][0]
    whole_copy(Path(seen["checkpoint"]), place)
    page.goto(f"{server.url}/new?source=Runs+elsewhere")
    typed(page, "Name", WATCHED)
    typed(page, "Query", seen["query"])
    typed(page, "Checkpoint", str(place / "nothing"))
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text=str(place / "nothing"))).to_be_visible()
    watched.shoot("10_attach")
    typed(page, "Checkpoint", str(place))
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page.get_by_text("Watched", exact=True)).to_be_visible()
    expect(page.get_by_text("Watched from outside")).to_be_visible()
    page.get_by_role("button", name="Savepoint", exact=True).click()
    expect(page.get_by_test_id("taken")).to_contain_text("batch")
    watched.shoot("10_watched")
    assert [savepoint["job"] for savepoint in server.ask(f"/savepoints?job={WATCHED}")] == [WATCHED]


@retry(wait=wait_fixed(0.5), stop=stop_after_delay(120), retry=retry_if_result(lambda whole: not whole))
def whole_copy(checkpoint: Path, place: Path) -> bool:
    """A copy that nothing was written to meanwhile: the names are the same before and after."""
    shutil.rmtree(place, ignore_errors=True)
    before = names(checkpoint)
    shutil.copytree(checkpoint, place, ignore_dangling_symlinks=True)
    return before == names(checkpoint) == names(place)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
