"""Families of jobs: which belong together, which come first, how they are cut into pages."""

from __future__ import annotations

import pytest

from dashboard.drawing import families as f
from dashboard.drawing.lineage import FOLDED, tree_chart
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason

NOW = 1_000_000


def lane(job: str, begun: int = 0, origin: str = "", *, ended: int | None = None) -> Lane:
    state = RunState.RUNNING if ended is None else RunState.STOPPED
    run = Run(RunId(f"r-{job}"), JobName(job), VersionId(f"v-{job}"), state, begun, begun, ended)
    return Lane(JobName(job), (run,), SavepointId(origin) if origin else None, None)


def mark(job: str, at: int = 0, reason: Reason = Reason.MANUAL, label: str = "") -> Mark:
    return Mark(SavepointId(f"sp-{job}"), JobName(job), VersionId("v-1"), at, 7, 1_000, reason, label, at, {"counts": 7})


def large(forks: int, live: int = 0) -> Tree:
    """A root with many forks, the first of which run."""
    made = [lane(f"fork-{n}", 10 + n, "sp-root", ended=None if n < live else 100 + n) for n in range(forks)]
    return Tree((lane("root"), *made), (mark("root"),))


def test_those_with_forks_come_first_then_those_that_run_then_the_newest() -> None:
    forked = (lane("parent", 1, ended=2), lane("fork", 3, "sp-parent", ended=4))
    tree = Tree((lane("old", 5), lane("ended", 50, ended=60), lane("new", 6), *forked), (mark("parent", 2),))
    assert [family.root for family in f.families(tree)] == ["parent", "new", "old", "ended"]


@pytest.mark.parametrize(("reason", "first"), [(Reason.MANUAL, "old"), (Reason.STOP, "new")])
def test_savepoints_that_come_by_themselves_do_not_reorder(reason: Reason, first: str) -> None:
    tree = Tree((lane("old", 5), lane("new", 6)), (mark("old", 900, reason),))
    assert f.families(tree)[0].root == first


def test_jobs_that_came_from_each_other_are_not_lost() -> None:
    tree = Tree((lane("a", 1, "sp-b"), lane("b", 2, "sp-a")), (mark("a"), mark("b")))
    assert [[lane.job for lane in family.lanes] for family in f.families(tree)] == [["a", "b"]]


@pytest.mark.parametrize(
    ("choice", "words", "roots"),
    [
        ("All", "", ["parent", "runs", "ended"]),
        ("Nonsense", "", ["parent", "runs", "ended"]),
        ("With forks", "", ["parent"]),
        ("Running", "", ["parent", "runs"]),
        ("Ended", "", ["ended"]),
        ("All", "FORK", ["parent"]),
        ("All", "sp-parent ads", ["parent"]),
        ("All", "v-ended", ["ended"]),
        ("All", "fork ended", []),
        ("Running", "ended", []),
    ],
)
def test_a_family_fits_as_a_whole(choice: str, words: str, roots: list[str]) -> None:
    tree = Tree(
        (lane("parent", 1), lane("fork", 3, "sp-parent"), lane("runs", 5), lane("ended", 5, ended=6)), (mark("parent", label="Before Ads"),)
    )
    fitting = f.fitting(f.families(tree), choice, words)
    assert [family.root for family in fitting] == roots
    assert all(len(family.lanes) == 2 for family in fitting if family.root == "parent")


def test_pages_hold_every_family_once_and_none_is_torn() -> None:
    lanes = [lane(f"alone-{n:03d}", n) for n in range(400)]
    forks = [
        fork for n in range(30) for fork in (lane(f"parent-{n}", n), *(lane(f"fork-{n}-{k}", n + k, f"sp-parent-{n}") for k in range(4)))
    ]
    every = f.families(Tree((*lanes, *forks), tuple(mark(f"parent-{n}") for n in range(30))))
    count = f.page_of(every, "1").pages
    pages = [f.page_of(every, str(number)) for number in range(1, count + 1)]
    assert [family for page in pages for family in page.families] == every
    assert [page.first for page in pages] == [sum(len(page.families) for page in pages[:at]) for at in range(count)]
    assert all(sum(f.rows_of(family, calm=True) for family in page.families) <= f.ROWS for page in pages)
    assert all(len(family.lanes) in (1, 5) for page in pages for family in page.families)


def test_the_page_of_what_is_chosen_opens_unless_another_is_asked_for() -> None:
    every = f.families(Tree(tuple(lane(f"job-{n:03d}", n) for n in range(200)), (mark("job-000"),)))
    last = f.page_of(every, "99").number
    assert last > 1
    assert f.page_of(every, "", {"sp-job-000"}).number == last
    assert f.page_of(every, "", {"job-000"}).number == last
    assert f.page_of(every, "1", {"sp-job-000"}).number == 1
    assert f.page_of(every, "x").number == 1


def test_a_large_family_folds_what_ended_first() -> None:
    every = f.families(large(60, live=3))
    (family,) = f.page_of(every, "", {"fork-20"}).families
    shown = [lane.job for lane in family.lanes]
    assert len(shown) <= f.ROWS and len(shown) + family.folded == 61
    assert {"root", "fork-0", "fork-1", "fork-2", "fork-20", "fork-59"} <= set(shown) and "fork-30" not in shown


def test_a_large_family_is_whole_where_all_of_it_runs_or_somebody_wants_it() -> None:
    assert len(f.page_of(f.families(large(60, live=60)), "").families[0].lanes) == 61
    assert len(f.page_of(f.families(large(60)), "", whole={"root"}).families[0].lanes) == 61


def test_a_click_on_folded_lanes_names_their_root() -> None:
    page = f.page_of(f.families(large(60)), "")
    (note,) = (annotation for annotation in tree_chart(page.families, now_ms=NOW).layout["annotations"] if annotation.get("captureevents"))
    assert note["name"] == f"{FOLDED}root" and note["text"].startswith(f"{page.families[0].folded} jobs of root")


def test_jobs_without_forks_are_thin_lines_where_there_are_many() -> None:
    few, many = ([lane(f"job-{n}", n) for n in range(count)] for count in (5, 40))
    assert not f.page_of(f.families(Tree(tuple(few), ())), "").calm
    page = f.page_of(f.families(Tree((*many, *large(2).lanes), (mark("root"),))), "")
    assert page.calm
    whole, thin = tree_chart(page.families, now_ms=NOW), tree_chart(page.families, now_ms=NOW, calm=True)
    assert thin.height < whole.height / 1.5
    assert {trace["line"]["width"] for trace in thin.traces if trace["mode"] == "lines" and trace["line"].get("dash") != "dot"} == {2, 4}
