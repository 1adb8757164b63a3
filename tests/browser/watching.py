"""A page under watch: what its console says, when it is at rest, what keeps people out of it, screenshots in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Page, expect

AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
Theme = Literal["light", "dark"]
BACKGROUNDS: dict[Theme, str] = {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}
SETTLED = "document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"
"""Whether nothing fades in or out, and no colour is on its way from one theme to the other; what turns for ever may."""
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
RULES_OF_COLOUR = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""All that can differ where a page that was looked at takes on its other theme."""
AXE = """async ([within, rules]) => {
    document.documentElement.style.minHeight = "100vh";
    const { violations, passes } = await axe.run(within || document, { runOnly: rules, resultTypes: ["violations"] });
    if (![...violations, ...passes].some(({ id }) => id === "color-contrast")) throw new Error(`no word is seen within ${within}`);
    return violations;
}"""
"""An open dialog hides what stands out of the document, whose height is none: without one axe would take all words for hidden."""


def picture(page: Page, artifacts: Path | None, name: str) -> None:
    """A picture in the folder where somebody wants pictures: each takes 0.15 s of a processor, and proves nothing."""
    if artifacts is not None:
        page.screenshot(path=artifacts / f"{name}.png")


class Watched:
    """Collects errors from its beginning on."""

    def __init__(self, page: Page, artifacts: Path | None) -> None:
        self.page = page
        self.artifacts = artifacts
        self.errors: list[str] = []
        self.theme: Theme = "light"
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{self.page.url}: {message.text}")

    def open(self, url: str, shown: str) -> Page:
        """The page by its address, as a pasted link opens it, once `shown` (a selector) stands on it."""
        self.page.goto(url)
        self.page.wait_for_selector(shown)
        self.rest()
        return self.page

    def rest(self) -> None:
        """Waits until no script runs, and says so where one has failed."""
        self.page.wait_for_selector(AT_REST)
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    def put_on(self, theme: Theme) -> None:
        """Has the page take on this theme, as it does when the machine's changes; nothing is loaded anew."""
        self.page.emulate_media(color_scheme=theme)
        expect(self.page.get_by_test_id("stApp")).to_have_css("background-color", BACKGROUNDS[theme])
        self.rest()
        self.page.wait_for_function(SETTLED)
        self.theme = theme

    def themes(self) -> Iterator[Theme]:
        """The page in the theme that it has, then in the other one, which it keeps: what is pressed next is pressed in that."""
        first = self.theme
        yield first
        self.put_on("dark" if first == "light" else "light")
        yield self.theme

    def shoot(self, name: str) -> None:
        """A picture of the page as it is, in the theme that it has; the pointer stands aside, so that no hint covers anything."""
        self.page.mouse.move(0, 0)
        self.picture(f"{name}_{self.theme}")

    def picture(self, name: str) -> None:
        """A picture of what is seen just now."""
        picture(self.page, self.artifacts, name)

    def look(self, name: str, within: str = "") -> None:
        """Pictures in light and in dark of a page on which nothing (`within` what a selector names) keeps people out."""
        self.page.mouse.move(0, 0)
        self.rest()
        if within:
            self.page.locator(within).first.scroll_into_view_if_needed()
        self.page.wait_for_function(SETTLED)
        for theme, rules in zip(self.themes(), (RULES, RULES_OF_COLOUR), strict=True):
            self.picture(f"{name}_{theme}")
            barriers = self.barriers(rules, within)
            assert not barriers, f"{name} in {theme}: {barriers}"

    def barriers(self, rules: dict[str, Any], within: str = "") -> list[tuple[Any, ...]]:
        """What axe finds that keeps people out: rule, where, how."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        if within:
            self.page.locator(within).first.wait_for(state="attached")  # a page that is drawn anew has none for a moment
        return [
            (violation["id"], node["target"], node["html"][:200], node.get("failureSummary", "")[:200])
            for violation in self.page.evaluate(AXE, [within, rules])
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]
