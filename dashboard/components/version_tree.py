"""The tree of versions: time to the right, a lane per job, runs as bars, savepoints as marks, forks as curves."""

from __future__ import annotations

from dashboard.components.panel import panel
from dashboard.lineage import tree_chart
from pipelines.domain.experiments import Tree


def version_tree(tree: Tree, *, now_ms: float, key: str, selected: str = "", title: str = "Versions and savepoints") -> str | None:
    """Draws `tree` and returns the id of a savepoint once, when its mark was clicked."""
    return panel(tree_chart(tree, now_ms=now_ms, selected=selected, title=title), key=key, clickable=True)
