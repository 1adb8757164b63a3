"""Flink's own command-line client works against `/flink/v1` with nothing but its address and a token set.

    TIDEMARK_FLINK_HOME=/opt/flink python3 -m tests tests/long/test_flink_client.py

Without that variable the client comes from PyPI, 330 MB, into an environment of the test's own. It needs a Java 11 or 17 on the path.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pipelines.client.wire import bearer
from tests.dashboard.test_reach import serving
from tests.driver.process import CONF
from tests.entering import token_of
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]

RELEASE = "apache-flink-libraries==2.3.0"
SCRIPT = """
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
counts = spark.readStream.format("rate").load().groupBy((F.col("value") % 5).alias("k")).count()
counts.writeStream.outputMode("complete").queryName("counts").format("noop").trigger(processingTime="1 second").start().awaitTermination()
"""


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Flink's client is."""
    home = os.environ.get("TIDEMARK_FLINK_HOME")
    if home:
        return Path(home)
    folder = tmp_path_factory.mktemp("flink")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--no-deps", RELEASE], check=True)
    return next(folder.glob("lib/python3*/site-packages/pyflink"))


def test_the_client_lists_saves_stops_cancels_and_disposes(flink: Path, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    with serving(root, tmp_path / "log") as port:
        token = token_of(root)

        def client(*words: str) -> str:
            environ = {**os.environ, "FLINK_REST_CLIENT_HEADERS": f"Authorization:Bearer {token}", "FLINK_LOG_DIR": str(tmp_path)}
            command = ["bash", str(flink / "bin" / "flink"), words[0], "-m", f"http://127.0.0.1:{port}/flink", *words[1:]]
            process = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300)
            print(process.stdout, process.stderr)
            assert process.returncode == 0, process.stdout + process.stderr
            return process.stdout

        def rest(method: str, path: str, **body: object) -> httpx.Response:
            url = f"http://127.0.0.1:{port}/api/v1{path}"
            return httpx.request(method, url, json=body if method == "POST" else None, headers=bearer(token), timeout=120, trust_env=False)

        rest("POST", "/jobs", name="clicks", script="job.py", code=SCRIPT, conf=CONF).raise_for_status()
        until(lambda: len(rest("GET", "/jobs/clicks/batches").json()) > 2, 300)
        job = re.search(r"([0-9a-f]{32}) : clicks \(RUNNING\)", client("list"))
        assert job is not None
        saved = client("savepoint", job[1])
        path = re.search(r"Path: (\S+)", saved)
        assert path is not None and Path(path[1], "manifest.json").is_file()
        elsewhere = re.search(r"Path: (\S+)", client("savepoint", job[1], str(tmp_path / "elsewhere")))
        assert elsewhere is not None and Path(elsewhere[1], "manifest.json").is_file()
        assert "disposed" in client("savepoint", "-d", path[1]) and not Path(path[1]).exists()
        assert re.search(r"Path: \S+/sp-[0-9a-f]{12}", client("stop", job[1]))
        assert f"{job[1]} : clicks (FINISHED)" in client("list", "-a")
        rest("POST", "/jobs/clicks/resume").raise_for_status()
        until(lambda: rest("GET", "/jobs/clicks").json()["summary"]["state"] == "running", 300)
        assert "Cancelled job" in client("cancel", job[1])
        until(lambda: rest("GET", "/jobs/clicks").json()["summary"]["state"] == "stopped", 120)
