"""The tree of versions: time to the right, a lane per job, runs as bars, savepoints as marks, forks as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.components.panel import panel
from dashboard.drawing.families import Family
from dashboard.drawing.lineage import tree_chart


def version_tree(
    families: Sequence[Family],
    *,
    now_ms: float,
    key: str,
    calm: bool,
    selected: str,
    against: str,
    health: Mapping[str, tuple[str, str]],
) -> str | None:
    """Draws `families`. Returns a click once: the id of a savepoint, the name of a job (a click on the end of its lane), or
    `lineage.FOLDED` with the root of a family (a click on its folded lanes)."""
    chart = tree_chart(families, now_ms=now_ms, calm=calm, selected=selected, against=against, health=health)
    return panel(chart, key=key, clickable=True)
