"""The Java that tests start Spark on. Most of their JVMs live for seconds, in which they would read classes and compile.

What has been read once is kept beside the environment (class data sharing), and only the first compiler runs: a start of Spark with a
small query takes 6.5 s of a processor instead of 19.3, and there are hundreds of them. Jobs that live for minutes have all compilers.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pipelines.driver import submit
from pipelines.sandbox.java import java_home

LASTING = "-Xlog:disable"
BRISK = f"{LASTING} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SECONDS = 300
STATE = "org.apache.spark.sql.execution.streaming.state"
USUAL = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "{STATE}.RocksDBStateStoreProvider")
rates = spark.readStream.format("rate").load()
counts = rates.withWatermark("timestamp", "1 second").groupBy("timestamp").count()
for kind, rows in (("parquet", counts), ("json", rates)):
    rows.writeStream.format(kind).trigger(availableNow=True).start(kind, checkpointLocation="checkpoint of " + kind).awaitTermination()
    spark.read.format(kind).load(kind).collect()
spark.stop()
"""
"""What most tests do."""


def prepare() -> None:
    """Sets the variables that Spark reads: its Java, its Python, and how they are started."""
    os.environ["JAVA_HOME"] = str(java_home().path)
    os.environ.pop("PYSPARK_PYTHON", None)
    submit.prepare_workers(os.environ)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{BRISK} {shared()}"
    os.environ["SPARK_LAUNCHER_OPTS"] = BRISK


def lasting() -> dict[str, str]:
    """The environment of a server whose jobs live for minutes."""
    return {**os.environ, "JAVA_HOME": str(java_home().path), "SPARK_SUBMIT_OPTS": f"{LASTING} {shared()}"}


@cache
def shared() -> str:
    """The option that names the classes that have been read, by the first who asks for it; empty where this Java cannot keep them."""
    key = hashlib.sha256(f"{java_home()} {version('pyspark')} {BRISK} {USUAL}".encode()).hexdigest()[:12]
    archive = Path(sys.prefix) / f"tests-{key}.jsa"
    with archive.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not archive.exists():
            _read(archive)
    return f"-XX:SharedArchiveFile={archive}" if archive.stat().st_size else ""


def _read(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / archive.name
        environ = {**os.environ, "JAVA_HOME": str(java_home().path), "SPARK_SUBMIT_OPTS": f"{BRISK} -XX:ArchiveClassesAtExit={made}"}
        subprocess.run([sys.executable, "-c", USUAL], cwd=folder, env=environ, check=True, capture_output=True, timeout=SECONDS)
        made.touch()
        shutil.move(made, archive)
