"""The tree, read: which jobs belong together, and what came of a savepoint. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.drawing.families import descent, parents_of
from pipelines.domain.experiments import Tree
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Run


@dataclass(frozen=True)
class Descendant:
    """A run that began from a savepoint: of a fork, or of the same job again."""

    run: Run
    resumed: bool


def related(tree: Tree, job: str) -> Tree:
    """The tree of `job` with all that it came from and all that came of it; the whole tree where `job` is empty or unknown."""
    if job not in {lane.job for lane in tree.lanes}:
        return tree
    parents = parents_of(tree)
    kept = {*descent(parents, JobName(job)), *(lane.job for lane in tree.lanes if job in descent(parents, lane.job))}
    lanes = tuple(lane for lane in tree.lanes if lane.job in kept)
    return Tree(lanes, tuple(mark for mark in tree.marks if mark.job in kept))


def descendants(tree: Tree, savepoint: SavepointId) -> list[Descendant]:
    """The runs that began from it, oldest first."""
    own = next((mark.job for mark in tree.marks if mark.id == savepoint), None)
    runs = (run for lane in tree.lanes for run in lane.runs if run.from_savepoint == savepoint)
    return sorted((Descendant(run, run.job == own) for run in runs), key=lambda descendant: descendant.run.created_ms)


def picked(clicked: str, a: str, b: str) -> tuple[str, str]:
    """A and B after a click on a point: the first click sets A, the next one B; a further one replaces B, a click on A or B removes it."""
    if not a:
        return clicked, ""
    if clicked in (a, b):
        return (b if clicked == a else a), ""
    return a, clicked
