"""Jobs on a real YARN: the confs of a small one, the applications that YARN knows, and the end of an executor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.request import urlopen

import psutil

from pipelines.sandbox import classes
from tests import local_files
from tests.hadoop import Yarn
from tests.waiting import until


def conf() -> Mapping[str, str]:
    """Of a job with one executor, whose jars YARN finds on this machine."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    jar = str(local_files.jar())
    return {
        "spark.yarn.jars": f"local:{os.path.dirname(spec.origin)}/jars/*",
        "spark.yarn.am.memory": "512m",
        "spark.yarn.am.extraJavaOptions": classes.BRIEF,
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": classes.BRIEF,
        "spark.pyspark.python": sys.executable,
        "spark.hadoop.fs.file.impl": "tidemark.LocalFiles",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "tidemark.LocalFiles$Context",
        "spark.driver.extraClassPath": jar,
        "spark.executor.extraClassPath": jar,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }


def application(yarn: Yarn, name: str) -> Mapping[str, Any]:
    """What the resource manager says of an application."""
    with urlopen(f"{yarn.web}/ws/v1/cluster/apps/{name}", timeout=60) as answer:
        app: Mapping[str, Any] = json.load(answer)["app"]
    return app


def kill_executor_of(pid: int) -> None:
    """Kills the JVM of the executor that has started the Python worker `pid`."""
    executor = next(process for process in psutil.Process(pid).parents() if process.name() == "java")
    executor.kill()
    until(lambda: not executor.is_running() or executor.status() == psutil.STATUS_ZOMBIE, 60, what="the executor outlived its kill")
