"""Local files for Spark in tests: a system call for each permission and link, where Hadoop starts a process.

Without its native library, which PySpark does not bring, Hadoop sets each file's permissions with `chmod` and looks before each rename
with `readlink`: dozens of processes a batch, and more than half of a batch's time. `LocalFiles.java` does the same in Java itself. It is
compiled once, by the compiler that Spark brings, and lies beside the environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from tests.compiled import compile_to, spark_jars

SOURCE = Path(__file__).with_name("LocalFiles.java")
SETTINGS = """<configuration>
  <property><name>fs.file.impl</name><value>tidemark.LocalFiles</value></property>
  <property><name>fs.AbstractFileSystem.file.impl</name><value>tidemark.LocalFiles$Context</value></property>
</configuration>
"""
CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""The variable whose jars Spark's launcher puts behind its own."""


def prepare() -> None:
    """Every Spark that is started from now on has them."""
    others = [path for path in os.environ.get(CLASS_PATH, "").split(os.pathsep) if path and path != str(jar())]
    os.environ[CLASS_PATH] = os.pathsep.join([*others, str(jar())])


@cache
def jar() -> Path:
    """The classes and the settings that name them; the first who asks for it makes it."""
    key = hashlib.sha256(SOURCE.read_bytes() + SETTINGS.encode()).hexdigest()[:12]
    made = Path(sys.prefix) / f"tests-local-files-{key}.jar"
    with made.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not made.exists():
            _make(made)
    return made


def _make(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        compile_to(Path(folder), SOURCE, spark_jars())
        packed = Path(folder) / target.name
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("core-site.xml", SETTINGS)
            for file in sorted(Path(folder).glob("tidemark/*.class")):
                archive.write(file, file.relative_to(folder))
        packed.rename(target)
