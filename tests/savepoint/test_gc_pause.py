from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pipelines.savepoint.gc_pause import gc_paused


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_rests_inside_and_goes_on_afterwards() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error_too() -> None:
    with pytest.raises(ValueError, match="full"), gc_paused():
        raise ValueError("full")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()
