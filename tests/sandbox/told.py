"""A task for a process of the pool: writes what a session begun in it sees, and does what the folder's `does.json` asks for besides."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path


def main(folder: Path) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    does = json.loads((folder / "does.json").read_text())
    for name, value in does.get("environ", {}).items():
        os.environ[name] = value
    if does.get("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    builder = SparkSession.builder.appName(does.get("name", "told"))
    for key, value in does.get("conf", {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.createDataFrame([(1,)], "n INT").createOrReplaceGlobalTempView(does.get("view", "v"))
    report = {
        "conf": {key: value for key, value in spark.conf.getAll.items() if key.startswith("spark.sql.")},
        "name": spark.sparkContext.appName,
        "hour": spark.sql("SELECT hour(timestamp_seconds(0)) AS at").first()["at"],
        "views": [row["viewName"] for row in spark.sql("SHOW VIEWS IN global_temp").collect()],
        "heap": SparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory(),
        "jvm": SparkContext._jvm.java.lang.ProcessHandle.current().pid(),
        "environ": dict(os.environ),
        "stdin": sys.stdin.read(),
    }
    (folder / "said.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
