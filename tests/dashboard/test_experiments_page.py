"""The page of experiments: the list, A against B, any two jobs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from dashboard import session, widgets
from dashboard.views import experiments
from dashboard.views.experiments.intervals import intervals_table
from dashboard.views.experiments.shares import Pair, bar, examples_frame, pair, parting_table, share, whole
from pipelines.domain import verdicts
from pipelines.domain.bisections import Over
from pipelines.domain.decisions import StateFrom
from pipelines.domain.errors import Conflict, Unsupported, refusal
from pipelines.domain.experiments import Comparison, LockStepped
from pipelines.domain.findings import Problem
from pipelines.domain.ids import ExperimentId, JobName, SavepointId
from pipelines.domain.intervals import Interval, Measure
from pipelines.domain.runs import RunState
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.drop import Drop
from pipelines.verbs.experiments import Compare, Diff
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.state_difference import CompareState
from pipelines.words import lockstep
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, agreed, answered, asked, clicked, column, selected, tables, texts
from tests.faces import FakeFace

ONCE = OperatorPlan(0, "dedupe")


def comparison() -> Comparison:
    return FakeFace.sample().ask(Compare("post_engagement", "post_engagement_split"))


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
    words = texts(opened(FakeFace(), "experiments"))
    assert "No experiments yet" in words


def test_experiments_are_listed(opened: Opener) -> None:
    assert "1 experiment" in texts(opened(FakeFace.sample(), "experiments"))


def test_replays_and_bisections_are_listed_and_shown(opened: Opener) -> None:
    listed = opened(FakeFace.sample(), "experiments")
    assert "Replays" in texts(listed) and "Bisections" in texts(listed)
    shown = opened(FakeFace.sample(), "experiments", replay="rp-000000000001")
    for part in (
        "Replay of post_engagement",
        "different in the output of counts",
        "The first batch whose rows differ is 9",
        "keeps no rows",
        "so that a replay differs by itself",
    ):
        assert part in texts(shown), part
    assert any("a.views" in frame.value.columns for frame in shown.dataframe)
    bisected = opened(FakeFace.sample(), "experiments", bisection="bi-000000000001")
    for part in (
        "The first batch of counts",
        "nothing was run again",
        "entry 6 of the file log → entry 7 of the file log",
        "file:///data/events/007.json",
        "by post: 1 changed, 1 added",
    ):
        assert part in texts(bisected), part
    assert any("b.views" in frame.value.columns for frame in bisected.dataframe)
    assert "replay.not_found" in texts(opened(FakeFace.sample(), "experiments", replay="rp-none"))


def test_the_fork_of_a_replay_is_discarded_and_the_replay_stays(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Forget)
    app = opened(face, "experiments", replay="rp-000000000001")
    assert "It cannot be undone" in texts(asked(app, "replay_discard"))
    app = agreed(app, "replay_discard")
    assert face.begun == [Forget("replay-000000000001")]
    assert "Replay of post_engagement" in texts(app) and not any(button.key == "replay_discard" for button in app.button)


def test_replays_and_bisections_of_the_fakes_are_over(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "NOW_MS", round(session.now_ms()))
    for chosen, ago in (({"replay": "rp-000000000001"}, "1 min ago"), ({"bisection": "bi-000000000001"}, "2 min ago")):
        assert f">{ago}<" in texts(opened(FakeFace.sample(), "experiments", **chosen))


def test_a_replay_is_offered_between_the_two_newest_savepoints(opened: Opener) -> None:
    """Spark keeps few batches: between the oldest ones it would be refused."""
    face = FakeFace.sample()
    for label in ("old", "before", "now"):
        face.saved("post_engagement", label=label)
    app = asked(opened(face, "experiments"), "replay_begin")
    newest, before, *older = face.ask(ListSavepoints(str(app.selectbox(key="replay_job").value)))
    answered(app, "replay_begin", "replay_yes")
    (change,) = face.begun
    assert older and isinstance(change, RunReplay) and (change.savepoint, change.end) == (before.id, newest.id)


def test_a_replay_and_a_bisection_are_begun(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "experiments"), "replay_begin")
    answered(app, "replay_begin", "replay_yes")
    assert isinstance(face.begun[-1], RunReplay) and (face.begun[-1].savepoint, face.begun[-1].end) != ("", "")
    app = opened(face, "experiments")
    app.button(key="bisect_begin").click().run()
    app.text_area(key="bisect_sql").set_value("SELECT 1 FROM output")
    app.button(key="bisect_begin").click().run()
    answered(app, "bisect_begin", "bisect_yes")
    assert isinstance(face.begun[-1], Bisect) and face.begun[-1].sql == "SELECT 1 FROM output"
    app = opened(face, "experiments")
    app.button(key="bisect_begin").click().run()
    for field, value in (("bisect_by", "Script"), ("bisect_over", Over.STATE)):
        app.segmented_control(key=field).set_value(value)
        app.button(key="bisect_begin").click().run()
    app.text_area(key="bisect_script").set_value("raise SystemExit(1)")
    app.button(key="bisect_begin").click().run()
    answered(app, "bisect_begin", "bisect_yes")
    assert (face.begun[-1].script, face.begun[-1].sql, face.begun[-1].over) == ("raise SystemExit(1)", "", Over.STATE)


def test_a_and_b_side_by_side(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "experiments", experiment="ex-1")
    words = texts(app)
    for part in ("ads", "post_engagement_split", "Agreement", "80.0 %", "Only in A", "Metrics over event time", "Code, A → B", "compared"):
        assert part in words
    for part in (
        "First difference at",
        "equal up to",
        "Metric differences (95 %)",
        "B is 12 % slower, between 5 and 19 %",
        "rows",
        "as it is now",
    ):
        assert part in words
    assert any("a.views" in frame.value.columns for frame in app.dataframe)
    drawn = [
        json.loads(component.proto.json) for component in app.get("bidi_component") if "tidemark_panel" in component.proto.component_name
    ]
    assert [entry["value"] for chart in drawn if chart["title"] == "checks.bad_rows" for entry in chart["legend"]] == ["3", "3"]


def test_in_lock_step_the_first_batch_has_its_keys_and_the_state_after_it_is_compared(opened: Opener) -> None:
    face, asked_for = FakeFace.sample(), Compare("post_engagement", "post_engagement_split")
    rows = {"changed": [{"post": 2, "a.views": 3, "b.views": 5}], "only_a": [], "only_b": []}
    face.answers(asked_for, replace(comparison(), lock_step=LockStepped(3, 9, 8, ("post",), rows), varies=("rand()",)))
    app = opened(face, "experiments", a="post_engagement", b="post_engagement_split")
    words = texts(app)
    assert "the first batch whose rows differ is 8, at post=2 (views: 3 in A, 5 in B)" in words and "First batch that differs: 8" in words
    assert "differs by itself" in words and "rand()" in words
    places = app.selectbox(key="state_of_both_at")
    assert places.options == ["After batch 8, the first that differs", "After batch 9, the newest of both"]
    clicked(app, "state_of_both_compare")
    assert face.begun == [CompareState("post_engagement@counts=8", "post_engagement_split@counts=8", query="counts")]


def test_the_state_of_both_is_a_picture_first(opened: Opener) -> None:
    face, asked_for = FakeFace.sample(), Diff("post_engagement", "post_engagement_split")
    plain = face.ask(asked_for)
    fewer = [replace(entry, b=100) if entry.name == "rows" else entry for entry in plain.section("state").entries]
    told = replace(plain, sections=tuple(replace(part, entries=tuple(fewer)) if part.name == "state" else part for part in plain.sections))
    in_step = replace(told, a=replace(told.a, batch=1_007, note=lockstep.IN_STEP))
    for differences, as_of in ((told, "of both, as it is now"), (in_step, "of both, after batch 1,007")):
        face.answers(asked_for, differences)
        app = opened(face, "experiments", experiment="ex-1")
        assert as_of in texts(app)
        drawn = [json.loads(part.proto.json) for part in app.get("bidi_component") if "tidemark_panel" in part.proto.component_name]
        rows = next(chart for chart in drawn if chart["title"] == "State rows")
        assert [(entry["name"], entry["value"]) for entry in rows["legend"]] == [("A", "120"), ("B", "100")]
        assert "aggregation 0: 120 in A, 100 in B" in rows["summary"]
    (folded,) = (expander for expander in app.expander if expander.label == "Partitions, schemas and sizes")
    assert "tm-apart" in "".join(str(element.proto.body) for element in folded.get("html"))


def test_an_interval_of_what_both_observe_has_its_own_name() -> None:
    shown = intervals_table([Interval(Measure.OBSERVED, 80, 1_234.5, 1.0, -0.2, -0.3, -0.1, "B is 20 % lower", "checks.<b>")])
    assert '<tr class="other"><th>checks.&lt;b&gt;</th><td>1,234.5</td><td>1</td>' in shown


def test_what_cannot_be_compared_is_said_and_the_rest_is_shown(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Compare, Unsupported("compare.sink", "Only files can be compared", "Write to parquet."))
    words = texts(opened(face, "experiments", experiment="ex-1"))
    assert "compare.sink" in words
    assert "Metrics over event time" in words


def test_any_two_jobs_are_compared(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "experiments", a="post_engagement", b="post_events"))
    assert "post_engagement against post_events" in words
    assert "80.0 %" in words
    assert "always equal to itself" in texts(opened(FakeFace.sample(), "experiments", a="post_events", b="post_events"))


def test_b_is_said_in_one_sentence(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "experiments", experiment="ex-1"))
    assert re.search(r"B: 80.0 % of rows equal, first difference \d\d:\d\d:\d\d, 12 % slower, failed", words)


def test_a_variant_that_has_not_begun_is_waited_for(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Compare, Conflict("compare.not_started", "No query of job post_engagement_split has started yet", "Wait."))
    detail = face.ask(ShowJob("post_engagement_split"))
    waiting = replace(detail, summary=replace(detail.summary, state=RunState.STARTING, batch=None, findings=()))
    face.answers(ShowJob("post_engagement_split"), waiting)
    words = texts(opened(face, "experiments", experiment="ex-1"))
    assert "B: waiting for its first batch" in words
    assert "Waiting for the first batch" in words and "compare.not_started" not in words


def test_before_the_first_comparison_is_there_the_page_says_so_and_shows_what_is_known(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked while the comparison is made is drawn by then: the cards, the code, the metrics."""
    face = FakeFace.sample()
    jobs = tuple(map(JobName, ("post_engagement", "post_engagement_split", "post_events")))
    face.experiments_by_id["ex-3"] = replace(face.experiments_by_id["ex-1"], id=ExperimentId("ex-3"), jobs=jobs)
    asked_for, boxes, ask = list[str](), list[str](), face.ask
    drawn = widgets.message_box
    monkeypatch.setattr(face, "ask", lambda question: asked_for.append(type(question).__name__) or ask(question))
    monkeypatch.setattr(experiments, "message_box", lambda title, *texts, **more: boxes.append(title) or drawn(title, *texts, **more))
    for experiment in ("ex-1", "ex-3"):
        asked_for.clear()
        boxes.clear()
        app = opened(face, "experiments", experiment=experiment)
        assert boxes == ["Comparing the outputs"] and boxes[0] not in texts(app), "while it is made, and no longer"
        assert asked_for.index("ShowVersion") < asked_for.index("Compare")

    app.run()
    assert boxes == ["Comparing the outputs"], "later ones stand until a new one is there"


