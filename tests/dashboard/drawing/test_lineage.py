"""The tree of versions: who stands under whom, and what is drawn for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dashboard.drawing import verdicts
from dashboard.drawing.families import families
from dashboard.drawing.figures import GRAY, GREEN, ORANGE
from dashboard.drawing.lineage import tree_chart
from pipelines.domain.edges import Edge
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.verdicts import Outcome
from tests import samples

NOW = 1_000_000


def run(job: str, started: int, ended: int | None = None, state: RunState = RunState.RUNNING, from_savepoint: str = "") -> Run:
    end = Exit("failed", 1, "STATE_STORE_ERROR", "", ended or 0) if state is RunState.FAILED else None
    origin = SavepointId(from_savepoint) if from_savepoint else None
    return Run(RunId(f"r-{job}-{started}"), JobName(job), VersionId("v-1"), state, started, started, ended, 1, end, origin)


def lane(job: str, *runs: Run, origin: str = "") -> Lane:
    return Lane(JobName(job), runs, SavepointId(origin) if origin else None, None)


def mark(name: str, job: str, at: int, reason: Reason = Reason.MANUAL, label: str = "") -> Mark:
    return Mark(SavepointId(name), JobName(job), VersionId("v-1"), at, 7, 1_000, reason, label, at, {"counts": 7})


TREE = Tree(
    (
        lane("other", run("other", 50)),
        lane("split", run("split", 500), origin="sp-2"),
        lane("again", run("again", 300, 400, RunState.FAILED), origin="sp-1"),
        lane("parent", run("parent", 0, 600, RunState.STOPPED), run("parent", 700, from_savepoint="sp-1")),
    ),
    (mark("sp-1", "parent", 200), mark("sp-2", "parent", 450, Reason.STOP, "a <b>"), mark("sp-3", "split", 800)),
)


def marks_of(chart: Any) -> dict[str, Any]:
    return {data[0]: (trace, i) for trace in chart.traces if "customdata" in trace for i, data in enumerate(trace["customdata"])}


def test_a_lane_says_how_its_job_does() -> None:
    chart = tree_chart(families(TREE), now_ms=NOW, health={"parent": ("no progress", ORANGE)})
    assert [entry.name for entry in chart.legend][-1] == "no progress"
    assert "v-1 · no progress" in [note["text"] for note in chart.layout["annotations"]]
    lines = [trace["line"]["color"] for trace in chart.traces if trace.get("line", {}).get("width") == 4]
    assert lines.count(ORANGE) == 1, "the run before has its own colour"


def test_forks_stand_below_their_parent_older_ones_first() -> None:
    assert [lane.job for family in families(TREE) for lane in family.lanes] == ["parent", "again", "split", "other"]


def test_a_fork_of_a_disposed_savepoint_stands_alone() -> None:
    orphan = Tree((lane("orphan", run("orphan", 10), origin="sp-gone"),), ())
    assert [family.root for family in families(orphan)] == ["orphan"]
    assert tree_chart(families(orphan), now_ms=NOW).traces


def test_every_savepoint_can_be_clicked_and_its_shape_says_who_took_it() -> None:
    points = marks_of(tree_chart(families(TREE), now_ms=NOW))
    assert set(points) == {"sp-1", "sp-2", "sp-3", "parent", "again", "split", "other"}
    symbols = {name: trace["marker"]["symbol"][i] for name, (trace, i) in points.items() if name.startswith("sp-")}
    assert symbols == {"sp-1": "diamond", "sp-2": "circle", "sp-3": "diamond"}


def test_savepoints_of_one_batch_stand_below_each_other_and_each_can_be_clicked() -> None:
    for many, lowest in ((2, 0.24), (5, 0.48)):
        alike = tuple(mark(f"sp-{number}", "parent", 200) for number in range(many))
        fork = lane("fork", run("fork", 500), origin="sp-1")
        chart = tree_chart(families(Tree((lane("parent", run("parent", 0)), fork), (*alike, mark("sp-x", "parent", 300)))), now_ms=NOW)
        heights = {name: trace["y"][i] for name, (trace, i) in marks_of(chart).items() if name.startswith("sp-")}
        assert heights["sp-0"] == heights["sp-x"] == 0 and max(heights.values()) == pytest.approx(lowest)
        assert len(set(heights.values())) == many
        curve = next(trace for trace in chart.traces if trace.get("line", {}).get("dash") == "dot")
        assert curve["y"][0] == heights["sp-1"], "the fork begins at its own mark"


def test_the_selected_savepoint_stands_out() -> None:
    trace, i = marks_of(tree_chart(families(TREE), now_ms=NOW, selected="sp-1"))["sp-1"]
    assert trace["marker"]["line"]["color"][i] == "$text"


def test_two_that_are_compared_have_their_letters() -> None:
    chart = tree_chart(families(TREE), now_ms=NOW, selected="sp-1", against="split")
    letters = [(note["text"], note["x"], note["y"]) for note in chart.layout["annotations"] if note["text"] in ("<b>A</b>", "<b>B</b>")]
    assert letters == [("<b>A</b>", 200, 0), ("<b>B</b>", NOW, 2)]


@pytest.mark.parametrize(
    ("apart", "a", "b", "letters"),
    [
        (0, "sp-a", "sp-b", {"A·B": 100_000}),
        (1_000, "sp-a", "sp-b", {"A·B": 100_500}),
        (1_000, "sp-b", "sp-a", {"B·A": 100_500}),
        (500_000, "sp-a", "sp-b", {"A": 100_000, "B": 600_000}),
    ],
)
def test_letters_that_would_cover_each_other_are_one(apart: int, a: str, b: str, letters: dict[str, float]) -> None:
    tree = Tree((lane("one", run("one", 0)),), (mark("sp-a", "one", 100_000), mark("sp-b", "one", 100_000 + apart)))
    chart = tree_chart(families(tree), now_ms=NOW, selected=a, against=b)
    assert {note["text"][3:-4]: note["x"] for note in chart.layout["annotations"] if note.get("yshift") == 19} == letters


def test_letters_of_two_lanes_stand_apart() -> None:
    tree = Tree((lane("one", run("one", 0)), lane("two", run("two", 0))), (mark("sp-a", "one", 100), mark("sp-b", "two", 100)))
    chart = tree_chart(families(tree), now_ms=NOW, selected="sp-a", against="sp-b")
    assert [note["text"] for note in chart.layout["annotations"] if note.get("yshift") == 19] == ["<b>A</b>", "<b>B</b>"]


def test_forks_are_dotted_curves_from_the_savepoint_to_the_fork() -> None:
    curves = [t for t in tree_chart(families(TREE), now_ms=NOW).traces if t.get("line", {}).get("dash") == "dot"]
    ends = {(round(c["x"][0]), c["y"][0], c["y"][-1]) for c in curves}
    assert {(200, 0, 1), (450, 0, 2), (200, 0, 0)} <= ends


def test_an_edge_has_the_colour_of_the_verdict_and_says_it_on_hover() -> None:
    changed, same, unknown = samples.edge("sp-1"), Edge(Outcome.SAME), Edge()
    upgraded = replace(run("parent", 700), version=VersionId("v-2"), edge=Edge(Outcome.CANNOT_TELL))
    parent = lane("parent", run("parent", 0, 300), replace(run("parent", 400, 600, from_savepoint="sp-1"), edge=same), upgraded)
    forks = [lane(name, replace(run(name, 500), edge=edge), origin="sp-1") for name, edge in (("a", changed), ("b", unknown))]
    chart = tree_chart(families(Tree((parent, *forks), (mark("sp-1", "parent", 200),))), now_ms=NOW)
    curves = [trace["line"]["color"] for trace in chart.traces if trace.get("line", {}).get("dash") == "dot"]
    assert curves == [ORANGE, "$muted", GREEN]
    said = {trace["hovertext"][0]: trace["marker"]["color"] for trace in chart.traces if "hovertext" in trace}
    assert [words.partition("<br>")[0] for words in said] == [
        "<b>changed meaning, rewritten, without counts.1</b>",
        "<b>not checked</b>",
        "<b>cannot tell</b>",
    ]
    assert list(said.values()) == [ORANGE, GRAY, GRAY] and "count(1), which begins with 0" in next(iter(said)).replace("<br>", " ")
    assert [(entry.name, entry.color) for entry in chart.legend[6:]] == [
        ("same", GREEN),
        ("cannot tell", GRAY),
        ("changed meaning", ORANGE),
        ("not checked", GRAY),
    ]


def test_state_that_was_rewritten_is_no_trouble_any_more() -> None:
    needs = Edge(Outcome.NEEDS_REWRITING)
    assert [verdicts.tone(edge) for edge in (needs, replace(needs, migration=samples.edge("sp-1").migration))] == ["red", "orange"]


def test_what_people_typed_is_not_markup() -> None:
    trace, i = marks_of(tree_chart(families(TREE), now_ms=NOW))["sp-2"]
    assert "a &lt;b&gt;" in trace["customdata"][i][1]


def test_a_failed_run_says_why() -> None:
    chart = tree_chart(families(TREE), now_ms=NOW)
    assert any("STATE_STORE_ERROR" in t.get("hovertemplate", "") and t["marker"]["symbol"] == "x" for t in chart.traces)


def test_an_empty_tree_says_what_will_be_here() -> None:
    chart = tree_chart([], now_ms=NOW)
    assert not chart.traces
    assert chart.empty
