"""What people do on pages: press, choose, type; and where what that opens stands."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

DIALOG = "[data-testid=stDialog]"
POPOVER = "[data-testid=stPopoverBody]"


def press(within: Page | Locator, name: str) -> None:
    """The button of exactly this name."""
    within.get_by_role("button", name=name, exact=True).click()


def dialog(page: Page, title: str) -> Locator:
    """The dialog of this title, once it is there, and nothing else is open that would cover it."""
    locator = page.get_by_role("dialog", name=title)
    expect(locator).to_be_visible()
    expect(page.locator(POPOVER)).to_have_count(0)
    return locator


def more(page: Page, key: str = "more") -> Locator:
    """What a button without words opens; `key` names it."""
    page.locator(f".st-key-{key} button").first.click()
    popover = page.locator(POPOVER)
    expect(popover).to_be_visible()
    return popover


def command(within: Page | Locator) -> None:
    """Unfolds the command of a dialog."""
    within.locator("summary", has_text="Command").click()
    expect(within.get_by_test_id("stCode").first).to_be_visible()


def put_away(page: Page) -> None:
    """Closes what is open, by the key that does so everywhere."""
    page.keyboard.press("Escape")
    expect(page.locator(f"{DIALOG}, {POPOVER}")).to_have_count(0)


def choose(page: Page, label: str, option: str) -> None:
    """Picks one of a list; the words may go on after `option`."""
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).first.click()


def find(page: Page, label: str, option: str) -> None:
    """Picks one of a long list, of which only what is in sight is drawn: its name is typed."""
    page.get_by_role("combobox", name=label).fill(option)
    page.get_by_role("option", name=option, exact=True).click()


def typed(page: Page, label: str, text: str) -> None:
    """Types into a field and has the page take it up."""
    page.get_by_role("textbox", name=label, exact=True).fill(text)
    page.keyboard.press("Enter")
