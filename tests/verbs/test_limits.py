"""Texts that people give: every field of every declaration refuses what steers a terminal, and what has no end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from pipelines import verbs
from pipelines.domain import texts
from pipelines.domain.errors import Invalid
from pipelines.verbs.declaration import default_of, parts
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.fork import Variant
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Asked, spelling

FIELDS = [(kind, part.name) for kind in verbs.every() for part in parts(kind)]
HOSTILE = {
    "escape": "a\x1b[2Jb",
    "zero": "a\0b",
    "backspace": "a\bb",
    "C1": "a\x9bb",
    "half a pair": "a\ud800b",
    "right to left": "a\u202eb",
}


def sample(kind: type[Asked[Any]]) -> dict[str, Any]:
    """Values for each field of a declaration, as little as it takes."""
    empty: dict[Any, Any] = {str: "x", int: 1, bool: False}
    values = {part.name: default_of(part) for part in parts(kind)}
    hints = get_type_hints(kind)
    return {name: empty.get(hints[name], ()) if value is dataclasses.MISSING else value for name, value in values.items()}


def with_text(kind: type[Asked[Any]], name: str, text: str) -> Iterator[Any]:
    """Each value of the field `name` that holds `text`."""
    hint = get_type_hints(kind)[name]
    for inner in (hint, *get_args(hint)):
        if inner is str and get_origin(hint) is not tuple and "Mapping" not in str(hint):
            yield text
        if str(inner).startswith("tuple[str"):
            yield ("x", text)
        if "Mapping[str, str" in str(inner):
            yield {"x": text}
            yield {text: "x"}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_field_takes_what_steers_a_terminal(hostile: str) -> None:
    for kind, name in FIELDS:
        for value in with_text(kind, name, HOSTILE[hostile]):
            with pytest.raises(Invalid) as refused:
                kind(**{**sample(kind), name: value})
            assert "\x1b" not in refused.value.message and name in refused.value.message


def test_no_field_takes_more_than_its_kind_of_text() -> None:
    for kind, name in FIELDS:
        most = next(spelling(part).text.most for part in parts(kind) if part.name == name)
        for value in with_text(kind, name, "x" * (max(most, texts.NAME.most) + 1)):
            with pytest.raises(Invalid):
                kind(**{**sample(kind), name: value})


def test_no_field_takes_lists_without_end() -> None:
    for kind, name in FIELDS:
        if str(get_type_hints(kind)[name]).startswith("tuple[str"):
            with pytest.raises(Invalid):
                kind(**{**sample(kind), name: ("x",) * (texts.MOST_ITEMS + 1)})


def test_what_is_inside_of_a_list_is_looked_at() -> None:
    with pytest.raises(Invalid):
        StartExperiment("try", "sp-1", (Variant(name="b", args=("\0",)),))


def test_letters_of_all_scripts_and_what_joins_them_are_text() -> None:
    label = "vor der Änderung · 変更前 · قبل · 👩‍💻 · می‌خواهم"
    assert Take("a", label=label).label == label


def test_a_note_has_lines_and_a_label_has_not() -> None:
    assert texts.NOTE.checked("one\r\n\ttwo\n", "it")
    with pytest.raises(Invalid):
        texts.LABEL.checked("one\ntwo", "it")


def test_a_label_from_elsewhere_is_shown_on_one_line() -> None:
    assert texts.LABEL.cut("a\x1b[2J\nb") == "a\\x1b[2J\\nb"
    assert texts.LABEL.cut("x" * 1_000_000) == "x" * 119 + "…"


@pytest.mark.parametrize(("said", "line"), [("", ""), (ValueError(), ""), ("\n  no such table \nplan: …", "no such table ")])
def test_of_what_an_error_says_the_first_line_is_shown(said: object, line: str) -> None:
    assert texts.first_line(said) == line
