"""Copies files with Spark's executors, by Hadoop's file systems: no byte passes through this process.

What an executor does is a class of our own (`Copier.java`): Python there has no JVM to ask, and Hadoop's DistCp is no part of Spark.
Janino, by which Spark compiles the code that it generates, compiles it, and executors get it as a jar of the application.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from pipelines.sandbox import reading
from pipelines.sandbox.cluster_copies import Copied, CopyTask, parted
from pipelines.sandbox.readings import Far

SOURCE = Path(__file__).with_name("Copier.java")
NAME = "tidemark.Copier"
JAR = "copier.jar"
NUL = "\0"
ROUNDS = 4
"""Tasks of each core: one that is slow holds up less."""
TASK_BYTES = 256 * 2**20
"""About what a task copies at most: how far it is, is told when it is done."""


def copy(spark: Any, task: CopyTask, folder: Path) -> Copied:
    """Raises what Spark raises; what was copied until then stays."""
    context = spark.sparkContext
    copied = context._jsc.sc().longAccumulator("copied")
    copier = _copier(context, folder / JAR, copied)
    total = sum(move.bytes for move in task.moves)
    lists = parted(task.moves, max(ROUNDS * context.defaultParallelism, total // TASK_BYTES))
    texts = context._jvm.java.util.ArrayList()
    for moves in lists:
        texts.add(NUL.join(part for move in moves for part in (move.source, move.target)))
    with reading.telling(folder, lambda: Far("copying", min(int(copied.value()), total), total)):
        answers = context._jsc.parallelize(texts, len(lists)).map(copier).collect()
    return Copied(tuple(path for answer in answers for path in answer.split(NUL) if path))


def _copier(context: Any, jar: Path, copied: Any) -> Any:
    """The function of the tasks. The driver has its class from the compiler, executors from the jar."""
    jvm = context._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(SOURCE.read_text())
    with zipfile.ZipFile(jar, "w") as file:
        for name, code in compiler.getBytecodes().items():
            file.writestr(f"{name.replace('.', '/')}.class", bytes(code))
    context._jsc.addJar(jar.as_uri())
    arguments = context._gateway.new_array(jvm.java.lang.Object, 2)
    arguments[0] = jvm.org.apache.spark.util.SerializableConfiguration(context._jsc.hadoopConfiguration())
    arguments[1] = copied
    return compiler.getClassLoader().loadClass(NAME).getConstructors()[0].newInstance(arguments)
