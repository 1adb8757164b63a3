"""Changed meanings in words: a key with what it has at each point, whatever its rows are."""

from __future__ import annotations

from pipelines.domain.changed_meanings import KeyExample, flat
from pipelines.words import changed_meanings as words


def test_a_key_has_what_differs_and_no_more() -> None:
    example = KeyExample({"user": 7}, ({"sum": 120.5, "n": 3},), ({"sum": 131.0, "n": 4},), ({"sum": 121.5, "n": 4},))
    assert example.differing == ("sum",)
    expected = "key user=7: `sum` is 120.5 in the savepoint; after the same batch the old code has 131.0, the new code has 121.5."
    assert words.sentence(example, "") == expected


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
