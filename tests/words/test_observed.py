"""What a job observes, in words."""

from __future__ import annotations

import pytest

from pipelines.domain.observed import Observed, ObservedNow
from pipelines.words import observed


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (3.0, "3"), (-1_234_567.0, "-1,234,567"), (0.25, "0.25"), (1 / 3, "0.3333333333"), (1e38, "1e+38")]
)
def test_numbers_have_ten_digits(value: float | None, text: str) -> None:
    assert observed.number(value) == text


def test_a_batch_is_one_line_with_as_much_as_has_room() -> None:
    assert observed.briefly([Observed("c.n", 3.0), Observed("c.last", None, "x")]) == "c.n 3; c.last x"
    assert observed.briefly([]) == "–"
    long = observed.briefly([Observed(f"c.n{at}", 1.0) for at in range(50)])
    assert len(long) == observed.MOST_CHARACTERS and long.endswith("…")


def test_now_says_of_which_query_where_there_are_several_and_how_many_more() -> None:
    assert observed.now([ObservedNow("q", "c.n", 3.0)]) == "c.n 3"
    assert observed.now([ObservedNow("q", "c.n", 3.0), ObservedNow("p", "c.n", 4.5)]) == "q: c.n 3; p: c.n 4.5"
    assert observed.now([]) == "–"
    assert observed.now([ObservedNow("q", f"c.n{at}", 1.0) for at in range(50)]).endswith("; c.n9 1; and 40 more")
