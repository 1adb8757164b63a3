"""Class data sharing: what Java makes of Spark's classes in a first run is kept, and every later Spark maps it into its memory.

It halves the processor's time from the start of a job to its first batch. An archive belongs to one Java and one Spark. It is made once,
beside the first run (`python -m pipelines.sandbox.classes`), and kept in the user's cache, about 190 MB. Nothing depends on it: Java passes
over an archive of another Java or of other jars, and, asked to verify, one whose checksums differ. One that is cut short would end Java
with SIGBUS, so an archive has its size in its name.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pipelines
from pipelines.sandbox import sparks
from pipelines.sandbox.java import JavaHome
from pipelines.storage import users

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Environment variable with options of the JVM that Spark's driver runs in, before those of `spark.driver.extraJavaOptions`."""
ROOT = Path(pipelines.__file__).resolve().parent.parent
"""The entry of PYTHONPATH with which another interpreter finds our packages."""
CLASS_PATH = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""Environment variables that Spark's class path is made of beside its jars, in Spark's order (AbstractCommandBuilder.buildClassPath): the
first stands before the jars, the others after them."""
NAMED = "-XX:SharedArchiveFile="
CHECKED = "-Xshare:auto -XX:+VerifySharedSpaces -Xlog:cds*=off"
"""Without a word and without an end where the archive is of no use."""
UNPOLISHED = "-XX:TieredStopAtLevel=1"
"""Compiled fast and no further, for a JVM that lives for seconds: a third of the time of a verdict by a cold process."""
BRIEF = f"{UNPOLISHED} -XX:+UseSerialGC"
"""The same, with the collector that begins soonest; Java does not start where a conf names another one as well."""
MADE = "made.jsa"
KEPT = 6
"""Archives that stay: those that were used last."""
TIMEOUT_S = 1800.0
STATE = "org.apache.spark.sql.execution.streaming.state"
FIRST_RUN = f"""
import os, runpy, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "{STATE}.RocksDBStateStoreProvider")
rates = spark.readStream.format("rate").load()
counts = rates.withWatermark("timestamp", "1 second").groupBy("timestamp").count()
for kind, rows in (("parquet", counts), ("json", rates)):
    rows.writeStream.format(kind).trigger(availableNow=True).start(kind, checkpointLocation="checkpoint of " + kind).awaitTermination()
    spark.read.format(kind).load(kind).collect()
