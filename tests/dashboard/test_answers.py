"""Answers that browsers share: one question at a time, as fresh as asked for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dashboard.answers import MOST, Answers
from tests.waiting import until


def test_an_answer_is_given_again_while_it_is_fresh() -> None:
    answers, asked = Answers(), iter(range(10))
    given = [answers.given("jobs", lambda: next(asked), now_ms, 1_000) for now_ms in (0, 900, 1_000, 1_001, 2_000)]
    assert given == [0, 0, 0, 1, 1]


def test_questions_are_apart() -> None:
    answers = Answers()
    assert answers.given(("a", 1), lambda: "first", 0, 9) == "first"
    assert answers.given(("a", 2), lambda: "second", 0, 9) == "second"


def test_an_error_is_not_kept() -> None:
    answers = Answers()
    with pytest.raises(ZeroDivisionError):
        answers.given("jobs", lambda: 1 // 0, 0, 1_000)
    assert answers.given("jobs", lambda: 7, 0, 1_000) == 7


def test_many_who_ask_at_once_ask_once() -> None:
    answers, gate, asked = Answers(), threading.Barrier(8), list[int]()

    def ask() -> int:
        asked.append(1)
        return 7

    def browser(_: int) -> int:
        gate.wait(10)
        return answers.given("jobs", ask, 0, 1_000)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(browser, range(8))) == [7] * 8
    assert len(asked) == 1


def test_old_questions_are_forgotten() -> None:
    answers = Answers()
    for number in range(MOST + 1):
        answers.given(number, lambda: "first", 0, 1_000)
    assert answers.given(0, lambda: "again", 0, 1_000) == "again"
    assert answers.given(MOST, lambda: "again", 0, 1_000) == "first"


def test_what_takes_long_is_answered_later() -> None:
    answers, go = Answers(), threading.Event()

    def slow() -> int:
        go.wait(10)
        return 7

    assert answers.soon("space", slow, 0, 1_000, 0.01) is None
    go.set()
    until(lambda: answers.soon("space", slow, 0, 1_000, 0.01) == 7, 60)


def test_meanwhile_the_former_answer_stands() -> None:
    answers, go = Answers(), threading.Event()
    assert answers.soon("space", lambda: 1, 0, 1_000, 10) == 1
    assert answers.soon("space", lambda: 2 if go.wait(10) else 0, 2_000, 1_000, 10) == 1
    go.set()
    until(lambda: answers.soon("space", lambda: 3, 2_000, 1_000, 10) == 2, 60)


def test_what_was_asked_beside_raises_where_its_answer_is_looked_at() -> None:
    answers = Answers()
    with pytest.raises(ZeroDivisionError):
        answers.soon("space", lambda: 1 // 0, 0, 1_000, 10)
    assert answers.soon("space", lambda: 7, 0, 1_000, 10) == 7
