"""Run by its name in a process that warms up, with a context and an empty folder: Spark's planner is tested once before a verdict needs it.

What a driver and a planning import is loaded as well.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.driver.planning import sides, trial
from pipelines.driver.planning.planner import fingerprint

if __name__ == "__main__":
    reason = trial.failure(SparkSession.getActiveSession(), Path(sys.argv[1]), fingerprint)
    if reason:
        print(f"[tidemark] {sides.__name__} will say: {reason}", flush=True)
