"""What ended a run whose Spark is not there any more (`test_run.py` ends a real one)."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from pipelines.domain.runs import Exit
from pipelines.driver import jvm

FAILED = Exit("failed", 1, "ConnectionRefusedError", "[Errno 111] Connection refused", 7, "counts")


class Away:
    """A JVM that nobody reaches."""

    @property
    def org(self) -> object:
        raise ConnectionRefusedError


def test_a_failure_of_a_run_without_spark_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert jvm.blamed(FAILED) is FAILED
    monkeypatch.delitem(sys.modules, "pyspark")
    assert jvm.blamed(FAILED) is FAILED


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("kill -TERM $$", "was ended by SIGTERM, as when its machine is shut down."),
        ("exit 143", "was ended by SIGTERM, as when its machine is shut down."),
        ("kill -KILL $$", "was ended by SIGKILL, as by the kernel where memory is short."),
        ("exit 3", "ended with exit code 3; the log says why."),
        ("", "was ended by something outside."),
    ],
)
def test_what_ended_spark_ended_the_run(monkeypatch: pytest.MonkeyPatch, command: str, says: str) -> None:
    """A cluster that began the driver has its JVM as the parent, whose end nobody sees."""
    with subprocess.Popen(["sh", "-c", command]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(jvm=Away(), proc=process if command else None))
        assert jvm.blamed(FAILED) == Exit("killed", 1, "", f"Spark's process {says}", 7)
    stopped = Exit("stopped", 0, "", "", 7)
    assert jvm.blamed(stopped) is stopped
