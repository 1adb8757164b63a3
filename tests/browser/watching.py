"""A page under watch: what its console says, when it is at rest, screenshots in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

from playwright.sync_api import ConsoleMessage, Page, expect

AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
DARK, LIGHT = "rgb(15, 19, 24)", "rgb(255, 255, 255)"
"""The theme's backgrounds."""


class Watched:
    """Collects errors from its beginning on."""

    def __init__(self, page: Page, artifacts: Path) -> None:
        self.page = page
        self.artifacts = artifacts
        self.errors: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{self.page.url}: {message.text}")

    def rest(self) -> None:
        """Waits until no script runs, and says so where one has failed."""
        self.page.wait_for_selector(AT_REST)
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    def shoot(self, name: str) -> None:
        """A picture of the page as it is, in light and in dark; the pointer stands aside, so that no hint covers anything."""
        self.page.mouse.move(0, 0)
        for theme, background in (("dark", DARK), ("light", LIGHT)):
            self.page.emulate_media(color_scheme=cast(Literal["dark", "light"], theme))
            expect(self.page.get_by_test_id("stApp")).to_have_css("background-color", background)
            self.rest()
            self.page.screenshot(path=self.artifacts / f"{name}_{theme}.png")
