"""What Python code reaches that is not seen in it: files, the environment, other processes, code made of text, the clock, chance."""

from __future__ import annotations

import os
from pathlib import PurePath

from pipelines.domain.files import is_module

NAMES = {"eval", "exec", "globals", "open", "__import__", "environ", "getenv", "urlopen", "SparkFiles", "__dict__"}
NAMES |= {"read_text", "read_bytes"}
MODULES = {
    *(
        "os",
        "posix",
        "posixpath",
        "pathlib",
        "io",
        "shutil",
        "glob",
        "tempfile",
        "fileinput",
        "linecache",
        "platform",
        "sqlite3",
        "shelve",
        "dbm",
    ),
    *("subprocess", "multiprocessing", "socket", "ssl", "urllib", "http", "ftplib", "smtplib"),
    *("ctypes", "importlib", "pkgutil", "runpy", "pickle", "marshal"),
}
"""Modules of the standard library whose answers come from outside."""
CHANCE = {"random", "secrets", "uuid", "time"}
CLOCK = {"now", "today", "utcnow"}
UNPROVED = "which may read a file or ask a service: that it answers as before cannot be proved"


def is_file(thing: object, version: str) -> bool:
    """Whether a text or a path names a file, or a folder by its whole path, that is there. Files in the folder `version` are none of them:
    their bytes are compared with the version."""
    if not isinstance(thing, str | bytes | PurePath):
        return False
    place = os.fsdecode(thing)
    if os.path.isfile(place):
        return not _is_of_version(os.path.realpath(place), os.path.realpath(version)) if version else True
    return os.path.isabs(place) and os.path.isdir(place) and os.path.realpath(place) != os.sep


def _is_of_version(place: str, version: str) -> bool:
    return place.startswith(f"{version}{os.sep}") and not is_module(os.path.relpath(place, version))
