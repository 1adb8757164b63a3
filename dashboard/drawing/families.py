"""Jobs that belong together: a root with all that was forked from it, the most interesting first, cut into pages. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Reason

ROWS = 16
"""Lanes of full height on one page."""
CALM = 0.46
"""Height of the line of a job without forks, of a lane's."""


@dataclass(frozen=True)
class Family:
    """Lanes with their savepoints: the root first, forks right below what they came from, older ones first."""

    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    folded: int = 0
    """Lanes that have ended and are left out."""

    @property
    def root(self) -> JobName:
        return self.lanes[0].job

    @property
    def alone(self) -> bool:
        return len(self.lanes) == 1 and not self.folded

    @cached_property
    def live(self) -> bool:
        return any(map(runs, self.lanes))

    @cached_property
    def newest_ms(self) -> float:
        """When a job of it last began or ended, or a savepoint was taken by hand; those that come by themselves would never let it rest."""
        by_hand = [mark.at_ms for mark in self.marks if mark.reason is Reason.MANUAL]
        return max([*by_hand, *map(last_change, self.lanes)], default=0.0)


@dataclass(frozen=True)
class Page:
    """The families of one page: `first` is the place of the first of them among `total`, `number` and `pages` count from 1."""

    families: Sequence[Family]
    first: int
    total: int
    number: int
    pages: int
    calm: bool
    """Whether jobs without forks are drawn as one line each."""


CHOICES: Mapping[str, Callable[[Family], bool]] = {
    "All": lambda family: True,
    "With forks": lambda family: not family.alone,
    "Running": lambda family: family.live,
    "Ended": lambda family: not family.live,
}


def runs(lane: Lane) -> bool:
    """Whether the job runs now."""
    return bool(lane.runs) and lane.runs[-1].state.current


def last_change(lane: Lane) -> float:
    """When a run of it began or ended last, epoch ms; 0 for a job that never ran."""
    return max((max(start(run), run.ended_ms or 0) for run in lane.runs), default=0.0)


def start(run: Run) -> float:
    return run.started_ms or run.created_ms


def families(tree: Tree) -> list[Family]:
    """All of `tree`: those with forks first, then those that run, then by what happened last. A fork of what is gone is a root."""
    parents = parents_of(tree)
    marks: defaultdict[JobName, list[Mark]] = defaultdict(list)
    for mark in tree.marks:
        marks[mark.job].append(mark)
    children: defaultdict[str, list[Lane]] = defaultdict(list)
    for lane in sorted(tree.lanes, key=_begin):
        children[parents.get(lane.job, "")].append(lane)

    def descend(lane: Lane) -> Iterator[Lane]:
        yield lane
        for fork in children[lane.job]:
            yield from descend(fork)

    groups = [tuple(descend(root)) for root in children[""]]
    made = [Family(lanes, tuple(mark for lane in lanes for mark in marks[lane.job])) for lanes in groups]
    return sorted(made, key=lambda family: (family.alone, not family.live, -family.newest_ms))


def parents_of(tree: Tree) -> dict[JobName, JobName]:
    """Each fork with the job that it came from, where that has a lane; of jobs that came from each other (a name was given anew) the
    oldest is a root."""
    of_savepoint = {mark.id: mark.job for mark in tree.marks}
    known = {lane.job for lane in tree.lanes}
    origins = {lane.job: of_savepoint.get(lane.origin_savepoint) for lane in sorted(tree.lanes, key=_begin) if lane.origin_savepoint}
    parents = {job: parent for job, parent in origins.items() if parent is not None and parent in known}
    for job in list(parents):
        if job in descent(parents, parents[job]):
            del parents[job]
    return parents


def _begin(lane: Lane) -> float:
    return min(map(start, lane.runs), default=float("inf"))


def fitting(some: Sequence[Family], choice: str, words: str) -> list[Family]:
    """The families, whole, that `choice` (a key of `CHOICES`; any other lets all through) lets through and that contain all of `words`."""
    lets = CHOICES.get(choice, CHOICES["All"])
    terms = words.casefold().split()
    return [family for family in some if lets(family) and (not terms or _says(family, terms))]


def _says(family: Family, words: Sequence[str]) -> bool:
    lanes = [f"{lane.job} {' '.join(run.version for run in lane.runs)}" for lane in family.lanes]
    text = " ".join([*lanes, *(f"{mark.id} {mark.label}" for mark in family.marks)]).casefold()
    return all(word in text for word in words)


def page_of(some: Sequence[Family], page: str, chosen: Collection[str] = (), whole: Collection[str] = ()) -> Page:
    """Page number `page` of `some`; where that is no number, the page with something `chosen` (savepoints, jobs), else the first.

    No family is torn apart: one that is longer than a page folds lanes that have ended, but for those whose roots are in `whole`.
    """
    calm = sum(len(family.lanes) for family in some) > ROWS
    cut = _cut([family if family.root in whole else folded(family, chosen) for family in some], calm)
    with_chosen = (at for at, group in enumerate(cut, 1) if any(_holds(family, chosen) for family in group))
    number = int(page) if page.isdecimal() else next(with_chosen, 1)
    number = min(max(number, 1), len(cut))
    return Page(cut[number - 1], sum(map(len, cut[: number - 1])), len(some), number, len(cut), calm)


def _cut(some: Sequence[Family], calm: bool) -> list[list[Family]]:
    pages: list[list[Family]] = [[]]
    filled = 0.0
    for family in some:
        height = rows_of(family, calm=calm)
        if pages[-1] and filled + height > ROWS:
            pages.append([])
            filled = 0.0
        pages[-1].append(family)
        filled += height
    return pages


def rows_of(family: Family, *, calm: bool) -> float:
    """How high it is drawn, in lanes."""
    return CALM if calm and family.alone else len(family.lanes) + (CALM if family.folded else 0)


def _holds(family: Family, chosen: Collection[str]) -> bool:
    return any(lane.job in chosen for lane in family.lanes) or any(mark.id in chosen for mark in family.marks)


def folded(family: Family, chosen: Collection[str]) -> Family:
    """As many lanes as a page has: the root, what runs, what is chosen, what those came from, and what ended last."""
    if len(family.lanes) <= ROWS:
        return family
    parents = parents_of(Tree(family.lanes, family.marks))
    of_savepoint = {mark.id: mark.job for mark in family.marks}
    named = {of_savepoint.get(SavepointId(point), JobName(point)) for point in chosen}
    needed = [lane.job for lane in family.lanes if runs(lane) or lane.job in named]
    kept = {family.root, *(job for name in needed for job in descent(parents, name))}
    for lane in sorted(family.lanes, key=last_change, reverse=True):
        more = set(descent(parents, lane.job)) - kept
        kept |= more if len(kept) + len(more) < ROWS else set()
    lanes = tuple(lane for lane in family.lanes if lane.job in kept)
    marks = tuple(mark for mark in family.marks if mark.job in kept)
    return replace(family, lanes=lanes, marks=marks, folded=len(family.lanes) - len(lanes))


def descent(parents: Mapping[JobName, JobName], job: JobName) -> list[JobName]:
    """`job` and what it came from, nearest first."""
    lineage: list[JobName] = []
    while job and job not in lineage:
        lineage.append(job)
        job = parents.get(job, JobName(""))
    return lineage
