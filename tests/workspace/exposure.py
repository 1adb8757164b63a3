"""What other users of the machine get at in a folder."""

from __future__ import annotations

import stat
from pathlib import Path

ENTER = 0o011


def exposed(root: Path) -> dict[str, int]:
    """Path -> the rights of the group and of everybody, for each path below `root` that has any and that they can come to."""
    rights_by_path: dict[str, int] = {}
    waiting = [root]
    while waiting:
        path = waiting.pop()
        rights = stat.S_IMODE(path.lstat().st_mode) & 0o077
        if rights:
            rights_by_path[path.relative_to(root).as_posix()] = rights
        if path.is_dir() and rights & ENTER:
            waiting += path.iterdir()
    return rights_by_path
