"""The tree of versions: time to the right, a lane per job, runs as bars, savepoints as marks, forks as curves."""

from __future__ import annotations

from dashboard.components.panel import panel
from dashboard.lineage import tree_chart
from pipelines.domain.experiments import Tree


def version_tree(
    tree: Tree, *, now_ms: float, key: str, selected: str = "", against: str = "", title: str = "Versions and savepoints"
) -> str | None:
    """Draws `tree` and returns once what was clicked: the id of a savepoint, or the name of a job at the end of its lane."""
    chart = tree_chart(tree, now_ms=now_ms, selected=selected, against=against, title=title)
    return panel(chart, key=key, clickable=True)
