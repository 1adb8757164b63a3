"""Sign-in with a real provider, which is another site to the browser: there, back to the page that one came to, and out again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.faked import Faked
from tests.browser.watching import AT_REST, picture
from tests.dashboard.providers import running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning"),
]


def test_in_by_the_provider_and_out_again(page: Page, faked_server: Faked, artifacts: Path | None) -> None:
    with running() as provider:
        provider.knows("vic", email="vic@example.org", email_verified=True, groups=["staff"])
        faked_server.arrange("--still", "--issuer", provider.issuer.replace("localhost", "127.0.0.1"))
        own = faked_server.url.replace("127.0.0.1", "localhost")
        page.goto(f"{own}/job?job=post_engagement")
        picture(page, artifacts, "sign_in")
        page.get_by_role("link", name=re.compile("Sign in with 127.0.0.1:")).click()
        page.get_by_placeholder("sub").fill("vic")
        page.get_by_role("button", name="Authorize").click()
        expect(page).to_have_url(re.compile(rf"^{own}/job\?job=post_engagement"))
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_disabled()
        page.get_by_role("button", name="vic@example.org").click()
        expect(page.locator(".tm-who")).to_contain_text("viewer")
        page.wait_for_selector(AT_REST)
        picture(page, artifacts, "signed_in")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
        page.goto(f"{own}/job?job=post_engagement")
        expect(page.get_by_role("heading", name="Sign in to Tidemark")).to_be_visible()
