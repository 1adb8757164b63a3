"""Java sources of tests, compiled by the compiler in Spark's own jars (Janino): where there is a JVM and no JDK."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pipelines.sandbox.java import java_home

COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
SECONDS = 120


def compiled(source: Path, jars: Sequence[Path]) -> Path:
    """The folder of the classes of `source`, beside the environment; the first who asks for it makes it."""
    key = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    made = Path(sys.prefix) / f"tests-{source.stem.lower()}-{key}"
    with made.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=made.parent) as folder:
                compile_to(Path(folder) / "classes", source, jars)
                (Path(folder) / "classes").rename(made)
    return made


def java() -> str:
    return str(java_home().path / "bin" / "java")


def spark_jars() -> list[Path]:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return sorted(Path(spec.origin).parent.glob("jars/*.jar"))


def compile_to(folder: Path, source: Path, jars: Sequence[Path]) -> None:
    folder.mkdir(exist_ok=True)
    path = os.pathsep.join(map(str, jars))
    command = [java(), "-cp", path, COMPILER, "-classpath", path, "-d", str(folder), str(source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    assert any(folder.rglob(f"{source.stem}.class")), done.stdout
