"""How tests come in where a server lets nobody in without a token: the token of every server of fakes, and the ways to show one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from pipelines.client.servers import entry
from pipelines.client.wire import bearer
from pipelines.storage import keys
from pipelines.storage.layout import Layout

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

TOKEN = "the-token-of-every-server-of-fakes"
SHOWN = bearer(TOKEN)
"""The header of a call to such a server."""


def token_of(workspace: Path) -> str:
    """The token that the real server of a workspace lets in."""
    return keys.read_key(Layout(workspace).key_file)


def announce(layout: Layout, url: str, **changed: Any) -> None:
    """Writes that this process serves a workspace, as the real server does."""
    announced = {"url": url, "pid": os.getpid(), "started": psutil.Process().create_time(), **changed}
    layout.server_file.write_text(json.dumps(announced))


def enter(browser: BrowserContext, url: str, token: str = TOKEN) -> None:
    """Has a browser exchange the token for its cookie, as who opens the printed address; its pages then open by plain addresses."""
    answer = browser.request.get(entry(url, token))
    assert answer.ok, answer.status_text