def test_why_a_side_failed_stands_on_its_card(opened: Opener) -> None:
    face = FakeFace.sample()
    (failed,) = (finding for finding in face.ask(ShowJob("post_engagement_split")).summary.findings if finding.problem is Problem.FAILED)
    words = texts(opened(face, "experiments", experiment="ex-1"))
    assert "Why it failed" in words and failed.words in words


def test_variants_stand_side_by_side_with_what_differs_alone(opened: Opener) -> None:
    face = FakeFace.sample()
    jobs = tuple(map(JobName, ("post_engagement", "post_engagement_split", "post_events")))
    face.experiments_by_id["ex-3"] = replace(face.experiments_by_id["ex-1"], id=ExperimentId("ex-3"), jobs=jobs)
    app = opened(face, "experiments", experiment="ex-3")
    assert tables(app)["variants"] == list(jobs)
    assert column(app, "variants", "Rows equal") == ["–", "80.0 %", "80.0 %"]
    app = opened(face, "experiments", experiment="ex-3", only="yes")
    assert column(app, "variants", "Variant") == ["A post_engagement", "B post_engagement_split", "C post_events"]
    assert "Batch p99" not in str(app.get("bidi_component"))


def test_an_experiment_of_three_jobs_lets_one_choose(opened: Opener) -> None:
    face = FakeFace.sample()
    jobs = tuple(map(JobName, ("post_engagement", "post_engagement_split", "post_events")))
    face.experiments_by_id["ex-3"] = replace(face.experiments_by_id["ex-1"], id=ExperimentId("ex-3"), jobs=jobs)
    app = opened(face, "experiments", experiment="ex-3", b="post_events")
    assert (app.selectbox(key="choice_a").value, app.selectbox(key="choice_b").value) == ("post_engagement", "post_events")
    app.selectbox(key="choice_a").set_value("post_events").run()
    assert not app.exception
    assert (selected(app, "a"), selected(app, "b")) == ("post_events", "post_engagement")
    app.query_params["a"], app.query_params["b"] = "post_engagement", "post_engagement_split"
    app.run()
    chosen = [app.selectbox(key=f"choice_{side}").value for side in ("a", "b")]
    assert chosen == [selected(app, "a"), selected(app, "b")] == ["post_engagement", "post_engagement_split"], "a click on a variant"


