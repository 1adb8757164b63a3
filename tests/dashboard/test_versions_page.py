"""The page of versions: the tree, one savepoint in it, two and what differs."""

from __future__ import annotations

import pytest

from dashboard.views.versions_difference import pairs_table
from dashboard.views.versions_reading import descendants, family
from pipelines.domain.errors import Unavailable
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from tests.dashboard.opening import Opener, clicked, said, selected
from tests.faces import FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"


def lane(job: str, origin: str = "", *resumed: str) -> Lane:
    begun = [origin, *resumed]
    runs = tuple(
        Run(RunId(f"r-{job}-{at}"), JobName(job), VersionId("v-1"), RunState.RUNNING, at, from_savepoint=SavepointId(one) if one else None)
        for at, one in enumerate(begun)
    )
    return Lane(JobName(job), runs, SavepointId(origin) if origin else None, None)


def mark(name: str, job: str) -> Mark:
    return Mark(SavepointId(name), JobName(job), VersionId("v-1"), 5, 7, 1_000, Reason.MANUAL, "", 5)


TREE = Tree(
    (lane("root", "", "sp-r"), lane("child", "sp-r"), lane("grandchild", "sp-c"), lane("sibling", "sp-r"), lane("other")),
    (mark("sp-r", "root"), mark("sp-c", "child"), mark("sp-o", "other")),
)


@pytest.mark.parametrize(
    ("job", "jobs"),
    [
        ("", {"root", "child", "grandchild", "sibling", "other"}),
        ("unknown", {"root", "child", "grandchild", "sibling", "other"}),
        ("root", {"root", "child", "grandchild", "sibling"}),
        ("child", {"root", "child", "grandchild"}),
        ("grandchild", {"root", "child", "grandchild"}),
        ("other", {"other"}),
    ],
)
def test_a_job_is_shown_with_where_it_came_from_and_what_came_of_it(job: str, jobs: set[str]) -> None:
    shown = family(TREE, job)
    assert {one.job for one in shown.lanes} == jobs
    assert {one.job for one in shown.marks} <= jobs


def test_descendants_are_forks_and_resumes() -> None:
    found = [(one.run.job, one.resumed) for one in descendants(TREE, SavepointId("sp-r"))]
    assert sorted(found) == [("child", False), ("root", True), ("sibling", False)]


def test_what_differs_stands_first_and_is_marked() -> None:
    table = pairs_table({"same": "1", "other": "<2>"}, {"same": "1", "other": "3", "new": "4"}, "a", "b")
    assert table.count('class="differs"') == 2
    assert table.index("&lt;2&gt;") < table.index("same")


def test_an_empty_tree_teaches(opened: Opener) -> None:
    app = opened(FakeFace(), "versions")
    assert "No versions yet" in said(app)
    assert app.button


def test_the_tree_is_drawn(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "versions")
    assert "3 jobs · 2 savepoints · 1 fork" in said(app)
    assert "Click a mark" in said(app)


def test_the_selected_savepoint_shows_its_descendants(opened: Opener) -> None:
    words = said(opened(FakeFace.sample(), "versions", savepoint=FIRST))
    assert FIRST in words
    assert "post_engagement_split" in words
    assert "forked" in words
    assert "Nothing has begun from here" in said(opened(FakeFace.sample(), "versions", savepoint=SECOND))


def test_two_savepoints_and_what_differs(opened: Opener) -> None:
    words = said(opened(FakeFace.sample(), "versions", savepoint=FIRST, **{"with": SECOND}))
    for part in ("Difference", "same code", "2 batches", "counts · batch", "entry 9 of the file log"):
        assert part in words


def test_a_fork_begins_from_the_selected_one(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "versions", savepoint=FIRST), "fork_tree")
    assert selected(app, "savepoint") == FIRST
    assert "Fork post_engagement" in said(app)


def test_a_savepoint_that_is_gone_is_said(opened: Opener) -> None:
    assert "savepoint.not_found" in said(opened(FakeFace.sample(), "versions", savepoint="sp-gone"))


def test_an_error_is_said(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: FakeFace) -> None:
        raise Unavailable("catalog.away", "The catalog is away.", "Wait.")

    monkeypatch.setattr(FakeFace, "tree", refuse)
    assert "catalog.away" in said(opened(FakeFace(), "versions"))
