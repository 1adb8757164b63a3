"""Spark's own process, below the driver's: what fails because that was ended is no failure of the job."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

from pipelines.domain.runs import Exit
from pipelines.driver.records import say

CAUSES = {
    signal.SIGTERM: "SIGTERM, as when its machine is shut down",
    signal.SIGKILL: "SIGKILL, as by the kernel where memory is short",
}
ENDS_S = 30.0
"""By then a JVM that shuts down is gone, whatever its hooks do."""
OUTSIDE = "Spark's process was ended by something outside."
"""Of one whose end nobody saw: it is not this one's child where a cluster began the driver."""


def blamed(ending: Exit) -> Exit:
    """`ending`, or what really ended the run where that is the end of Spark's process: nothing that failed after it counts."""
    cause = _end() if ending.reason == "failed" else ""
    if not cause:
        return ending
    say(f"killed: {cause}")
    return replace(ending, reason="killed", error_class="", message=cause, query="")


def _end() -> str:
    """What ended Spark's process; empty where it is up, or this one never had one."""
    gateway = getattr(getattr(sys.modules.get("pyspark"), "SparkContext", None), "_gateway", None)
    if gateway is None or _is_up(gateway):
        return ""
    if gateway.proc is None:
        return OUTSIDE
    try:
        code = gateway.proc.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        return OUTSIDE
    number = -code if code < 0 else code - 128
    by = f"was ended by {CAUSES[signal.Signals(number)]}" if number in CAUSES else f"ended with exit code {code}; the log says why"
    return f"Spark's process {by}."


def _is_up(gateway: Any) -> bool:
    """Whether its JVM is there, and does not shut down (`ShutdownHookManager.inShutdown`)."""
    from py4j.protocol import Py4JError

    try:
        return not gateway.jvm.org.apache.spark.util.ShutdownHookManager.inShutdown()
    except (OSError, Py4JError):
        return False
