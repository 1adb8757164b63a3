"""The tree of versions as text: jobs, their savepoints, the forks of those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName
from pipelines.words import edges, formats, savepoints


def tree_text(tree: Tree, attention: Mapping[JobName, str], now_ms: int) -> str:
    """One line a job or savepoint, indented below what it came from; empty for an empty tree. `attention`: what jobs need it for."""
    return "\n".join(line for root in _roots(tree) for line in _lines(tree, root, attention, now_ms))


def _roots(tree: Tree) -> list[Lane | JobName]:
    """Jobs that came from no savepoint that is still there, then the names of forgotten jobs with savepoints."""
    savepoints = {mark.id for mark in tree.marks}
    lanes = [lane for lane in tree.lanes if lane.origin_savepoint not in savepoints]
    jobs = {lane.job for lane in tree.lanes}
    return [*lanes, *dict.fromkeys(mark.job for mark in tree.marks if mark.job not in jobs)]


def _lines(tree: Tree, node: Lane | JobName | Mark, attention: Mapping[JobName, str], now_ms: int) -> Iterator[str]:
    """The node's own line, and its children's below it, drawn with box characters."""
    yield _own_line(tree, node, attention, now_ms)
    children = _children(tree, node)
    for child in children:
        last = child is children[-1]
        for index, line in enumerate(_lines(tree, child, attention, now_ms)):
            yield (("└─ " if last else "├─ ") if index == 0 else ("   " if last else "│  ")) + line


def _children(tree: Tree, node: Lane | JobName | Mark) -> list[Mark] | list[Lane]:
    if isinstance(node, Mark):
        return [lane for lane in tree.lanes if lane.origin_savepoint == node.id]
    job = node.job if isinstance(node, Lane) else node
    return sorted((mark for mark in tree.marks if mark.job == job), key=lambda mark: mark.at_ms)


def _own_line(tree: Tree, node: Lane | JobName | Mark, attention: Mapping[JobName, str], now_ms: int) -> str:
    if isinstance(node, Mark):
        label = f'  "{node.label}"' if node.label else ""
        batches = savepoints.batches(node.batches) or formats.MISSING
        return f"{node.id}  batch {batches}  {formats.size(node.bytes)}  {formats.ago(node.at_ms, now_ms)}{label}"
    if not isinstance(node, Lane):
        return f"{node}  (forgotten)"
    state = ", ".join(dict.fromkeys(filter(None, (node.runs[-1].state.value if node.runs else "never ran", attention.get(node.job)))))
    versions = " > ".join(_versions(node))
    is_gone = node.origin_savepoint is not None and node.origin_savepoint not in {mark.id for mark in tree.marks}
    return f"{node.job}  {state}  {versions}" + (f"  (from {node.origin_savepoint}, disposed of)" if is_gone else "")


def _versions(lane: Lane) -> Iterator[str]:
    """The versions that it ran, each with what became of the state when it began: `v-1 > v-2 [changed meaning]`."""
    first = {run.version: run for run in reversed(lane.runs)}
    for version in dict.fromkeys(run.version for run in lane.runs):
        edge = edges.briefly(first[version].edge)
        yield f"{version} [{edge}]" if edge else version
