"""Intervals: what they say, and that they tell a difference where there is one and none where there is none."""

from __future__ import annotations

import json
import random

import pytest

from pipelines.domain.intervals import Interval, Measure, words
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.verbs.experiments import ShowIntervals
from pipelines.workspace.intervals import measured
from tests.workspace.conftest import House, progress_line

WORDS = {
    "all alike": (Interval(Measure.BATCH_MS, 80, 1.0, 1.2, 0.2, 0.2, 0.201), "B is 20 % slower"),
    "more": (Interval(Measure.BATCH_MS, 80, 1.0, 1.1, 0.12, 0.05, 0.19), "B is 12 % slower, between 5 and 19 %"),
    "less": (Interval(Measure.BATCH_MS, 80, 1.0, 0.8, -0.2, -0.3, -0.1), "B is 20 % faster, between 10 and 30 %"),
    "rate": (Interval(Measure.PROCESSED_RATE, 80, 1.0, 3.0, 2.0, 1.5, 2.5), "B processes 200 % more rows a second, between 150 and 250 %"),
    "untold": (
        Interval(Measure.STATE_ROWS, 80, 1.0, 1.0, 0.0, -0.04, 0.06),
        "No difference can be told: between −4 % and +6 %, 80 batches",
    ),
    "same": (Interval(Measure.STATE_ROWS, 80, 5.0, 5.0, 0.0, 0.0, 0.0), "The same"),
    "hardly": (
        Interval(Measure.STATE_BYTES, 80, 5.0, 5.0, 0.0004, 0.0002, 0.004),
        "B's state takes 0.1 % more memory, between 0.1 and 0.4 %",
    ),
    "few": (Interval(Measure.BATCH_MS, 7, 1.0, 2.0), "No difference can be told yet: 7 batches"),
    "one": (Interval(Measure.BATCH_MS, 1, 1.0, 2.0), "No difference can be told yet: 1 batch"),
    "zero": (Interval(Measure.STATE_BYTES, 80, 0.0, 2.0), "No difference can be told: A has 0"),
    "higher": (Interval(Measure.OBSERVED, 80, 1.0, 1.1, 0.12, 0.05, 0.19), "B is 12 % higher, between 5 and 19 %"),
    "no more": (Interval(Measure.OBSERVED, 80, 0.0, 2.0), "No difference can be told: A has 0 or less"),
    "often none": (Interval(Measure.OBSERVED, 80, 1.0, 2.0), "No difference can be told: A has too many batches with 0 or less"),
    "unknown": (Interval(Measure.STATE_BYTES, 0, None, None), "Not known of both at the same event time yet"),
}


@pytest.mark.parametrize(("interval", "expected"), WORDS.values(), ids=WORDS)
def test_words(interval: Interval, expected: str) -> None:
    assert words(interval) == expected


def pairs(share: float, count: int = 80, noise: float = 0.1) -> list[dict[str, float | None]]:
    """Batches of about 100 ms, B's `share` longer; both are slow at the same times."""
    chance = random.Random(7)
    load = [100 * (1 + chance.random()) for _ in range(count)]
    return [
        {"a_batch_ms": base_ms * chance.gauss(1, noise), "b_batch_ms": base_ms * (1 + share) * chance.gauss(1, noise)} for base_ms in load
    ]


def test_a_difference_is_told_with_its_interval() -> None:
    interval = measured(Measure.BATCH_MS, pairs(0.2))
    assert interval.told and interval.low is not None and interval.high is not None and interval.share is not None
    assert 0.05 < interval.low < interval.share < interval.high < 0.4
    assert interval.words.startswith("B is") and interval.words == words(interval)
    assert measured(Measure.BATCH_MS, pairs(0.2)) == interval


def test_none_is_told_where_there_is_none() -> None:
    assert not measured(Measure.BATCH_MS, pairs(0.0)).told


def test_equal_values_are_the_same_and_few_or_unknown_ones_say_so() -> None:
    same: list[dict[str, float | None]] = [{"a_state_rows": 5.0, "b_state_rows": 5.0}] * 30
    assert measured(Measure.STATE_ROWS, same).words == "The same"
    assert measured(Measure.BATCH_MS, pairs(0.5, count=7)).words == "No difference can be told yet: 7 batches"
    unknown: list[dict[str, float | None]] = [{"a_state_bytes": None, "b_state_bytes": 5.0}] * 30
    assert measured(Measure.STATE_BYTES, unknown).batches == 0


@pytest.mark.parametrize(("zeros", "told"), [(5, True), (39, False)])
def test_a_difference_is_told_where_a_few_batches_of_a_observe_nothing(zeros: int, told: bool) -> None:
    counts = [0.0] * zeros + [2.0] * (80 - zeros)
    interval = measured(Measure.OBSERVED, [{"a_observed": count, "b_observed": 10.0 + number % 3} for number, count in enumerate(counts)])
    assert (interval.a, interval.told) == (2.0, told)
    assert interval.words.startswith("B is 450 % higher" if told else "No difference can be told: A has too many batches with 0 or less")


def test_of_two_jobs(house: House) -> None:
    for name, took in (("a", 100), ("b", 150)):
        run = house.ran(name)
        lines = []
        for batch in range(12):
            line = json.loads(progress_line(batch, "2026-11-20T09:00:00.000Z"))
            line |= {"batchDuration": took, "eventTime": {"max": f"2026-11-20T09:{batch:02d}:00.000Z"}}
            line["observedMetrics"] = {"checks": {"bad": took / 10, "none": 0, "text": "x", name: 1}}
            lines.append(json.dumps(line) + "\n")
        house.append(run, PROGRESS_FILE, "".join(lines))
    house.reopen()
    intervals = house.face.ask(ShowIntervals("a", "b"))
    by_measure = {interval.measure: interval for interval in intervals}
    observed = [(interval.name, interval.a, interval.b, interval.words) for interval in intervals if interval.measure is Measure.OBSERVED]
    assert observed == [
        ("checks.bad", 10.0, 15.0, "B is 50 % higher"),
        ("checks.none", 0.0, 0.0, "The same"),
    ]
    assert by_measure[Measure.BATCH_MS].words == "B is 50 % slower"
    assert by_measure[Measure.STATE_ROWS].batches == 0
