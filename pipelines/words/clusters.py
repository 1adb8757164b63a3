"""Where a run's Spark is, in words."""

from __future__ import annotations

from pipelines.domain.masters import CLUSTER_MODE, CONNECT, Cluster, is_local
from pipelines.words import formats

HERE = "here, in the driver's own process"


def where(cluster: Cluster | None) -> str:
    """`2 executors alive on spark://host:7077, the driver here (client mode)`; for a local master `here, …`."""
    if cluster is None:
        return formats.MISSING
    if cluster.deploy_mode == CONNECT:
        return f"of the Spark Connect server at {cluster.master}"
    if is_local(cluster.master):
        return HERE
    driver = "there, too" if cluster.deploy_mode == CLUSTER_MODE else "here"
    return f"{formats.plural(cluster.executors, 'executor')} alive on {cluster.master}, the driver {driver} ({cluster.deploy_mode} mode)"


def application(cluster: Cluster | None) -> str:
    """Spark's id of it, with its page where the cluster has one."""
    return " ".join(filter(None, (cluster.application, cluster.link))) if cluster else formats.MISSING
