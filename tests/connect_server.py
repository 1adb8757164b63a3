"""A Spark Connect server in a process of its own, from the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

from pipelines.sandbox import classes
from tests import java, local_files
from tests.waiting import until

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at: \S+:(\d+)")
CONF = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "INFO",
    "spark.driver.memory": "1g",
}


@contextmanager
def serving(folder: Path, conf: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its address, `sc://host:port`; it is up when the block begins and gone after it. `conf`: more of its confs, as what gives it jars."""
    local_files.prepare()
    java.prepare()
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    log = folder / "connect.log"
    words = [word for key, value in {**CONF, **(conf or {})}.items() for word in ("--conf", f"{key}={value}")]
    command = [str(Path(spec.origin).parent / "bin" / "spark-submit"), "--master", "local[2]", "--driver-java-options", classes.BRIEF]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, *words, "--class", SERVER, "spark-internal"],
            cwd=folder,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: server.poll() is not None or STARTED.search(log.read_text()), 120, what=str(log))
        match = STARTED.search(log.read_text())
        assert match is not None, log.read_text()
        yield f"sc://127.0.0.1:{match[1]}"
    finally:
        workers = psutil.Process(server.pid).children(recursive=True) if server.poll() is None else []
        server.terminate()
        server.wait(60)
        for worker in workers:  # a Python that runs a foreachBatch outlives its server
            with suppress(psutil.NoSuchProcess):
                worker.kill()
