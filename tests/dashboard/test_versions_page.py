"""The page of versions: the tree, one savepoint in it, two and what differs."""

from __future__ import annotations

import json
from datetime import UTC

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views.versions.descendants import descendants, picked, related
from dashboard.views.versions.difference import entries_table
from pipelines.domain.differences import Entry, Outcome, Unit
from pipelines.domain.errors import Unavailable
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.versions import version
from pipelines.verbs.experiments import ShowTree
from tests import samples
from tests.dashboard.opening import Opener, clicked, selected, texts
from tests.faces import FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"


def lane(job: str, origin: str = "", *resumed: str) -> Lane:
    begun = [origin, *resumed]
    runs = tuple(
        Run(
            RunId(f"r-{job}-{at}"),
            JobName(job),
            VersionId("v-1"),
            RunState.RUNNING,
            at,
            from_savepoint=SavepointId(savepoint) if savepoint else None,
        )
        for at, savepoint in enumerate(begun)
    )
    return Lane(JobName(job), runs, SavepointId(origin) if origin else None, None)


def mark(name: str, job: str) -> Mark:
    return Mark(SavepointId(name), JobName(job), VersionId("v-1"), 5, 7, 1_000, Reason.MANUAL, "", 5, {"counts": 7})


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
    shown = related(TREE, job)
    assert {lane.job for lane in shown.lanes} == jobs
    assert {mark.job for mark in shown.marks} == jobs & {mark.job for mark in TREE.marks}


def test_descendants_are_forks_and_resumes() -> None:
    jobs = [(descendant.run.job, descendant.resumed) for descendant in descendants(TREE, SavepointId("sp-r"))]
    assert sorted(jobs) == [("child", False), ("root", True), ("sibling", False)]


@pytest.mark.parametrize(
    ("clicked", "a", "b", "then"),
    [
        ("x", "", "", ("x", "")),
        ("y", "x", "", ("x", "y")),
        ("z", "x", "y", ("x", "z")),
        ("x", "x", "", ("", "")),
        ("x", "x", "y", ("y", "")),
        ("y", "x", "y", ("x", "")),
    ],
)
def test_the_first_click_is_a_and_the_second_b(clicked: str, a: str, b: str, then: tuple[str, str]) -> None:
    assert picked(clicked, a, b) == then


def test_entries_are_marked_and_escaped() -> None:
    rows = (
        Entry("q", "rows", Outcome.CHANGED, 5, 3, Unit.COUNT, -2),
        Entry("q", "conf", Outcome.ONLY_B, None, "<2>"),
        Entry("q", "unsaid", Outcome.UNKNOWN, None, "x"),
        Entry("r", "at", Outcome.CHANGED, 0, 61_000, Unit.MOMENT, 61_000),
    )
    table = entries_table([("Confs", rows)], UTC)
    assert "<th></th>" not in table, "no header is empty"
    assert table.count('class="differs"') == 3
    for part in ("−2", "&lt;2&gt;", "not known", "+1m 01s", 'Confs<span class="tm-caption">r</span>'):
        assert part in table


def test_an_empty_tree_teaches(opened: Opener) -> None:
    app = opened(FakeFace(), "versions")
    assert "No versions yet" in texts(app)
    assert app.button


def test_the_tree_is_drawn(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "versions")
    assert "3 jobs in 2 families · 2 savepoints · 1 fork" in texts(app)
    assert "Click a mark" in texts(app)


def test_the_selected_savepoint_shows_its_descendants(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "versions", savepoint=FIRST))
    assert FIRST in words
    assert "post_engagement_split" in words
    assert "forked" in words
    assert "Nothing has begun from here" in texts(opened(FakeFace.sample(), "versions", savepoint=SECOND))


def test_a_descendant_has_the_verdict_that_it_began_under(opened: Opener) -> None:
    face = FakeFace.sample()
    face.went_on("post_engagement_split", samples.edge(FIRST))
    words = texts(opened(face, "versions", savepoint=FIRST))
    assert "changed meaning, rewritten, without counts.1</span>" in words and 'class="tm-chip orange"' in words


