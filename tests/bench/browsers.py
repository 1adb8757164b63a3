"""Browsers without a screen: websocket sessions that speak Streamlit's protocol, answer its timers, and count what it costs the server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets import Origin
from websockets.asyncio.client import ClientConnection, connect

from tests.entering import SHOWN

PATIENCE_SECONDS = 30


def cpu_seconds(pid: int) -> float:
    """CPU time of the process so far, to the nanosecond: its clock as Linux numbers it (`clock_getcpuclockid`)."""
    return time.clock_gettime(((~pid) << 3) | 2)


@dataclass
class Page:
    """One session on one page of the server."""

    socket: ClientConnection
    url: str
    path: str
    query: str = ""
    script_hash: str = ""
    fragments: dict[str, float] = field(default_factory=dict)
    """Fragment -> seconds between its runs, as the page asked for."""
    known: set[str] = field(default_factory=set)
    """Hashes of the messages that a browser keeps."""
    received: int = 0
    failed: str = ""

    async def rerun(self, fragment: str = "") -> float:
        """Runs the page's script, or one of its fragments; seconds until all of it is here."""
        began = time.perf_counter()
        await self.socket.send(self._request(fragment).SerializeToString())
        while not self._take(ForwardMsg.FromString(await self._message())):
            pass
        return time.perf_counter() - began

    async def _message(self) -> bytes:
        message = await asyncio.wait_for(self.socket.recv(), PATIENCE_SECONDS)
        assert isinstance(message, bytes)
        self.received += len(message)
        return message

    def _request(self, fragment: str) -> BackMsg:
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.page_script_hash = self.query, self.script_hash
        state.page_name = "" if self.script_hash else self.path
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.cached_message_hashes.extend(self.known)
        state.context_info.timezone, state.context_info.url = "UTC", f"{self.url}/{self.path}"
        return asked

    def _take(self, message: ForwardMsg) -> bool:
        """Takes one message in; whether it was the last of a run."""
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self.known.add(message.hash)
        if kind == "navigation":
            self.script_hash = message.navigation.page_script_hash
        elif kind == "auto_rerun":
            self.fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
            self.failed = message.delta.new_element.exception.message
        elif kind == "page_not_found":
            self.failed = f"no page {self.path}"
        return kind == "script_finished"


async def open_page(url: str, path: str, query: str = "") -> Page:
    """A session on `path` of the server, drawn once without an exception."""
    socket = await connect(
        f"ws://{urlsplit(url).netloc}/_stcore/stream",
        subprotocols=["streamlit"],
        max_size=None,
        origin=Origin(url),
        additional_headers=SHOWN,
        open_timeout=60,
    )
    page = Page(socket, url, path, query)
    await page.rerun()
    if page.failed:
        raise AssertionError(page.failed)
    return page


async def live(page: Page, until: float) -> int:
    """Answers the page's timers, as a browser does, until that moment (`time.perf_counter`); runs it has asked for."""
    due = {fragment: time.perf_counter() + every for fragment, every in page.fragments.items()}
    count = 0
    while due:
        fragment = min(due, key=lambda fragment_id: due[fragment_id])
        if due[fragment] >= until:
            break
        await asyncio.sleep(max(0.0, due[fragment] - time.perf_counter()))
        await page.rerun(fragment)
        count += 1
        due[fragment] = max(due[fragment] + page.fragments[fragment], time.perf_counter())
    return count
