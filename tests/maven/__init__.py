"""Jars from Maven's repository that tests need. Each `NAME.xml` here says which; `python3 -m tests.maven` fetches them.

Standard library only: it runs before there is an environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / "data" / "artifacts"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
HOW = "python3 -m tests.maven (it needs Maven: apt-get install maven)"
"""How to get what is missing."""


def names() -> list[str]:
    """The lists of jars that there are."""
    return sorted(path.stem for path in HERE.glob("*.xml"))


def folder(name: str) -> Path:
    """Where the jars of the list `name` are kept: another list has another folder."""
    content = (HERE / f"{name}.xml").read_bytes()
    return CACHE / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"


def jars(name: str) -> list[Path]:
    """The jars of the list `name`; none where they were not fetched."""
    return sorted(folder(name).glob("*.jar"))


def fetch(name: str) -> None:
    """Fetches the jars of the list `name` unless they are there, or waits for who does; a folder under its name holds all of them."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        _fetch(name, folder(name))


def _fetch(name: str, target: Path) -> None:
    if target.is_dir():
        return
    aside = target.with_name(f"{target.name}.part")
    if aside.exists():
        shutil.rmtree(aside)
    aside.mkdir(parents=True)
    command = ["mvn", "-q", "-B", "-f", str(HERE / f"{name}.xml"), PLUGIN, f"-DoutputDirectory={aside}", "-DincludeScope=runtime"]
    subprocess.run(command, check=True)
    aside.rename(target)
