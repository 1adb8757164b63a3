"""The tree, read: which jobs belong together, and what came of a savepoint. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.experiments import Lane, Tree
from pipelines.domain.ids import SavepointId
from pipelines.domain.jobs import Run


@dataclass(frozen=True)
class Descendant:
    """A run that began from a savepoint: of a fork, or of the same job again."""

    run: Run
    resumed: bool


def family(tree: Tree, job: str) -> Tree:
    """The tree of `job` with all that it came from and all that came of it; the whole tree where `job` is empty or unknown."""
    if job not in {lane.job for lane in tree.lanes}:
        return tree
    parent: dict[str, str] = {lane.job: _parent(tree, lane) for lane in tree.lanes}
    kept = {*_chain(parent, job), *(name for name in parent if job in _chain(parent, name))}
    lanes = tuple(lane for lane in tree.lanes if lane.job in kept)
    return Tree(lanes, tuple(mark for mark in tree.marks if mark.job in kept))


def _parent(tree: Tree, lane: Lane) -> str:
    return next((mark.job for mark in tree.marks if mark.id == lane.origin_savepoint), "")


def _chain(parent: Mapping[str, str], job: str) -> list[str]:
    """`job` and what it came from, nearest first."""
    found: list[str] = []
    while job and job not in found:
        found.append(job)
        job = parent.get(job, "")
    return found


def descendants(tree: Tree, savepoint: SavepointId) -> list[Descendant]:
    """The runs that began from it, oldest first."""
    own = next((mark.job for mark in tree.marks if mark.id == savepoint), None)
    runs = (run for lane in tree.lanes for run in lane.runs if run.from_savepoint == savepoint)
    return sorted((Descendant(run, run.job == own) for run in runs), key=lambda one: one.run.created_ms)


def picked(clicked: str, a: str, b: str) -> tuple[str, str]:
    """A and B after a click on a point: the first one is A, the next one B; another takes B's place, one of the two is put away."""
    if not a:
        return clicked, ""
    if clicked in (a, b):
        return (b if clicked == a else a), ""
    return a, clicked
