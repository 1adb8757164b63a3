"""Pages over a slow network, on fakes: what the browser asks for before it knows of the next page keeps nobody from seeing that."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.browser.pages import opened
from tests.browser.pressing import dialog, more, press
from tests.browser.watching import Watched
from tests.waiting import until

pytestmark = pytest.mark.browser

PARTS = 3
"""Requests of parts that refresh themselves, one every second or two."""


class Network:
    """What the server says reaches the page, or waits while it is `held`; so does what the page asks for while it is `mute`."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.held = self.mute = False
        self.asked = 0
        self._unasked: list[str | bytes] = []
        self._waiting: list[str | bytes] = []
        self._send: Callable[[str | bytes], None] = lambda _: None
        self._ask: Callable[[str | bytes], None] = lambda _: None
        page.route_web_socket(re.compile("/_stcore/stream$"), self._connected)

    def _connected(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        self._send, self._ask = browser.send, server.send
        server.on_message(self._said)

        def asks(message: str | bytes) -> None:
            self.asked += 1
            if self.mute:
                self._unasked.append(message)
            else:
                self._ask(message)

        browser.on_message(asks)

    def _said(self, message: str | bytes) -> None:
        if self.held:
            self._waiting.append(message)
        else:
            self._send(message)

    def asked_again(self) -> None:
        """Waits until the page has asked for some parts more."""
        enough = self.asked + PARTS

        def asked() -> bool:
            self._page.title()  # Playwright hands over what has come while it is asked something
            return self.asked >= enough

        until(asked)

    def release(self) -> None:
        """All that waits arrives, in its order."""
        self.held = self.mute = False
        for message in self._unasked:
            self._ask(message)
        for message in self._waiting:
            self._send(message)


def test_the_next_page_stays(watched: Watched, fakes: str) -> None:
    network = Network(watched.page)
    opened(watched, fakes, "savepoint")
    network.held = True
    press(watched.page, "Fork")
    network.asked_again()
    network.release()
    expect(watched.page).to_have_url(re.compile("/fork"))
    network.asked_again()
    expect(watched.page.locator(".cm-editor").first).to_be_visible()
    watched.rest()


def test_a_menu_closes_where_it_is_pressed(watched: Watched, fakes: str) -> None:
    """Also where that is pressed before the server has heard that the menu is open."""
    network = Network(watched.page)
    opened(watched, fakes, "job")
    network.mute = True
    press(more(watched.page), "Cancel at once…")
    network.release()
    dialog(watched.page, "Cancel the run of")


def test_files_that_a_page_offered_outlast_it(watched: Watched, fakes: str) -> None:
    """A slow browser asks for the files of download buttons when their page has long been left; others meanwhile go on."""
    asked: list[Route] = []
    watched.page.route("**/media/**", lambda route: asked.append(route))
    watched.page.goto(f"{fakes}/experiments?experiment=ex-1", wait_until="commit")
    watched.page.wait_for_function("document.querySelectorAll('[data-testid=stDownloadButton]').length > 1")
    until(lambda: bool(watched.page.title() and asked))
    for left_for in ("Versions", "Events", "Overview"):
        go_to(watched.page, left_for)
    while asked:
        route = asked.pop(0)
        with watched.page.expect_response(route.request.url) as answered:
            route.continue_()
        assert answered.value.ok


def go_to(page: Page, name: str) -> None:
    """By the link of the navigation; the page is there when this returns, not all that is on it."""
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
