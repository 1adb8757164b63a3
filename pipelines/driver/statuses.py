"""What a script asks of paths that it need not open: whether something is there and of which kind, how large and how old it is, and where a
link leads. Python sends no event of that, so those functions of `os` are wrapped that all others ask (`os.path.exists`, `Path.stat`).

An answer counts as it was when the script got it: what the script makes there afterwards was not there then.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Callable
from typing import Any

from pipelines.domain.installed import FILE, FOLDER, link, unread
from pipelines.driver import callers

ASK = ("stat", "lstat", "access", "readlink")
KINDS = {"exists", "lexists", "isfile", "isdir", "islink", "ismount", "is_file", "is_dir", "is_symlink", "is_mount"}
"""Functions that tell no more than what kind of thing is there."""
FOLLOW = {"realpath", "resolve"}
"""Functions that ask of each folder of a path whether it is a link."""
APART = {"makedirs", "mkdir", "touch", "unlink", "rmtree", "removedirs", "copy", "copy2", "copyfile", "copytree", "move"}
APART |= {"mkdtemp", "mkstemp", "gettempdir", "checkcache", "updatecache"}
"""Functions that ask for what they make or take away, and for the code that an error came from."""
_status = os.stat


def install(note: Callable[[str, str], None]) -> None:
    """From now on `note` is told path and answer of what the script asks."""
    for name in ASK:
        function = getattr(os, name)
        heard = _heard(name, function, note)
        setattr(os, name, heard)
        for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if function in known:
                known.add(heard)


def _heard(name: str, function: Callable[..., Any], note: Callable[[str, str], None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def asked(path: Any, *args: Any, **kwargs: Any) -> Any:
        is_path = isinstance(path, str | bytes | os.PathLike) and kwargs.get("dir_fd") is None
        functions = callers.through(sys._getframe(1), callers.SPARKS) if is_path else None
        if functions is None or not APART.isdisjoint(functions) or callers.is_called_back():
            return function(path, *args, **kwargs)
        place = os.path.abspath(os.fsdecode(path))
        try:
            answer = function(path, *args, **kwargs)
        except OSError:
            note(place, "")
            raise
        told = link(os.fsdecode(answer)) if name == "readlink" else _told(place, answer, {name, *functions})
        if told is not None:
            note(place, told)
        return answer

    asked.__module__ = os.__name__  # functions that are sent elsewhere find Python's own there
    return asked


def _told(place: str, answer: Any, functions: set[str]) -> str | None:
    """What somebody got to know who asked by `functions`; None where that is nothing."""
    if "access" in functions:
        return _kind(_status(place)) if os.path.exists(place) else ""
    if stat.S_ISLNK(answer.st_mode):
        return link(os.readlink(place))
    if not FOLLOW.isdisjoint(functions):
        return None
    return unread(answer.st_size, answer.st_ctime_ns) if KINDS.isdisjoint(functions) else _kind(answer)


def _kind(status: os.stat_result) -> str:
    return FOLDER if stat.S_ISDIR(status.st_mode) else FILE