def test_a_forgotten_job_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    del face.runs["post_engagement_split"]
    words = texts(opened(face, "experiments", experiment="ex-1"))
    assert "This job was forgotten" in words and "nothing is left to compare" in words and "job.not_found" not in words
    words = texts(opened(face, "experiments", a="post_engagement", b="nobody"))
    assert words.count("job.not_found") == 1 and "forgotten" not in words


def test_back_to_all(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "experiments", experiment="ex-1"), "experiments_back")
    assert selected(app, "experiment") == ""


def test_an_experiment_that_is_gone_is_said(opened: Opener) -> None:
    assert "experiment.not_found" in texts(opened(FakeFace.sample(), "experiments", experiment="ex-gone"))


def test_intervals_are_bars_on_one_scale() -> None:
    drawn = intervals_table(samples.intervals())
    assert drawn.count("<i style=") == 3 and drawn.count("<tr") == 5
    assert 'class="worse"' in drawn and "left:98.00%" not in drawn and "No difference can be told yet: 7 batches" in drawn


def test_the_first_rows_that_differ_are_marked_where_they_do() -> None:
    parting = comparison().parting
    assert parting is not None
    drawn = parting_table(parting)
    assert '<td class="a">3</td>' in drawn and '<td class="b">5</td>' in drawn and "<td>2</td>" in drawn
    assert "has no such row" in parting_table(replace(parting, kind="only_b", a=None))


