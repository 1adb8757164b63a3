"""What is installed in this interpreter, from the names of folders: no metadata is read, so that a driver starts as fast as before.

`python -m pipelines.driver.installed` says it as JSON, with the folders where it looked.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pipelines.domain.installed import MODULE, Installed

DISTRIBUTION = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-py\d[\d.]*)?\.(?:dist|egg)-info")
"""The recording of an installed distribution (packaging.python.org), and setuptools' older one."""
OF_NO_INDEX = "direct_url.json"
"""PEP 610: a distribution that was installed from a place, where equal versions need not be equal files."""
FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_PLACES = sysconfig.get_paths()
STANDARD = tuple({_PLACES[name] + os.sep for name in ("stdlib", "platstdlib")})
MOST_BYTES = 20_000_000
CLOCK = "/etc/localtime"
CALLER = "py4j"
SPARK = ("pyspark", CALLER)
"""Modules of Spark, whose version is noted by itself."""
OURS = str(Path(__file__).parents[1]) + os.sep


def of(spark: Any, version: Path) -> Installed:
    """What this process, its JVM and what a script has imported stand on; the version's own files lie in the folder `version`."""
    java = str(spark.sparkContext._jvm.java.lang.System.getProperty("java.version"))
    return Installed(platform.python_version(), java, {**packages(sys.path), **modules(version)}, time_zone=time_zone())


def time_zone() -> str:
    """The zone that Python and Java read times in, as the environment says it, or else the system."""
    place = os.path.realpath(CLOCK)
    known = os.environ.get("TZ", "").removeprefix(":") or place.partition("zoneinfo/")[2]
    return known or (f"of {CLOCK} {digest(place)[:12]}" if os.path.isfile(place) else "UTC")


def packages(paths: Iterable[str]) -> dict[str, str]:
    """Distribution -> version in the folders `paths`, of which the first that has one wins."""
    known: dict[str, str] = {}
    for path in paths:
        for name, version in _of_folder(path):
            known.setdefault(name, version)
    return known


def _of_folder(path: str) -> Iterator[tuple[str, str]]:
    for entry in os.listdir(path) if os.path.isdir(path) and os.access(path, os.R_OK) else ():
        match = DISTRIBUTION.fullmatch(entry)
        if match is not None:
            yield normal(match["name"]), match["version"] + _files(os.path.join(path, entry))


def normal(name: str) -> str:
    """A distribution's name as package indexes write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _files(place: str) -> str:
    """A digest of the files of a distribution that no index gave; nothing for any other, which its version identifies."""
    record = Path(place, "RECORD")
    if not os.path.exists(os.path.join(place, OF_NO_INDEX)) or not record.is_file():
        return ""
    lines = record.read_bytes().splitlines()
    own = sorted(line for line in lines if not line.startswith(b"../") and b".dist-info/" not in line and b".pyc," not in line)
    return f" of files {hashlib.sha256(b' '.join(own)).hexdigest()[:12]}"


def modules(version: Path) -> dict[str, str]:
    """Loaded modules that are neither Python's nor installed, and no file below the folder `version` -> SHA-256 of their file."""
    return {f"{MODULE}{name}": digest(place) for name, place in _places(version)}


def files(version: Path) -> dict[str, str]:
    """The files of those modules -> SHA-256."""
    return {_file(place): digest(place) for _, place in _places(version)}


def _places(version: Path) -> Iterator[tuple[str, str]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in SPARK and (place := elsewhere(module, version)):
            yield name, place


def elsewhere(module: Any, version: Path) -> str:
    """The file of a loaded module of the user's that is no part of the version; empty for any other module."""
    place = str(getattr(module, "__file__", None) or "")
    if not is_users(place):
        return ""
    resolved = os.path.realpath(place)
    return place if is_users(resolved) and not resolved.startswith(f"{os.path.realpath(version)}{os.sep}") else ""


def is_users(place: str) -> bool:
    """Whether a module's file is neither Python's, nor installed, nor ours."""
    return bool(place) and not place.startswith((*STANDARD, OURS)) and not any(folder in place for folder in FOLDERS)


@cache
def digest(place: str) -> str:
    """SHA-256 of a file, or of the archive that it lies in; empty where that is not to be read, or would hold up the start of a driver."""
    return sha256(_file(place))


def sha256(file: str) -> str:
    """SHA-256 of a file as of now; empty as for `digest`."""
    is_read = file and os.access(file, os.R_OK) and os.path.getsize(file) <= MOST_BYTES
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if is_read else ""


def _file(place: str) -> str:
    return next((str(path) for path in (Path(place), *Path(place).parents) if path.is_file()), "")


if __name__ == "__main__":
    folders = sys.path[1:]
    told = {"python": platform.python_version(), "packages": packages(folders), "folders": folders, "time_zone": time_zone()}
    print(json.dumps(told))