counts.createOrReplaceTempView("counts")
sys.argv = ["", os.path.abspath("planned"), os.path.abspath("checkpoint of parquet"), "counts"]
runpy.run_module("pipelines.driver.planning.warm", run_name="__main__")
spark.stop()
"""
"""What most jobs do, and a plan of code that is not run."""


def python_path(environ: Mapping[str, str]) -> str:
    """PYTHONPATH for another interpreter: our packages, before what `environ` has."""
    return os.pathsep.join(filter(None, (str(ROOT), environ.get("PYTHONPATH"))))


def submit_options(java: JavaHome, python: str, environ: Mapping[str, str]) -> str:
    """The value of SPARK_SUBMIT_OPTS for a Spark of the interpreter `python` on `java`: with its archive, if there is one.

    What the variable has already comes last, so it wins, but for an archive of ours, which may be another Spark's. Another user's Spark has
    none: it is the server's user who made it, and reads it.
    """
    present = _without_ours(environ.get(SUBMIT_OPTIONS, ""))
    archive = find(java, python) if users.other() is None and NAMED not in present else None
    if archive is None or not _is_used(archive):
        return present
    return f"{quoted(f'{NAMED}{archive}')} {CHECKED} {present}".strip()


def find(java: JavaHome, python: str) -> Path | None:
    """The archive, None where there is none that can be used; an empty one says that this Java makes none."""
    key = _key(java, python)
    try:
        archives = cache_folder().glob(f"{key}-*.jsa") if key and _is_ours(cache_folder()) else ()
        return next((path for path in archives if path.stem == f"{key}-{path.stat().st_size}"), None)
    except OSError:
        return None


def _without_ours(options: str) -> str:
    named = re.escape(quoted(f"{NAMED}{cache_folder()}{os.sep}")[:-1])
    return re.sub(rf'{named}[^"]*" {re.escape(CHECKED)} ?', "", options)


def _is_used(archive: Path) -> bool:
    """Notes the use; False for an archive that is empty, or gone meanwhile."""
    try:
        os.utime(archive)
        return archive.stat().st_size > 0
    except OSError:
        return False


def make(java: JavaHome, python: str, wait: bool = True) -> None:
    """Makes the archive if it is missing; where another process is about to, waits for that one or leaves it to it."""
    folder, key = cache_folder(), _key(java, python)
    if key is None or not folder.is_absolute():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / f".{key}").open("w") as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return
        if find(java, python) is None:
            with tempfile.TemporaryDirectory(dir=folder) as aside:
                if _first_run(java, python, Path(aside)):
                    _publish(Path(aside, MADE), key)


@cache
def make_beside(java: JavaHome, python: str) -> subprocess.Popen[bytes] | None:
    """Begins to make the archive if it is missing, and the environment names no other, once a process: in a process that outlives this one
    and gives way to all others."""
    if users.other() is not None or NAMED in os.environ.get(SUBMIT_OPTIONS, ""):
        return None
    if _key(java, python) is None or find(java, python) is not None:
        return None
    command = [sys.executable, "-m", "pipelines.sandbox.classes", str(java.path), java.version, python]
    nothing = subprocess.DEVNULL
    try:
        maker = subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except OSError:
        return None
    threading.Thread(target=maker.wait, name="tidemark-classes", daemon=True).start()
    return maker


def cache_folder() -> Path:
    """The folder of all archives, in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "tidemark", "classes")


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can put an archive there: it is code that the user's jobs run."""
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def _key(java: JavaHome, python: str) -> str | None:
    """What the archive depends on; None where the interpreter has no Spark, or Java can archive none of its class path."""
    jars, archived = sparks.jars(python), _archived()
    if archived is None:
        return None
    try:
        installed = jars.stat().st_mtime_ns if jars else None
    except OSError:
        return None
    text = f"{java.version} {java.path} {jars} {installed} {archived} {FIRST_RUN}"
    return hashlib.sha256(text.encode()).hexdigest()[:16] if jars else None


def _archived() -> dict[str, str] | None:
    """What of `CLASS_PATH` belongs to an archive: all before the first folder with files, of which Java archives none. What follows it on
    the class path does not keep Java from using the archive. None where such a folder comes first."""
    given = [(name, os.environ[name]) for name in CLASS_PATH if os.environ.get(name)]
    archived = dict(itertools.takewhile(lambda entry: not _has_files(entry[1]), given))
    return None if given and given[0][0] == CLASS_PATH[0] not in archived else archived


def _has_files(place: str) -> bool:
    return any(os.path.isdir(part) and os.listdir(part) for part in place.split(os.pathsep))


def _first_run(java: JavaHome, python: str, folder: Path) -> bool:
    """Whether a run of Spark in `folder` came to its end; its classes are then in `MADE`, if this Java can keep them."""
    asked = f"{quoted(f'-XX:ArchiveClassesAtExit={folder / MADE}')} {BRIEF}"
    environ = {**os.environ, "JAVA_HOME": str(java.path), SUBMIT_OPTIONS: asked, "SPARK_LOCAL_IP": "127.0.0.1"}
    environ["PYTHONPATH"] = python_path(environ)
    for name in ("PYSPARK_SUBMIT_ARGS", *(set(CLASS_PATH) - set(_archived() or ()))):
        environ.pop(name, None)
    command = [python or sys.executable, "-c", FIRST_RUN]
    try:  # the output is read to its end, which is that of the JVM: Python ends before it
        ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _publish(made: Path, key: str) -> None:
    """Gives the archive its name when all of it is on disk, and removes the oldest."""
    with made.open("ab") as file:
        os.fsync(file.fileno())
    made.chmod(0o600)
    made.replace(cache_folder() / f"{key}-{made.stat().st_size}.jsa")
    for old in sorted(cache_folder().glob("*.jsa"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def quoted(option: str) -> str:
    """One option for Spark's launcher (CommandBuilderUtils.parseOptionString), which splits at spaces."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


if __name__ == "__main__":
    os.nice(19)
    make(JavaHome(Path(sys.argv[1]), sys.argv[2], packaged=False), sys.argv[3], wait=False)
