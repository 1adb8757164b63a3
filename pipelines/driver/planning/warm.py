"""Run by its name in a process that warms up, with a context, an empty folder, a checkpoint, and the view that its query was made of.

What a driver and a planning import is loaded, Spark's planner is tested before a verdict needs it, and plans as it will for one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.domain.ids import JobName, QueryName, RunId, VersionId
from pipelines.domain.plannings import PlannedQuery, QueryCheckpoint
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.planning import sides, trial
from pipelines.driver.planning.planner import Planner, fingerprint
from pipelines.driver.sinklog import newest


def plan(spark: SparkSession, folder: Path, checkpoint: Path, view: QueryName) -> PlannedQuery:
    """The query's plan, from nothing and from its checkpoint."""
    spec = RunSpec(1, RunId("warm"), JobName("warm"), VersionId("warm"), str(folder / "script.py"), (), {}, "", "", str(folder / "output"))
    points = {str(view): QueryCheckpoint(view, str(checkpoint), newest(checkpoint / "commits"))}
    return Planner(spec, folder, points, checks=True, now_ms=1).plan(spark, spark.table(view), view, "Update")


if __name__ == "__main__":
    session = SparkSession.getActiveSession()
    assert session is not None
    reason = trial.failure(session, Path(sys.argv[1]) / "trial", fingerprint)
    if reason:
        print(f"[tidemark] {sides.__name__} will say: {reason}", flush=True)
    else:
        planned = plan(session, Path(sys.argv[1]), Path(sys.argv[2]), QueryName(sys.argv[3]))
        if planned.failure or planned.refusal:
            print(f"[tidemark] {planned.failure or planned.refusal}", flush=True)