def mended() -> FakeFace:
    """The sample, with a variant that runs again."""
    face = FakeFace.sample()
    face.began("post_engagement_split", face.versions[face.runs["post_engagement_split"][-1].version])
    return face


def test_a_variant_that_failed_is_not_promoted_and_the_button_says_why(opened: Opener) -> None:
    button = opened(FakeFace.sample(), "experiments", experiment="ex-1").button(key="decide_promote")
    assert button.disabled
    assert "post_engagement_split has failed (STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE)" in button.help and "Resume it" in button.help
    assert not opened(mended(), "experiments", experiment="ex-1").button(key="decide_promote").disabled


def test_promoting_shows_its_steps_and_is_asked_once(opened: Opener) -> None:
    face = mended()
    plan = face.plan(Promote("post_engagement_split"))
    part = Part("engagement", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("computes: sum(v) before, count(v) now",))
    face.plans_as(Promote, replace(plan, verdict=verdicts.of(SavepointId("sp-1"), plan.version, (part,))))
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote")
    words = texts(app)
    for text in (
        "goes on: version",
        "The variant keeps running.",
        "Its arguments become those of",
        "+12",
        "changed meaning",
        "count(v) now",
    ):
        assert text in words
    assert face.begun == []
    follow(face, Promote)
    answered(app, "decide_promote", "decide_yes")
    assert face.begun == [Promote("post_engagement_split", check=True)]
    words = texts(opened(face, "experiments", experiment="ex-1"))
    assert "post_engagement_split was promoted" in words and "Promoted" in words


