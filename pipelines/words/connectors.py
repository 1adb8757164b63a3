"""Connectors in words: what to give a job that needs one."""

from __future__ import annotations

from pipelines.domain.connectors import ICEBERG_SPARKS, Connector


def need(connector: Connector) -> str:
    """`is among Spark's jars`, or which conf gives it, and whether that was tried; which Spark has it where this one does not."""
    if connector.is_there:
        return "is among Spark's jars"
    if not connector.artifacts:
        return f"has no release for it that is known: let the job run on Spark {' or '.join(ICEBERG_SPARKS)} (--python)"
    tried = "tried" if connector.is_tried else "not tried here"
    if connector.is_by_hand:
        return f"needs these jars, by the conf spark.jars ({tried}): {', '.join(connector.artifacts)}"
    return f"needs the conf spark.jars.packages={','.join(connector.artifacts)} ({tried})"
