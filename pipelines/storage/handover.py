"""Rights of the user that runs a job's code (`users.other`) in a workspace, which is the server's.

- The user gets through the folders on the way to what it needs (`let_in`), and sees in none of them what else there is.
- It reads the job's code and environment (`let_read`).
- It owns the checkpoint, the output and the tables of a job, as far as the server did not keep what is in them (`hand_over`).
- Run folders stay the server's and take the user's files (`admit`): nobody can put another file in the place of one of the server's.
- A file that gets another name in a savepoint is the server's from then on (`keep`): the job reads, renames and deletes it, and cannot
  write into it.

Nothing here follows a link that the user may have made. Without another user nothing is done.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pipelines.domain.errors import Corrupt
from pipelines.storage import users
from pipelines.storage.layout import Layout
from pipelines.storage.users import User

READ, ENTER = 0o040, 0o010
SHARED = 0o1770
"""Of a folder of the server's that takes the user's files; sticky: who owns a file renames and deletes it."""
OTHERS_WRITE = 0o022


def _user() -> User | None:
    other = users.other()
    return other.user if other is not None else None


def is_passage(seen: os.stat_result) -> bool:
    """Whether a folder is as `let_in` makes one: the user gets through it, and nobody else has any right."""
    user = _user()
    return user is not None and stat.S_ISDIR(seen.st_mode) and seen.st_gid == user.gid and seen.st_mode & 0o077 == ENTER


def mark(folder: Path) -> None:
    """Lets the user read the documents that are directly in a folder of the server's, and those that will be."""
    user = _user()
    if user is None:
        return
    let_in(folder)
    os.chown(folder, -1, user.gid)
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | ENTER | stat.S_ISVTX)
    for item in list(os.scandir(folder)):
        if item.is_file(follow_symlinks=False):
            _readable(user, Path(item.path), READ)


def let_in(path: Path, root: Path | None = None) -> None:
    """Lets the user through the folders from `root`, the workspace's if not given, down to the one that `path` is in."""
    other = users.other()
    if other is None:
        return
    for folder in (parent for parent in reversed(path.parents) if parent.is_relative_to(root or other.workspace)):
        if not users.enters(other.user, folder):
            os.chown(folder, -1, other.user.gid)
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | ENTER)


def let_read(places: Iterable[Path]) -> None:
    """Lets the user read files, and folders of the server's with all that is in them, which does not change any more."""
    user = _user()
    if user is None:
        return
    for place in places:
        let_in(place)
        if place.is_dir() and place.stat().st_gid == user.gid:
            continue
        for folder, _, names in os.walk(place):
            _readable(user, Path(folder), READ | ENTER)
            for name in names:
                _readable(user, Path(folder, name), READ)
        if place.is_file():
            _readable(user, place, READ)


def prepare(folder: Path) -> None:
    """Lets the user work in the folder of a process: of a run, or of work in the sandbox with what else is there for that work."""
    other = users.other()
    if other is None:
        return
    sandbox = Layout(other.workspace).sandbox
    if folder.is_relative_to(sandbox):
        admit(sandbox / folder.relative_to(sandbox).parts[0])
    admit(folder)


def take_back(folder: Path) -> None:
    """Makes all of a folder that the user has made, and no process of the user's is in any more, the server's alone."""
    if users.other() is None:
        return
    for _, folders, names, at in os.fwalk(folder):
        for name in (*folders, *names):
            os.chown(name, os.getuid(), os.getgid(), dir_fd=at, follow_symlinks=False)
        os.fchown(at, os.getuid(), os.getgid())


def admit(folder: Path) -> None:
    """Lets the user make files in a folder of the server's, read those that are there, and have what is in the folders in it."""
    user = _user()
    if user is None:
        return
    let_in(folder)
    os.chown(folder, os.getuid(), user.gid)
    folder.chmod(SHARED)
    for item in list(os.scandir(folder)):
        if item.is_dir(follow_symlinks=False):
            hand_over(Path(item.path))
        elif item.is_file(follow_symlinks=False):
            _readable(user, Path(item.path), READ)


def hand_over(folder: Path, root: Path | None = None) -> None:
    """Gives the user a folder below `root` (as `let_in` has it) with all that is in it; what also has a name elsewhere (in a savepoint) it
    may only read. Nothing is given that is reached by a link, which the user may have made."""
    user = _user()
    if user is None or not folder.is_dir() or os.path.realpath(folder) != str(folder):
        return
    let_in(folder, root)
    for _, _, names, at in os.fwalk(folder):
        os.fchown(at, user.uid, user.gid)
        for name in names:
            _give(user, name, at)


def _give(user: User, name: str, at: int) -> None:
    """One file: given first and looked at then, so that one that `keep` has met in between ends as the server's."""
    try:
        seen = os.stat(name, dir_fd=at, follow_symlinks=False)
        if seen.st_uid == user.uid or not stat.S_ISREG(seen.st_mode):
            return
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    except FileNotFoundError:  # it went away meanwhile
        return
    try:
        os.fchown(file, user.uid if seen.st_nlink == 1 else -1, user.gid)
        if seen.st_nlink == 1 and os.fstat(file).st_nlink > 1:
            os.fchown(file, os.getuid(), -1)
        os.fchmod(file, stat.S_IMODE(seen.st_mode) & ~OTHERS_WRITE | READ)
    finally:
        os.close(file)


def keep(target: str) -> None:
    """Makes the file that has just been linked as `target`, where only the server writes, the server's, if the user owns it.

    Raises Corrupt (`storage.not_a_file`) for a symbolic link, which the user may have put there; the name is removed."""
    user = _user()
    seen = os.lstat(target) if user else None
    if user is None or seen is None or seen.st_uid != user.uid:
        return
    if not stat.S_ISREG(seen.st_mode):
        os.unlink(target)
        raise Corrupt("storage.not_a_file", f"{target} would be a link that the job has made, where a file is needed", "Remove the link.")
    os.chown(target, os.getuid(), user.gid, follow_symlinks=False)
    os.chmod(target, stat.S_IMODE(seen.st_mode) & ~OTHERS_WRITE | READ)


def as_in_folder(file: int, folder: str) -> None:
    """Lets the user read a new file in a folder of the server's that `admit` or `mark` has seen, which its sticky bit tells."""
    user = _user()
    if user is None:
        return
    seen = os.stat(folder)
    if seen.st_uid == os.getuid() and seen.st_gid == user.gid and seen.st_mode & stat.S_ISVTX:
        os.fchown(file, -1, user.gid)
        os.fchmod(file, 0o640)


def refuse_link(path: str) -> int:
    """Flags to open `path` with. Raises Corrupt (`storage.not_a_file`) for a symbolic link of the user's: the server would read what the
    user may not."""
    user = _user()
    if user is None:
        return 0
    if not os.path.islink(path):
        return os.O_NOFOLLOW
    if os.lstat(path).st_uid == user.uid:
        raise Corrupt("storage.not_a_file", f"{path} is a link that a job has made, where a file is needed", "Remove the link.")
    return 0


def plain_opener(path: str, flags: int) -> int:
    """For `open`: where a job's code may have put something else in the place of its file, that is as if there were none."""
    if users.other() is None:
        return os.open(path, flags)
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise FileNotFoundError(error.errno, error.strerror, path) if error.errno == errno.ELOOP else error from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return file


def _readable(user: User, path: Path, rights: int) -> None:
    seen = path.lstat()
    if stat.S_ISLNK(seen.st_mode) or seen.st_uid == user.uid:
        return
    os.chown(path, -1, user.gid)
    path.chmod(stat.S_IMODE(seen.st_mode) | rights)
