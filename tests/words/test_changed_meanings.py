"""Changed meanings in words: a key with what it has at each point, whatever its rows are."""

from __future__ import annotations

from pipelines.domain.changed_meanings import KeyExample, flat, in_words
from pipelines.words import changed_meanings as words


def test_a_key_has_what_differs_and_no_more() -> None:
    example = KeyExample({"user": 7}, ({"sum": 120.5, "n": 3},), ({"sum": 131.0, "n": 4},), ({"sum": 121.5, "n": 4},))
    assert example.differing == ("sum",)
    expected = "key user=7: `sum` is 120.5 in the savepoint; after the same batch the old code has 131.0, the new code has 121.5."
    assert words.sentence(example, "") == expected


def test_a_window_begins_at_a_whole_second() -> None:
    assert words.key({"window.start": "2026-01-01T00:30:00.000000Z", "k": "x"}) == "key window.start=2026-01-01T00:30:00Z, k=x"
    assert words.key({"at": "2026-01-01T00:30:00.250000Z"}) == "key at=2026-01-01T00:30:00.250000Z"


def test_without_the_old_code_the_savepoint_is_what_is_compared_with_and_it_is_said_why() -> None:
    example = KeyExample({}, ({"sum": 1},), None, ({"sum": 2},))
    expected = "the one row without a key: `sum` is 1 in the savepoint, and 2 after the next batch of the new code. The old code failed."
    assert words.sentence(example, "The old code failed.") == expected


def test_rows_that_are_several_or_none_are_said_as_such() -> None:
    example = KeyExample({"k": "a"}, (), ({"v": 1}, {"v": None}), ({"v": 1},))
    expected = "key k=a: `v` is nothing in the savepoint; after the same batch the old code has [1, null], the new code has 1."
    assert words.sentence(example, "") == expected


def test_columns_of_structs_have_their_path_and_lists_stay_whole() -> None:
    assert flat({"key": {"window": {"start": "x"}, "post": None}}) == {"window.start": "x", "post": None}
    assert flat({"list_element": {"v": [1, {"a": 2}]}}) == {"v": [1, {"a": 2}]}


def test_what_the_new_code_keeps_in_a_columns_place_is_said_in_its_words() -> None:
    total, counted = "sum(n) AS total", "count(n) AS total"
    example = KeyExample({"k": "a"}, ({total: 333},), ({total: 343},), ({total: 334},), {total: counted})
    assert words.column(example, total) == "sum(n) AS total, now count(n) AS total"
    assert words.sentence(example, "").endswith("the old code has 343, the new code, for which that is `count(n) AS total`, has 334.")
    alone = KeyExample({"k": "a"}, ({total: 333},), None, ({total: 334},), {total: counted})
    assert words.sentence(alone, "").endswith("334 after the next batch of the new code, for which that is `count(n) AS total`.")


def test_columns_that_one_code_alone_keeps_have_no_value_of_the_other() -> None:
    example = KeyExample({"k": "a"}, ({"sum(n)": 333},), ({"sum(n)": 343},), ({"count(n)": 112},))
    assert words.sentence(example, "") == (
        "key k=a: `sum(n)`, which the new code does not keep, is 333 in the savepoint, and 343 after the same batch of the old code; and "
        "`count(n)`, which only the new code keeps, is 112 after the next batch."
    )


def test_the_last_columns_of_a_value_are_called_as_the_code_does() -> None:
    row = {"value": {"post": 1, "sum": 2, "sum_2": 3}}
    assert flat(in_words(row, ["sum(a) AS x", "sum(b.c)"])) == {"post": 1, "sum(a) AS x": 2, "sum(b.c)": 3}
    for words_of_more, other in ((["a", "b", "c", "d"], row), ([], row), (["a"], {"list_element": {"v": 1}})):
        assert in_words(other, words_of_more) == other
