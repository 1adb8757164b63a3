"""Which paths are relative: one at a time, and many at once."""

from __future__ import annotations

import pytest

from pipelines.domain.errors import Invalid
from pipelines.storage import paths

GOOD = ["a", "a/b", "a/.b", "a/..b", "a/b..", "...", "a b/\n/c", "a\n"]
BAD = ["", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "../a", "a/..", "a/../b", "a/./b", "a\0b"]


@pytest.mark.parametrize("path", GOOD)
def test_a_relative_path_is_said_again(path: str) -> None:
    assert paths.relative(path) == path


@pytest.mark.parametrize("path", BAD)
def test_what_could_leave_its_root_is_refused_among_many_too(path: str) -> None:
    for ask in (lambda: paths.relative(path), lambda: paths.all_relative([*GOOD, path]), lambda: paths.all_relative([path, *GOOD])):
        with pytest.raises(Invalid) as refused:
            ask()
        assert repr(path) in refused.value.message


@pytest.mark.parametrize("names", [[], GOOD])
def test_many_are_said_again(names: list[str]) -> None:
    assert paths.all_relative(names) == names
