"""What a page that was left still asks for: nothing comes of it; all else is Streamlit's own."""

from __future__ import annotations

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequestType

from dashboard.streamlit_fixes.left_pages import OfOnePage

NEW = RerunData(page_script_hash="new")
OF_NEW = RerunData(page_script_hash="new", fragment_id="frame")
OF_OLD = RerunData(page_script_hash="old", fragment_id="frame", query_string="savepoint=sp-1")


@pytest.fixture
def asked() -> OfOnePage:
    return OfOnePage()


def test_a_switch_is_not_taken_back(asked: OfOnePage) -> None:
    assert asked.request_rerun(NEW)
    assert asked.request_rerun(OF_OLD)
    rerun = asked.on_scriptrunner_ready().rerun_data
    assert (rerun.page_script_hash, rerun.query_string, rerun.fragment_id_queue) == ("new", "", [])


def test_nothing_of_the_old_page_follows_the_new_one(asked: OfOnePage) -> None:
    asked.request_rerun(NEW)
    asked.on_scriptrunner_ready()
    assert asked.request_rerun(OF_OLD)
    assert asked.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_parts_of_the_page_itself_are_drawn(asked: OfOnePage) -> None:
    asked.request_rerun(NEW)
    asked.on_scriptrunner_ready()
    assert asked.request_rerun(OF_OLD) and asked.request_rerun(OF_NEW)
    assert asked.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["frame"]


def test_a_first_page_is_known_by_its_name_alone(asked: OfOnePage) -> None:
    asked.request_rerun(RerunData(page_name="savepoints"))
    asked.on_scriptrunner_ready()
    assert asked.request_rerun(OF_NEW)
    assert asked.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["frame"]


def test_who_has_ended_says_so(asked: OfOnePage) -> None:
    asked.request_rerun(NEW)
    asked.request_stop()
    assert not asked.request_rerun(OF_OLD)
    assert not asked.request_rerun(OF_NEW)
