"""A part that refreshes itself neither hides a click nor takes back what a click has put into the address.

Streamlit 1.67 joins what waits for a script to end: a refresh that joins a click makes one refresh of both, with the address that
the browser had at that time. The browser may not have heard of a newer one by then; a page drawn by the old one would differ from the
address until somebody clicks again.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state import SafeSessionState

_MENDED = "keeps_address"


class ClicksFirst(ScriptRequests):
    """What one thread of scripts is asked for; a click stays a click, with its address, when refreshes join it."""

    def _request_rerun_locked(self, new_data: RerunData) -> bool:
        waiting = self._rerun_data if self._state is ScriptRequestType.RERUN else None
        if waiting is not None and new_data.is_auto_rerun:
            new_data = replace(new_data, query_string=waiting.query_string)
        taken = super()._request_rerun_locked(new_data)
        if waiting is not None and not waiting.is_auto_rerun:
            self._rerun_data = replace(self._rerun_data, is_auto_rerun=False)
        return taken


def mend() -> None:
    """Has refreshes in all sessions of this process run with the address that the page was told last."""
    if hasattr(ScriptRunner, _MENDED):
        return
    setattr(ScriptRunner, _MENDED, True)
    run = ScriptRunner._run_script

    def run_script(self: ScriptRunner, rerun_data: RerunData) -> None:
        run(self, replace(rerun_data, query_string=_address(self._session_state)) if rerun_data.is_auto_rerun else rerun_data)

    setattr(ScriptRunner, "_run_script", run_script)  # noqa: B010


def _address(state: SafeSessionState) -> str:
    with state.query_params() as address:
        return urlencode(address._query_params, doseq=True)
