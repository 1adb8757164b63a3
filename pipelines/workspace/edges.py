"""Edges of the tree of versions: what is known when a run begins is kept in its folder, before the run is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.domain import edges
from pipelines.domain.edges import EDGE_FILE, Edge
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.workspace import verdicts
from pipelines.workspace.context import Context


def known(
    context: Context, manifest: Manifest, version: Version, new_queries: Sequence[str] = (), told: Mapping[str, str] | None = None
) -> Edge:
    """The edge from the savepoint to a run of `version`, whose environment has been made, by what checks have found."""
    return edges.edge(verdicts.nearest(context, manifest, version, new_queries, told))


def keep(context: Context, job: JobName, run: RunId, edge: Edge) -> None:
    context.files.write(context.layout.run(job, run) / EDGE_FILE, edge)
