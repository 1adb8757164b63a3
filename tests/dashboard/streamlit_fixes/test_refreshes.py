"""What waits for a script to end: a click stays one, with its address, whatever refreshes join it."""

from __future__ import annotations

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from dashboard.streamlit_fixes.refreshes import ClicksFirst

CLICK = RerunData(query_string="savepoint=sp-1", fragment_id="table")
REFRESH = RerunData(query_string="", fragment_id="frame", is_auto_rerun=True)


@pytest.fixture
def asked() -> ClicksFirst:
    return ClicksFirst()


@pytest.mark.parametrize("requests", [(CLICK, REFRESH), (REFRESH, CLICK), (REFRESH, CLICK, REFRESH)])
def test_a_click_that_refreshes_join_stays_a_click(asked: ClicksFirst, requests: tuple[RerunData, ...]) -> None:
    assert all(asked.request_rerun(request) for request in requests)
    run = asked.on_scriptrunner_ready().rerun_data
    assert (run.query_string, run.is_auto_rerun, set(run.fragment_id_queue)) == ("savepoint=sp-1", False, {"table", "frame"})


def test_refreshes_alone_stay_refreshes(asked: ClicksFirst) -> None:
    assert asked.request_rerun(REFRESH) and asked.request_rerun(REFRESH)
    assert asked.on_scriptrunner_ready().rerun_data.is_auto_rerun


def test_a_click_that_was_drawn_marks_no_later_refresh(asked: ClicksFirst) -> None:
    asked.request_rerun(CLICK)
    asked.on_scriptrunner_ready()
    asked.request_rerun(REFRESH)
    assert asked.on_scriptrunner_ready().rerun_data.is_auto_rerun
