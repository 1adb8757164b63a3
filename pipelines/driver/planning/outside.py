"""What Python code reaches that is not seen in it: files, the environment, other processes, code made of text, the clock, chance."""

from __future__ import annotations

NAMES = {"eval", "exec", "globals", "open", "__import__", "environ", "getenv", "urlopen", "SparkFiles", "__dict__"}
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
