"""What a click in a part that is no longer there asks for: the whole page, with what was clicked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from dashboard.streamlit_fixes.moved_parts import whole_if_moved

CLICKED = RerunData(query_string="savepoint=sp-1", widget_states=WidgetStates(), fragment_id_queue=["table"])


@pytest.fixture
def parts() -> MemoryFragmentStorage:
    there = MemoryFragmentStorage()
    there.register("frame", lambda: None)
    return there


def test_the_whole_page_is_drawn_with_what_was_clicked(parts: MemoryFragmentStorage) -> None:
    assert whole_if_moved(CLICKED, parts) == replace(CLICKED, fragment_id_queue=[])


def test_one_part_that_is_gone_is_enough(parts: MemoryFragmentStorage) -> None:
    assert whole_if_moved(replace(CLICKED, fragment_id_queue=["frame", "table"]), parts).fragment_id_queue == []


def test_a_part_that_is_there_is_drawn_alone(parts: MemoryFragmentStorage) -> None:
    clicked = replace(CLICKED, fragment_id_queue=["frame"])
    assert whole_if_moved(clicked, parts) is clicked


def test_a_refresh_of_what_is_gone_draws_nothing(parts: MemoryFragmentStorage) -> None:
    refresh = replace(CLICKED, is_auto_rerun=True)
    assert whole_if_moved(refresh, parts) is refresh
