"""Where a run's Spark is, in words."""

from __future__ import annotations

import pytest

from pipelines.domain.masters import Cluster
from pipelines.words import clusters, formats

PLACES = [
    (None, formats.MISSING),
    (Cluster("local[2]", "client", "local-1", 0), clusters.HERE),
    (Cluster("spark://host:7077", "client", "app-1", 2), "2 executors alive on spark://host:7077, the driver here (client mode)"),
    (Cluster("sc://host:15002", "connect", "a-session", 0), "of the Spark Connect server at sc://host:15002"),
]


@pytest.mark.parametrize(("cluster", "told"), PLACES)
def test_where(cluster: Cluster | None, told: str) -> None:
    assert clusters.where(cluster) == told
