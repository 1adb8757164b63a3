"""The process around Spark's history server: it says its port, ends when nobody looks, and with who started it. What it runs here in
Spark's place is a small server; `workspace/test_logs_exact.py` has the real one."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Unavailable
from pipelines.sandbox import history
from pipelines.sandbox.history import LOGS, PORT_FILE, History
from tests.waiting import until

SERVER = f"""#!{sys.executable}
import http.server, os

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path.endswith("/local-1") else 404)
        self.end_headers()

server = http.server.ThreadingHTTPServer((os.environ["SPARK_LOCAL_IP"], 0), Answers)
open("pid", "w").write(str(os.getpid()))
server.serve_forever()
"""
WRAPPER = """
import sys
from pathlib import Path
from pipelines.sandbox import history_server
history_server.POLL_S, history_server.IDLE_S = 0.05, {}
history_server.main(Path(sys.argv[1]))
"""


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands in the place of Spark's own program."""
    program = tmp_path / "spark" / "bin" / "spark-class"
    program.parent.mkdir(parents=True)
    (tmp_path / "spark" / "jars").mkdir()
    program.write_text(SERVER)
    program.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    return program


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[History]:
    there = History()
    there.open(tmp_path / "sandbox")
    yield there
    there.close()


def started(folder: Path, idle_s: float) -> subprocess.Popen[bytes]:
    (folder / LOGS).mkdir(parents=True)
    command = [sys.executable, "-c", WRAPPER.format(idle_s), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    until((folder / PORT_FILE).exists)
    return process


@pytest.mark.usefixtures("spark")
def test_it_ends_with_who_started_it_and_by_itself(tmp_path: Path) -> None:
    for idle_s, ends in ((600.0, True), (0.2, False)):
        folder = tmp_path / f"{idle_s}"
        with started(folder, idle_s) as process:
            pid = int((folder / "pid").read_text())
            if ends:
                assert process.stdin is not None
                process.stdin.close()
            process.wait(120)
        assert not psutil.pid_exists(pid)


@pytest.mark.usefixtures("spark")
def test_one_process_shows_the_logs_that_there_are(tmp_path: Path, opened: History) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    url = opened.address({"eventlog_v2_a": tmp_path / "a", "eventlog_v2_gone": tmp_path / "gone"}, "local-1", lambda: None)
    pid, logs = opened.pid, tmp_path / "sandbox" / history.FOLDER / LOGS
    assert url.startswith("http://127.0.0.1:") and url.endswith("/history/local-1/")
    again = opened.address({"eventlog_v2_a": tmp_path / "b"}, "local-1", lambda: None)
    assert (again, opened.pid) == (url, pid)
    assert {link.name: link.readlink() for link in logs.iterdir()} == {"eventlog_v2_a": tmp_path / "b"}
    opened.close()
    assert opened.pid is None and not logs.exists()
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=5)
    with pytest.raises(Unavailable) as closed:
        opened.address({}, "local-1", lambda: None)
    assert closed.value.code == "history.start"


def test_one_that_does_not_start_says_why(spark: Path, opened: History) -> None:
    spark.write_text("#!/bin/sh\necho no room for a heap\nexit 1\n")
    with pytest.raises(Unavailable) as failed:
        opened.address({}, "local-1", lambda: None)
    assert failed.value.code == "history.start" and "no room for a heap" in failed.value.message


def test_a_log_that_is_not_read_is_said(spark: Path, opened: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "START_S", 2.0)
    with pytest.raises(Unavailable) as failed:
        opened.address({}, "local-2", lambda: None)
    assert failed.value.code in ("history.unread", "history.start")