def test_two_points_and_what_differs(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "versions", savepoint=FIRST, **{"with": SECOND}))
    for part in ("Comparing", FIRST, SECOND, "Batches and watermark", "entry of the file log", "+2", "The same: code, arguments"):
        assert part in words
    assert "shuffle.partitions" not in words


def test_a_savepoint_and_a_job_as_it_is_now(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "versions", savepoint=FIRST, **{"with": "post_engagement_split"}))
    for part in ("the job as it is now", "Code", "+1", "−1", "not known"):
        assert part in words


def test_points_are_swapped_and_cleared(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "versions", savepoint=FIRST, **{"with": SECOND}), "difference_swap")
    assert (selected(app, "savepoint"), selected(app, "with")) == (SECOND, FIRST)
    app = clicked(app, "difference_clear")
    assert (selected(app, "savepoint"), selected(app, "with")) == ("", "")


def test_the_second_point_is_chosen_from_a_list(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "versions", savepoint="post_events")
    app.selectbox(key="versions_with_post_events").select(SECOND).run()
    assert selected(app, "with") == SECOND and "Comparing" in texts(app)


def test_a_point_that_is_gone_is_said_and_can_be_cleared(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "versions", savepoint=FIRST, **{"with": "sp-gone"})
    assert "savepoint.not_found" in texts(app)
    assert selected(clicked(app, "difference_clear"), "savepoint") == ""


def test_a_fork_begins_from_the_selected_one(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "versions", savepoint=FIRST), "fork_tree")
    assert selected(app, "savepoint") == FIRST
    assert "Fork post_engagement" in texts(app)


def test_a_savepoint_that_is_gone_is_said(opened: Opener) -> None:
    assert "savepoint.not_found" in texts(opened(FakeFace.sample(), "versions", savepoint="sp-gone"))


def test_an_error_is_said(opened: Opener) -> None:
    face = FakeFace()
    face.refuses(ShowTree, Unavailable("catalog.away", "The catalog is away.", "Wait."))
    assert "catalog.away" in texts(opened(face, "versions"))


def drawn(app: AppTest) -> list[str]:
    """The jobs of the tree that is shown, from the top."""
    data = next(
        json.loads(component.proto.json) for component in app.get("bidi_component") if "tidemark_panel" in component.proto.component_name
    )
    names = [note["text"] for note in data["layout"]["annotations"] if note.get("xref") == "paper"]
    return [name.removeprefix("<b>").removesuffix("</b>") for name in names if " · " not in name]


def crowd(jobs: int) -> FakeFace:
    face = FakeFace.sample()
    for number in range(jobs):
        face.began(f"job_{number:03d}", version("job.py", "print('a')\n"))
    return face


def test_many_jobs_come_in_pages(opened: Opener) -> None:
    face = crowd(100)
    app = opened(face, "versions")
    first = drawn(app)
    assert first[:2] == ["post_engagement", "post_engagement_split"] and len(first) < 60
    app = clicked(app, "tree_next")
    assert selected(app, "page") == "2" and not set(drawn(app)) & set(first)
    assert drawn(opened(face, "versions", page="2")) == drawn(app)


def test_families_are_chosen_by_chips_and_words(opened: Opener) -> None:
    app = clicked(opened(crowd(100), "versions", page="2"), "show_with_forks")
    assert (selected(app, "show"), selected(app, "page")) == ("With forks", "")
    assert drawn(app) == ["post_engagement", "post_engagement_split"]
    assert drawn(opened(crowd(100), "versions", filter="JOB_07 ")) == [f"job_07{n}" for n in range(10)]
    assert "No version fits" in texts(opened(crowd(100), "versions", filter="nowhere"))


def test_a_selected_savepoint_is_on_the_page_that_opens(opened: Opener) -> None:
    face = crowd(100)
    taken = face.saved("job_099").id
    far = drawn(opened(face, "versions", page="9"))[-1]
    assert "job_099" in drawn(opened(face, "versions", savepoint=taken))
    assert far in drawn(opened(face, "versions", savepoint=far))
