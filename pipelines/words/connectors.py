"""Connectors in words: what to give a job that needs one, and on which Spark."""

from __future__ import annotations

from pipelines.domain.connectors import S3, Connector, Found

AMONG = {
    Found.SPARK: "among Spark's jars",
    Found.CONFS: "among the jars that the confs name",
    Found.PACKAGES: "in spark.jars.packages",
}
LOADS = {
    Found.SPARK: "is among Spark's jars and loads",
    Found.CONFS: "loads from the jars that the confs name",
    Found.PACKAGES: "is fetched as the job begins (spark.jars.packages)",
}


def need(connector: Connector) -> str:
    """`is among Spark's jars and loads`; else which confs give it, and whether that was tried; else which Spark has it, and how to get
    that."""
    confs = f", and the confs {' '.join(connector.confs)}" if connector.confs else ""
    if connector.is_ready:
        return f"{LOADS[connector.found]}{confs.replace(', and', '; a job needs')}"
    needs = _from_maven(connector, confs)
    if connector.misfit:
        other = f"which is for another {'Hadoop' if connector.system == S3 else 'Spark'}"
        why = "which Maven's repository does not have with all that it needs" if connector.is_unfetchable else other
        return f"has {connector.misfit} {AMONG[connector.found]}, {why}: take it away. Then it {needs}"
    if connector.problem:
        return f"is {AMONG[connector.found]}, but this Spark does not load it: {connector.problem}. It {needs}"
    return needs


def _from_maven(connector: Connector, confs: str) -> str:
    if not connector.artifacts:
        return f"has no release for it that is known: {_elsewhere(connector)}"
    tried = "tried" if connector.is_tried else "not tried here"
    if connector.is_by_hand:
        return f"needs these jars, by the conf spark.jars ({tried}): {', '.join(connector.artifacts)}"
    return f"needs the conf spark.jars.packages={','.join(connector.artifacts)} ({tried}){confs}"


def _elsewhere(connector: Connector) -> str:
    """Which Spark to let the job run on, and how to get the newest of those."""
    *others, newest = connector.releases
    python = f"spark-{newest}/bin/python"
    get = f'python3 -m venv spark-{newest} && {python} -m pip install "pyspark=={newest}.*"'
    return f"let the job run on Spark {', '.join(others)} or {newest} (--runtime {python}, from {get})"
