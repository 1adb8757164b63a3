"""Work on many files: in order, by one thread where that is quick, ended by its first failure."""

from __future__ import annotations

import threading

import pytest

from pipelines.storage import parallel
from pipelines.storage.parallel import Halt

LONG_S = 100.0


def test_results_are_in_order() -> None:
    assert parallel.each(lambda number: number * 2, range(1000), 8, alone_s=0) == list(range(0, 2000, 2))
    assert parallel.each(lambda number: number, [], 8) == []


def test_quick_work_is_one_threads() -> None:
    assert len(set(parallel.each(lambda _: threading.get_ident(), range(100), 8, alone_s=LONG_S))) == 1


def test_brief_work_is_done_here_and_by_others_where_it_is_not_over_soon() -> None:
    here = threading.get_ident()
    assert set(parallel.each(lambda _: threading.get_ident(), range(100), 8, alone_s=LONG_S, brief=True)) == {here}
    threads = parallel.each(lambda _: threading.get_ident(), range(100), 8, alone_s=0, brief=True)
    assert threads[0] == here not in threads[1:]


def test_a_single_item_is_done_here() -> None:
    assert parallel.each(lambda _: threading.get_ident(), range(1), 8) == [threading.get_ident()]


def test_the_others_begin_while_the_first_item_takes_long() -> None:
    """Each item ends when all four are under way."""
    meeting = threading.Barrier(4, timeout=LONG_S)
    parallel.each(lambda _: meeting.wait(), range(4), 4)


@pytest.mark.parametrize("brief", [False, True])
@pytest.mark.parametrize("alone_s", [0.0, LONG_S])
def test_the_first_failure_is_raised_and_nothing_else_is_begun(alone_s: float, brief: bool) -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise KeyError(number)

    with pytest.raises(KeyError, match="3"):
        parallel.each(work, range(100_000), 2, alone_s=alone_s, brief=brief)
    assert len(begun) < 100_000


@pytest.mark.parametrize("items", [1, 10])
def test_what_fails_elsewhere_ends_it(items: int) -> None:
    halt = Halt()
    halt.at(KeyError("elsewhere"))
    with pytest.raises(KeyError, match="elsewhere"):
        parallel.each(lambda number: number, range(items), 2, halt)