def test_promoting_what_drops_state_asks_for_that_by_name(opened: Opener) -> None:
    face = mended()
    plan = face.plan(Promote("post_engagement_split"))
    part = Part("engagement", 1, "dedupe", Outcome.PARTLY_KEPT, ("No deduplication.",), dropped=("engagement.1",))
    dropping = verdicts.of(SavepointId("sp-1"), plan.version, (part,))
    face.plans_as(Promote, replace(plan, verdict=dropping, refusal=refusal(verdicts.drops(dropping.dropped))))
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote")
    assert app.button(key="decide_yes").disabled and verdicts.DROPS in texts(app)
    face.plans_as(Promote, replace(plan, verdict=dropping))
    ticked = {"drop_post_engagement_split_engagement.1": True}
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote", **ticked)
    follow(face, Promote)
    answered(app, "decide_promote", "decide_yes")
    assert face.begun == [Promote("post_engagement_split", drop=("engagement.1",), check=True)]


def test_promoting_asks_which_operator_goes_on_as_which(opened: Opener) -> None:
    face = mended()
    plan = face.plan(Promote("post_engagement_split"))
    pairs = tuple(OperatorPair("engagement", *sides, is_unclear=True) for sides in ((ONCE, None), (None, ONCE)))
    face.plans_as(Promote, replace(plan, verdict=replace(verdicts.of(SavepointId("sp-1"), plan.version, ()), operators=pairs)))
    chosen = {"map_post_engagement_split_engagement.0": "engagement.0"}
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote", **chosen)
    assert "--map engagement.0=engagement.0" in "".join(block.value for block in app.code)
    follow(face, Promote)
    answered(app, "decide_promote", "decide_yes")
    assert face.begun == [Promote("post_engagement_split", map={"engagement.0": "engagement.0"}, check=True)]


def test_a_promotion_may_begin_at_the_savepoint(opened: Opener) -> None:
    face = mended()
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote", promote_state=StateFrom.SAVEPOINT)
    assert "--state savepoint" in "".join(block.value for block in app.code)
    answered(app, "decide_promote", "decide_yes")
    assert face.begun == [Promote("post_engagement_split", StateFrom.SAVEPOINT, check=True)]


def test_a_dropped_variant_is_marked_and_asked_about_no_more(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Drop)
    app = clicked(opened(face, "experiments", experiment="ex-1"), "decide_drop")
    assert face.begun == [Drop("post_engagement_split")]
    app = opened(face, "experiments", experiment="ex-1")
    assert "was dropped" in texts(app) and "decide_drop" not in [button.key for button in app.button]


def test_a_refused_promotion_is_said_and_cannot_be_agreed_to(opened: Opener) -> None:
    face = mended()
    face.refuses(Promote, Conflict("promote.parent_gone", "post_engagement was forgotten", "The variant goes on by itself."))
    app = asked(opened(face, "experiments", experiment="ex-1"), "decide_promote")
    assert "promote.parent_gone" in texts(app) and app.button(key="decide_yes").disabled
