"""What a comparison says of its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.experiments import Comparison, LockStepped
from pipelines.domain.ids import JobName
from pipelines.words import lockstep

EQUAL = Comparison(JobName("a"), JobName("b"), "q", ("k",), (), 4, 4, 4, 0, 0, 0, None, {}, None)
OTHER = replace(EQUAL, equal=3, only_a=1, only_b=1)
CHANGED = {"changed": [{"k": "x", "a.n": 1, "b.n": 2}], "only_a": [{"k": "z", "n": 3}]}


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (OTHER, "cannot be told"),
        (replace(EQUAL, uncut=True), "compared like jobs that run freely"),
        (replace(OTHER, uncut=True), "compared like jobs that run freely"),
        (replace(EQUAL, lock_step=LockStepped(3, 9, None)), "up to batch 9: the rows of each batch are the same"),
        (replace(OTHER, lock_step=LockStepped(3, 9, 7)), "the first batch whose rows differ is 7"),
        (replace(OTHER, lock_step=LockStepped(3, 9, None)), "before batch 3"),
        (replace(OTHER, lock_step=LockStepped(3, 9, 7, ("k",), CHANGED)), "differ is 7, at k=x (n: 1 in A, 2 in B). Each"),
        (
            replace(OTHER, lock_step=LockStepped(3, 9, 7, (), {"only_b": [{"k": "y", "n": 4}]})),
            "7, at k=y, n=4, which only B has.",
        ),
        (replace(OTHER, lock_step=LockStepped(3, 9, 7), varies=("rand()",)), "It is the code's, or comes by itself."),
    ],
)
def test_where_they_part_or_why_that_cannot_be_said(comparison: Comparison, words: str) -> None:
    assert words in lockstep.cause(comparison)


def test_equal_outputs_of_free_jobs_need_no_words() -> None:
    assert lockstep.cause(EQUAL) == ""
