"""Who may read what of a workspace: its owner all of it, other users of the machine the outputs of jobs, as far as the owner's umask says.

A folder that is closed to others closes all that is in it, so also the files that drivers write with their user's umask, and hard links,
which have the modes of what they are links of.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pipelines.storage import handover
from pipelines.storage.layout import OUTPUT, WAREHOUSE, Layout

NOBODY_ELSE = 0o077
PRIVATE = 0o700
PASSAGE = 0o711
"""Others go through such a folder to an output, and do not see what else is in it."""
_SPECIAL = 0o7000


@cache
def users_umask() -> int:
    """The umask that this process was begun with, which its first call replaces."""
    return os.umask(NOBODY_ELSE)


def keep_private() -> None:
    """What this process makes from now on is its user's alone, unless it is given other modes."""
    users_umask()


def make_folder(folder: Path) -> None:
    """Makes a folder for its user's own things, and those above that are missing, with the modes that the user's umask gives."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o777 & ~users_umask())


def make_passage(folder: Path) -> None:
    """Makes a folder that outputs are below."""
    make_folder(folder)
    _restrict(folder, PASSAGE)


def share(path: Path) -> None:
    """Gives what was made at `path`, a file or a folder with all that is in it, the modes that the user's umask gives."""
    for folder, _, names in os.walk(path):
        os.chmod(folder, 0o777 & ~users_umask())
        for name in names:
            _share_file(os.path.join(folder, name))
    if path.is_file():
        _share_file(str(path))


def tighten(layout: Layout) -> list[OSError]:
    """Takes from others what they have in a workspace and should not; answers with what the system refused."""
    refused = []
    for path, most in _most(layout):
        try:
            _restrict(path, most)
        except FileNotFoundError:
            continue
        except OSError as error:
            refused.append(error)
    return refused


def _most(layout: Layout) -> Iterator[tuple[Path, int]]:
    """The modes that the paths of a workspace may have at most; what is below a private folder needs no look."""
    yield from ((layout.root, PASSAGE), (layout.jobs, PASSAGE))
    yield from ((path, PRIVATE) for path in layout.of_control())
    for job in _inside(layout.jobs):
        yield job, PASSAGE
        yield from ((path, PRIVATE) for path in _inside(job) if path.name not in (OUTPUT, WAREHOUSE))


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _restrict(path: Path, most: int) -> None:
    """Takes from `path` every right beyond `most`, and gives none. A folder that everybody shares (`/tmp`) stays as it is."""
    seen = path.stat()
    mode = stat.S_IMODE(seen.st_mode)
    if mode & ~(most | _SPECIAL) and not mode & stat.S_ISVTX and not handover.is_passage(seen):
        path.chmod(mode & (most | _SPECIAL))


def _share_file(path: str) -> None:
    """A file that is another user's (a hard link of it) keeps its modes: only its owner can change them."""
    wanted, seen = 0o666 & ~users_umask(), os.stat(path)
    if stat.S_IMODE(seen.st_mode) != wanted and os.getuid() in (0, seen.st_uid):
        os.chmod(path, wanted)
