"""Parts of a page that was left are not drawn any more.

Streamlit 1.67 draws a part that refreshes itself on the page that its browser has before it at that moment. After `st.switch_page`
that can still be the page before: Streamlit then says so to the browser, which takes the new page away again and fails on what
comes next ("Bad delta path index"). Where a link is followed the browser itself asks for nothing meanwhile (streamlit#9617).
"""

from __future__ import annotations

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequestType

from dashboard.streamlit_fixes.refreshes import ClicksFirst


class OfOnePage(ClicksFirst):
    """What one thread of scripts is asked for; parts of another page than the last whole one count as done."""

    def __init__(self) -> None:
        super().__init__()
        self._page = ""
        """Empty until it is known: the first page of a session is asked for by its name."""

    def _request_rerun_locked(self, new_data: RerunData) -> bool:
        if not (new_data.fragment_id or new_data.fragment_id_queue):
            self._page = new_data.page_script_hash
        elif _left(new_data.page_script_hash, self._page):
            return self._state is not ScriptRequestType.STOP
        return super()._request_rerun_locked(new_data)


def mend() -> None:
    """Has all sessions of this process keep to it, also between two threads of scripts."""
    if vars(script_runner)["ScriptRequests"] is OfOnePage:
        return
    ask = AppSession.request_rerun

    def request_rerun(self: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None and client_state.fragment_id and _left(client_state.page_script_hash, self.page_script_hash):
            return
        ask(self, client_state)

    vars(script_runner)["ScriptRequests"] = OfOnePage
    setattr(AppSession, "request_rerun", request_rerun)  # noqa: B010


def _left(page: str, present: str) -> bool:
    return bool(page and present and page != present)
