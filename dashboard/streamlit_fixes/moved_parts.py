"""A click in a part of the page that is drawn anew elsewhere meanwhile draws the whole page.

Streamlit 1.67 names a part by its place. Where a page changes its layout (a first box that is ticked opens the savepoint beside the
table), a click in the part as it stood before comes too late: of one that arrives after the new page nothing is done, and one that
waits for it runs its callbacks, which may change the address, and then draws nothing. Parts that refresh themselves may go: the
page has new ones.
"""

from __future__ import annotations

from dataclasses import replace

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import FragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

_MENDED = "draws_moved_parts"


def mend() -> None:
    """Has all sessions of this process keep to it, for clicks that arrive too late and for those that had to wait."""
    if hasattr(ScriptRunner, _MENDED):
        return
    setattr(ScriptRunner, _MENDED, True)
    ask, run = AppSession.request_rerun, ScriptRunner._run_script

    def request_rerun(self: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None and _is_lost(client_state, self):
            client_state.fragment_id = ""
        ask(self, client_state)

    def run_script(self: ScriptRunner, rerun_data: RerunData) -> None:
        run(self, whole_if_moved(rerun_data, self._fragment_storage))

    setattr(AppSession, "request_rerun", request_rerun)  # noqa: B010
    setattr(ScriptRunner, "_run_script", run_script)  # noqa: B010


def whole_if_moved(asked: RerunData, parts: FragmentStorage) -> RerunData:
    """What a click asks for; the whole page where one of the parts that it asks for is no longer there."""
    if asked.is_auto_rerun or all(parts.contains(part) for part in asked.fragment_id_queue):
        return asked
    return replace(asked, fragment_id_queue=[], is_fragment_scoped_rerun=False)


def _is_lost(asked: ClientState, session: AppSession) -> bool:
    return bool(asked.fragment_id) and not asked.is_auto_rerun and not session.has_fragment(asked.fragment_id)
