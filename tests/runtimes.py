"""Pythons with another PySpark than ours: each is made once, in the user's cache, and kept, with the archive of its Spark's classes.

`python -m tests.runtimes [VERSION …]` makes them; a test makes the one that it needs. PySpark's archive is 300 to 450 MB.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import classes
from pipelines.sandbox.environment import java_of

USUAL = "3.5.7"
"""Of the usual run: the last release of Spark 3, which people upgrade from."""
NEWER = "4.1.4"
"""Of the usual run, too: the newest Spark for which both Delta and Iceberg have a release. The others are for `tests/long`."""
MADE = "made"
"""Written last."""
BESIDE = ("pandas==2.3.3", "setuptools<81")


def python(version: str = USUAL) -> str:
    """The interpreter of an environment with PySpark `version`."""
    place = classes.cache_folder().parent / "runtimes" / f"pyspark-{version}-python{sys.version_info.major}.{sys.version_info.minor}"
    return str(made_once(place, lambda environment: _make(environment, version)) / "bin" / "python")


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """The folder in `place` that `make` fills, by the first who asks; the others wait."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (place / MADE).exists():
            make(place / "environment")
            (place / MADE).touch()
    return place / "environment"


def _make(environment: Path, version: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", environment], check=True)
    program = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", program, "--disable-pip-version-check", "install", "-q", "--no-compile"]
    subprocess.run([*pip, f"pyspark=={version}", *BESIDE], check=True)
    classes.make(java_of(Runtime(str(program))), str(program))


if __name__ == "__main__":
    for version in sys.argv[1:] or [USUAL, NEWER]:
        sys.stderr.write(f"{version}: {python(version)}\n")
