"""What code runs on beside itself: the interpreter, its Java, the installed packages, files and variables that it reads, the time zone.
Noted by the driver, kept with each savepoint, and compared where changed code, or the same on another day, is to be called the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

INSTALLED_FILE = "installed.json"
"""In a run's folder."""
NAMES = "names "
MODULE = "module "
"""Begins the name of a module that is neither installed nor a part of the version; its version is the SHA-256 of its file."""
SHOWN_CHARS = 12
FILE, FOLDER = "a file", "a folder"
KINDS = (FILE, FOLDER)
"""What is noted of a path of which a script only asked whether something is there."""
LINK = "a link to "
"""Begins what is noted of a link that a script followed."""


@dataclass(frozen=True)
class Installed:
    """An interpreter with what is installed in it."""

    python: str
    """`3.11.7`."""
    java: str
    """`17.0.13`; empty where no Java was asked."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Distribution, as package indexes write it (`scikit-learn`) -> version; with a digest of its files where no index gave it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path of a file outside of the version that the script had opened to read it when its newest query started -> SHA-256, or `unread`;
    empty where it was not there when the script asked. Of a folder that the script looked into -> `names`; of what it only asked for -> one
    of `KINDS`, `unread` or `link`."""
    time_zone: str = ""
    """Of the machine or the environment: `Europe/Berlin`; empty where it was not noted."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Name of an environment variable that the script had read by then -> its value before the script, as `read_variables` conceals it."""
    asked: tuple[str, ...] = ()
    """What the script has asked whose answers nobody can note: services, programs, and functions of packages that open files unheard."""


def other_java(then: Installed | None, java: str) -> Iterator[str]:
    """That Spark runs on another release of Java, whose calendars, collations and texts may differ."""
    if then is not None and then.java and java and _release(then.java) != _release(java):
        yield f"It ran on Java {then.java}, and this is Java {java}."


def other_zone(then: Installed | None, zone: str) -> Iterator[str]:
    """That times without a zone are read in another one."""
    if then is not None and then.time_zone and zone and then.time_zone != zone:
        yield f"It ran in the time zone {then.time_zone}, and this is {zone}."


def other_python(then: Installed | None, python: str) -> Iterator[str]:
    """That Python functions run on another interpreter."""
    if then is not None and then.python != python:
        yield f"Its functions ran on Python {then.python}, and this is Python {python}."


def other_packages(then: Installed | None, now: Mapping[str, str]) -> Iterator[str]:
    """Packages that functions use, and that may not be what they were. `now` is as `Installed.packages`; no version: nobody knows."""
    noted = then.packages if then is not None else {}
    for name, version in sorted(now.items()):
        was = noted.get(name, "")
        if not version or not was:
            yield f"It uses {_named(name)}, whose version {'is not known' if was else 'was not noted'}{_of(version)}."
        elif version != was:
            yield f"It uses {_named(name)}, which was {_short(was)} and is {_short(version)}."


def other_files(then: Installed | None, now: Mapping[str, str]) -> Iterator[str]:
    """Files that the script read, and that may not be what they were. `now` is as `Installed.files`; empty where one is not there."""
    for path, was in sorted(then.files.items()) if then is not None else ():
        if was != now.get(path, ""):
            yield f"The script {_other(path, was, now.get(path, ''))}."


def _other(path: str, was: str, now: str) -> str:
    if are_names(was):
        return f"looked into {path}, {'in which there is something else now' if now else 'which is not there now'}"
    if not was:
        return f"looked for {path}, which was not there, and is now"
    if was.startswith(LINK):
        return f"followed the link {path}, which {'leads elsewhere' if now else 'is not there'} now"
    if was in KINDS:
        return f"looked for {path}, which was {was}, and is {now or 'not there'} now"
    return f"read {path}, which {'is another now' if now else 'is not there now'}"


def other_answers(then: Installed | None) -> Iterator[str]:
    """What may have answered otherwise."""
    for name in then.asked if then is not None else ():
        yield f"The script asked {name}, and that it answers as it did cannot be proved."


def names(entries: Iterable[str]) -> str:
    """What is noted of a folder: of the names in it alone."""
    listed = "\0".join(sorted(entries)).encode(errors="surrogateescape")
    return f"{NAMES}{hashlib.sha256(listed).hexdigest()}"


def are_names(noted: str) -> bool:
    return noted.startswith(NAMES)


def link(target: str) -> str:
    """What is noted of a link."""
    return f"{LINK}{target}"


def merged(*noted: Mapping[str, str]) -> dict[str, str]:
    """All of `noted`, each as `Installed.files`. Of a path the later one holds, and whatever says more than its kind."""
    every = [item for files in noted for item in files.items()]
    return dict(sorted(every, key=lambda item: item[1] not in KINDS))


def unread(size: int, changed_ns: int) -> str:
    """What is noted of a file that is too large to be read for this, or its owner's alone, as one with a password is, and of a file or a
    folder whose size or age a script asked for: its size in bytes, and when anything of it was changed last (`st_ctime_ns`)."""
    return f"{size} bytes of {changed_ns}"


def is_unread(noted: str) -> bool:
    return " bytes of " in noted


def is_same(then: Installed | None, now: Installed | None) -> bool:
    """Whether nothing beneath the code has changed."""
    return then is not None and now is not None and then.packages == now.packages and not list(_others(then, now))


def _others(then: Installed, now: Installed) -> Iterable[str]:
    yield from other_python(then, now.python)
    yield from other_java(then, now.java)
    yield from other_zone(then, now.time_zone)


def _release(java: str) -> str:
    return java.partition(".")[0]


def _named(name: str) -> str:
    return f"the {name}" if name.startswith(MODULE) else f"the package {name}"


def _of(version: str) -> str:
    return f" (now {_short(version)})" if version else ""


def _short(version: str) -> str:
    return version[:SHOWN_CHARS] if len(version) == 64 else version
