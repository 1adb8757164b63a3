"""Words that are empty, as a shell's variable is that was never set: they name nothing, least of all the present folder."""

from __future__ import annotations

import pytest

from pipelines.cli import words
from tests.cli.doors import Door

JOB = "post_engagement"
EMPTY = {
    "export": ("export", "sp-1", ""),
    "import": ("import", ""),
    "take to": ("savepoint", JOB, "--to", ""),
    "resume from": ("resume", JOB, "--from", ""),
    "run": ("run", ""),
    "resume code": ("resume", JOB, "--code", ""),
    "fork requirements": ("fork", "sp-1", "--name", "b", "--requirements", ""),
    "fork file": ("fork", "sp-1", "--name", "b", "--file", ""),
    "workspace": ("list", "--workspace", ""),
}


@pytest.mark.parametrize("way", EMPTY)
def test_an_empty_word_is_refused_and_nothing_is_begun(way: str, tidemark: Door) -> None:
    done = tidemark(*EMPTY[way])
    assert (done.exit_code, tidemark.face.begun) == (2, []) and "empty" in done.stderr, done.output


def test_an_empty_name_is_not_the_present_folder() -> None:
    assert [named("") for named in (words.place, words.checkpoint_name, words.savepoint_name)] == ["", "", ""]
