"""The page of experiments: the list, A against B, any two jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.views.experiments_reading import Pair, bar, examples_frame, pair, share, whole
from pipelines.domain.errors import Unsupported
from pipelines.domain.experiments import Comparison
from pipelines.domain.ids import ExperimentId, JobName
from pipelines.domain.requests import CompareRequest
from tests.dashboard.opening import Opener, clicked, said, selected
from tests.faces import FakeFace


def comparison() -> Comparison:
    return FakeFace.sample().compare(CompareRequest("post_engagement", "post_engagement_split"))


@pytest.mark.parametrize(
    ("jobs", "a", "b", "chosen"),
    [
        (("x", "y", "z"), "", "", Pair("x", "y")),
        (("x", "y", "z"), "z", "", Pair("z", "x")),
        (("x", "y", "z"), "y", "y", Pair("y", "x")),
        (("x", "y", "z"), "gone", "z", Pair("x", "z")),
    ],
)
def test_which_two_jobs(jobs: tuple[str, ...], a: str, b: str, chosen: Pair) -> None:
    assert pair(jobs, a, b) == chosen


@pytest.mark.parametrize(
    ("part", "of", "words"),
    [(0, 10, "0 %"), (10, 10, "100 %"), (9_999, 10_000, "99.9 %"), (1, 100_000, "0.1 %"), (1, 3, "33.3 %"), (0, 0, "–")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: int, of: int, words: str) -> None:
    assert share(part, of) == words


def test_the_bar_has_a_piece_for_each_part_that_is_there() -> None:
    drawn = bar(comparison())
    assert whole(comparison()) == 10
    assert drawn.count("flex-grow") == 3
    assert 'aria-label="Rows: equal 8, changed 1, only in a 1, only in b 0"' in drawn
    nothing = replace(comparison(), equal=0, changed=0, only_a=0, only_b=0)
    assert bar(nothing) == ""


def test_changed_rows_have_both_values_side_by_side() -> None:
    assert list(examples_frame(comparison(), "changed").columns) == ["post", "a.views", "b.views"]
    assert examples_frame(comparison(), "only_b").empty


def test_without_experiments_the_page_teaches(opened: Opener) -> None:
    words = said(opened(FakeFace(), "experiments"))
    assert "No experiments yet" in words


def test_experiments_are_listed(opened: Opener) -> None:
    assert "1 experiment" in said(opened(FakeFace.sample(), "experiments"))


def test_a_and_b_side_by_side(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "experiments", experiment="ex-1")
    words = said(app)
    for part in ("ads", "post_engagement_split", "Agreement", "80.0 %", "Only in A", "Metrics over event time", "Code, A → B", "compared"):
        assert part in words
    assert any("a.views" in one.value.columns for one in app.dataframe)


def test_what_cannot_be_compared_is_said_and_the_rest_is_shown(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: FakeFace, request: CompareRequest) -> None:
        raise Unsupported("compare.sink", "Only files can be compared", "Write to parquet.")

    monkeypatch.setattr(FakeFace, "compare", refuse)
    words = said(opened(FakeFace.sample(), "experiments", experiment="ex-1"))
    assert "compare.sink" in words
    assert "Metrics over event time" in words


def test_any_two_jobs_are_compared(opened: Opener) -> None:
    words = said(opened(FakeFace.sample(), "experiments", a="post_engagement", b="post_events"))
    assert "post_engagement against post_events" in words
    assert "80.0 %" in words
    assert "always equal to itself" in said(opened(FakeFace.sample(), "experiments", a="post_events", b="post_events"))


def test_an_experiment_of_three_jobs_lets_one_choose(opened: Opener) -> None:
    face = FakeFace.sample()
    jobs = tuple(map(JobName, ("post_engagement", "post_engagement_split", "post_events")))
    face.experiments_by_id["ex-3"] = replace(face.experiments_by_id["ex-1"], id=ExperimentId("ex-3"), jobs=jobs)
    app = opened(face, "experiments", experiment="ex-3", b="post_events")
    assert (app.selectbox(key="choice_a").value, app.selectbox(key="choice_b").value) == ("post_engagement", "post_events")
    app.selectbox(key="choice_a").set_value("post_events").run()
    assert not app.exception
    assert (selected(app, "a"), selected(app, "b")) == ("post_events", "post_engagement")


def test_a_forgotten_job_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    del face.runs["post_engagement_split"]
    assert "This job was forgotten" in said(opened(face, "experiments", experiment="ex-1"))


def test_back_to_all(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "experiments", experiment="ex-1"), "experiments_back")
    assert selected(app, "experiment") == ""


def test_an_experiment_that_is_gone_is_said(opened: Opener) -> None:
    assert "experiment.not_found" in said(opened(FakeFace.sample(), "experiments", experiment="ex-gone"))
