"""Rights with which this process opens what a job's code names: those of the user that runs that code, where it is another one.

A name in a script's arguments or in a sink's log can be a link to a file that only the server may read. Linux keeps the user, the group
and the further groups with which files are opened for each thread (setfsuid(2), setfsgid(2), setgroups(2)); a thread begins with those
of the thread that begins it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

from pipelines.domain.errors import Unavailable
from pipelines.domain.references import LONGEST
from pipelines.storage import users
from pipelines.storage.layout import OUTPUT, WAREHOUSE, Layout
from pipelines.storage.users import User

SETGROUPS = {"x86_64": 116, "aarch64": 159, "riscv64": 159, "ppc64le": 81, "s390x": 206}
"""The number of that system call by machine: the C library's function of its name sets the groups of all threads."""
PRESENT = ctypes.c_uint32(-1)
"""Asked for this one, Linux answers with the present one, and sets none."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ELSEWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""Errors of a path that is not there without a link: who reads it says so."""


@contextmanager
def of_job() -> Iterator[None]:
    """Until the block ends, this thread and those that it begins open files with the rights of a job's code.

    Nothing changes where they are this process's. Raises Unavailable (`run_as.rights`) where they cannot be had.
    """
    as_other = users.other()
    if as_other is None:
        yield
        return
    user, linux = as_other.user, ctypes.CDLL(None, use_errno=True)
    own = (linux.setfsuid(PRESENT), linux.setfsgid(PRESENT), os.getgroups())
    try:
        _take(linux, user.uid, user.gid, user.groups)
        yield
    finally:
        _take(linux, *own)


def _take(linux: ctypes.CDLL, uid: int, gid: int, groups: Sequence[int]) -> None:
    number = SETGROUPS.get(platform.machine())
    listed = (ctypes.c_uint32 * len(groups))(*groups)
    failed = number is None or linux.syscall(ctypes.c_long(number), ctypes.c_size_t(len(groups)), listed)
    linux.setfsgid(ctypes.c_uint32(gid))
    linux.setfsuid(ctypes.c_uint32(uid))
    if failed or (linux.setfsuid(PRESENT), linux.setfsgid(PRESENT)) != (uid, gid):
        message = f"A thread cannot open files as the user {uid} on {platform.system()} {platform.machine()}"
        raise Unavailable("run_as.rights", message, "Start the server as root, on Linux.")


def open_for_job(path: str) -> int:
    """A descriptor to read what is at `path`, which a job's code names, with the rights of that code. OSError where it cannot be opened."""
    with of_job():
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def read_for_job(path: str) -> bytes:
    """The beginning of a file with a secret, with the rights of a job's code. OSError where it cannot be read."""
    descriptor = open_for_job(path)
    try:
        return os.read(descriptor, LONGEST + 1)
    finally:
        os.close(descriptor)


def let_read_rows(files: Iterable[str]) -> None:
    """Lets the user read data files (absolute paths): state that was read is the server's, and so is what was written before there was
    another user. Only files in the outputs and tables of the workspace's jobs and in readings of state, and none that is reached by a
    link: jobs name them, and make the folders there. Of all others the user has the rights that it has."""
    other = users.other()
    if other is None:
        return
    for file in files:
        path = PurePath(file)
        if path.is_relative_to(other.workspace) and ".." not in path.parts and _holds_rows(Layout(other.workspace), path):
            try:
                _let_read(other, path.relative_to(other.workspace))
            except OSError as error:
                if error.errno not in ELSEWHERE:
                    raise


def _holds_rows(layout: Layout, path: PurePath) -> bool:
    of_job = path.relative_to(layout.jobs).parts[1:2] if path.is_relative_to(layout.jobs) else ()
    return path.is_relative_to(layout.readings) or of_job in ((OUTPUT,), (WAREHOUSE,))


def _let_read(other: users.Other, inner: PurePath) -> None:
    """One file, from folder to folder without following a link."""
    at = os.open(other.workspace, FOLDER)
    try:
        for part in inner.parts[:-1]:
            outer, at = at, os.open(part, FOLDER, dir_fd=at)
            os.close(outer)
            _give(at, other.user, stat.S_IXGRP, stat.S_IXOTH)
        file = os.open(inner.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode):
            _give(file, other.user, stat.S_IRGRP, stat.S_IROTH)
    finally:
        os.close(file)


def _give(descriptor: int, user: User, right: int, of_all: int) -> None:
    """A right to what is the server's and does not give it to all."""
    seen = os.fstat(descriptor)
    if seen.st_uid != user.uid and not seen.st_mode & of_all:
        os.fchown(descriptor, -1, user.gid)
        os.fchmod(descriptor, stat.S_IMODE(seen.st_mode) | right)
