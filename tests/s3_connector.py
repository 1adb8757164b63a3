"""What gives a job Hadoop's file system for S3."""

from __future__ import annotations

from tests import maven

CONNECTOR = "s3_connector"


def missing() -> str:
    """What was not fetched, and how to get it; empty where it is there."""
    return "" if maven.jars(CONNECTOR) else f"needs the jars of {CONNECTOR}, from Maven's repository; to get them: {maven.HOW}"


def conf() -> dict[str, str]:
    return {"spark.jars": ",".join(map(str, maven.jars(CONNECTOR)))}
