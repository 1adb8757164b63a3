"""The page of a fork: what it begins with, what it says before anything starts, what it refuses, what it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import gallery, typed
from dashboard.views.fork import code_changes, confs, drafts, editor
from pipelines.domain import files, verdicts
from pipelines.domain.conversions import HDFS, StateStore
from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError, refusal
from pipelines.domain.ids import VersionId
from pipelines.domain.moved_sources import MovedSource
from pipelines.domain.restores import SinkPlan
from pipelines.domain.texts import changed_lines
from pipelines.domain.trust import Trust
from pipelines.domain.verdicts import Fact, OperatorPair, OperatorPlan, Outcome, Part
from pipelines.domain.versions import version
from pipelines.verbs.check import Check
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.try_code import TryCode
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, clicked, selected, texts
from tests.faces import FakeFace

SAVEPOINT = "sp-000000000002"


def draft() -> drafts.Draft:
    return drafts.begin(FakeFace.sample().ask(ReadManifest(SAVEPOINT)), {"post_engagement"})


def taken() -> FakeFace:
    """The sample, where nothing new may be called `post_events`."""
    face = FakeFace.sample()
    exists = AlreadyExists("job.exists", "a job 'post_events' exists", "Choose another name.")
    face.refuses(lambda asked: isinstance(asked, Fork) and asked.name == "post_events", exists)
    return face


def shared() -> FakeFace:
    """The sample, whose fork would write where another job does."""
    face = FakeFace.sample()
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    sink = SinkPlan(plan.sinks[0].query, "parquet", "/shared", "refuse", "Two jobs on one sink")
    face.plans_as(Fork, replace(plan, sinks=(sink,), refusal=refusal(Conflict("restore.sink_shared", sink.message))))
    return face


def test_a_draft_begins_with_what_the_savepoint_has() -> None:
    first = draft().variants[0]
    assert (first.name, first.script, first.code) == ("post_engagement_fork", "post_engagement.py", "print('a')\n")
    assert first.asked() == Variant(
        name="post_engagement_fork",
        code="print('a')\n",
        script="post_engagement.py",
        args=("--out", "{output}"),
        conf={"spark.x": "1"},
        master="local[2]",
        python="",
        java_home="",
        requirements="",
        check=True,
    )


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert typed.free_name("a", {"b"}) == "a"
    assert typed.free_name("a", {"a", "a_2"}) == "a_3"
    assert typed.free_name("a", {"a_b"}, suffix="b") == "a_b_2"


def test_variants_come_and_go() -> None:
    two = draft().added(set())
    assert [(variant.letter, variant.name) for variant in two.variants] == [("A", "post_engagement_fork"), ("B", "post_engagement_fork_b")]
    assert two.is_experiment
    assert not two.without("B").is_experiment
    assert two.without("A").added(set()).variants[1].letter == "A"
    assert draft().without("A") == draft()


@pytest.mark.parametrize(
    ("read", "text", "code"),
    [(typed.words, "--a 'b", "form.arguments"), (confs.settings, "spark.x", "fork.confs")],
)
def test_what_cannot_be_read_is_refused(read: Callable[[str], object], text: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.code == code


def test_arguments_and_confs_are_read_as_written() -> None:
    assert typed.words("--a 'b c'\n--d") == ("--a", "b c", "--d")
    assert confs.settings("spark.a = 1\n\n spark.b=x=y ") == {"spark.a": "1", "spark.b": "x=y"}


def test_confs_that_the_savepoint_pins_are_found() -> None:
    manifest = FakeFace.sample().ask(ReadManifest(SAVEPOINT))
    assert confs.pinned(manifest, {"spark.sql.shuffle.partitions": "8", "spark.y": "1"}) == [("spark.sql.shuffle.partitions", "8", "4")]
    assert confs.pinned(manifest, {"spark.sql.shuffle.partitions": "4"}) == []


def test_changed_lines_are_counted() -> None:
    assert changed_lines("a\nb\n--c\n", "a\nx\ny\n--c\n") == (2, 1)
    assert changed_lines("a\n", "a\n") == (0, 0)


def test_names_that_differ_in_case_alone_are_the_same() -> None:
    first = draft().variants[0]
    assert drafts.doubled([replace(first, name="One"), replace(first, name="one "), replace(first, name="two")]) == {"One", "one "}


def test_the_gallery_has_both_versions_of_the_example() -> None:
    assert {"post_engagement.py", "post_engagement_split.py"} <= set(gallery.names())
    assert "(paid)" in gallery.from_gallery("post_engagement_split.py").code


def test_scripts_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "a.py"
    binary.write_bytes(b"\xff\xfe\x00")
    cases: list[tuple[Callable[[], object], type[TidemarkError]]] = [
        (lambda: gallery.from_gallery("../secret.py"), NotFound),
        (lambda: gallery.from_path(str(tmp_path)), NotFound),
        (lambda: gallery.from_path(str(binary)), Invalid),
    ]
    for read, kind in cases:
        with pytest.raises(kind):
            read()


def test_without_a_savepoint_one_is_chosen(opened: Opener) -> None:
    assert "Fork which savepoint?" in texts(opened(FakeFace.sample(), "fork"))
    assert "There is none yet" in texts(opened(FakeFace(), "fork"))


def test_the_plan_is_shown_before_anything_starts(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    words = texts(app)
    for part in ("ready to start", "12 files, 2.0 MB", "4.1 kB", "a new one", "the sink&#x27;s log is carried over", "a warning"):
        assert part in words
    assert face.begun == []
    assert not app.button(key="fork_start").disabled


def test_the_code_is_checked_and_the_verdict_stands_in_the_plan(opened: Opener) -> None:
    face = FakeFace.sample()
    clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_check")
    (change,) = face.begun
    assert isinstance(change, Check) and (change.savepoint, change.code) == (SAVEPOINT, "print('a')\n")
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    reason = "computes: sum(v) before, count(v) now"
    part = Part("engagement", 0, "stateStoreSave", Outcome.CHANGED_MEANING, (reason,), "Fork if that is meant.")
    was, now = (OperatorPlan(at, "stateStoreSave", (Fact("computes", text),)) for at, text in ((0, "sum(v)"), (1, "count(v) < 3")))
    verdict = verdicts.of(plan.savepoint, VersionId("v-1"), (part,), ("rand()",))
    face.plans_as(Fork, replace(plan, verdict=replace(verdict, operators=(OperatorPair("engagement", was, now),))))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    words = texts(app)
    beside = '<tr class="differs"><th>computes</th><td>sum(v)</td><td>count(v) &lt; 3</td></tr>'
    for text in ("changed meaning", "engagement, operator 0 (aggregation)", f"{reason}. Fork if that is meant.", "rand()", beside):
        assert text in words
    assert operators_are_open(app)
    face.plans_as(Fork, replace(plan, verdict=replace(verdict, outcome=Outcome.SAME, operators=(OperatorPair("engagement", was, was),))))
    assert not operators_are_open(opened(face, "fork", savepoint=SAVEPOINT))


def test_beside_the_start_stands_that_nobody_has_checked_the_code(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    face.plans_as(Fork, replace(plan, verdict=None, judged=plan.savepoint))
    assert "not checked yet" in texts(opened(face, "fork", savepoint=SAVEPOINT))
    face.plans_as(Fork, replace(plan, verdict=None, judged=None))
    assert "not checked yet" not in texts(opened(face, "fork", savepoint=SAVEPOINT)), "there is no state to check it against"


def test_the_verdict_stands_in_the_wide_column_below_the_code(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    part = Part("engagement", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("a filter",))
    face.plans_as(Fork, replace(plan, verdict=verdicts.of(plan.savepoint, VersionId("v-1"), (part,))))
    wide, narrow, *_ = opened(face, "fork", savepoint=SAVEPOINT).columns
    assert wide.weight > narrow.weight
    assert ["a filter" in str([block.proto for block in column.get("html")]) for column in (wide, narrow)] == [True, False]


def operators_are_open(app: AppTest) -> bool:
    return next(bool(folded.proto.expanded) for folded in app.expander if folded.label == "Operators before and now")


def test_the_verdict_on_the_text_before_is_that_of_the_same_variant(opened: Opener) -> None:
    """It stays while the text is not checked; another variant, and one that is added in the place of a removed one, do not have it."""
    face, previous = FakeFace.sample(), "Of the text before the last change"
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    verdict = verdicts.of(plan.savepoint, VersionId("v-1"), (Part("engagement", 0, "dedupe", Outcome.CHANGED_MEANING, ("a filter",)),))
    face.plans_as(Fork, plan)
    face.plans_as(lambda asked: isinstance(asked, Fork) and (asked.conf or {}).get("spark.x") == "2", replace(plan, verdict=verdict))
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_add")
    for conf in ("2", "3"):
        app.text_area(key=f"fork_confs_{SAVEPOINT}_B").set_value(f"spark.x={conf}").run()
    assert previous in texts(app) and "a filter" in texts(app)
    app.text_area(key=f"fork_confs_{SAVEPOINT}_B").set_value("spark.x=2").run()
    assert "B: changed meaning" in texts(app)
    bar = f"fork_variant_{SAVEPOINT}_AB"
    next(group for group in app.button_group if group.key == bar).set_value("A").run()
    assert selected(app, "variant") == "A" and previous not in texts(app)
    assert "B: changed meaning" in texts(app), "beside the start is what each variant does"
    next(group for group in app.button_group if group.key == bar).set_value("B").run()
    app.text_area(key=f"fork_confs_{SAVEPOINT}_B").set_value("spark.x=3").run()
    assert previous in texts(app) and "B: changed meaning" not in texts(app)
    app = clicked(clicked(app, "fork_remove"), "fork_add")
    assert selected(app, "variant") == "B" and previous not in texts(app)


def test_what_is_dropped_of_the_state_is_accepted_by_name(opened: Opener) -> None:
    """One box for each part; until all are ticked the plan refuses, and other code asks anew."""
    face = FakeFace.sample()
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    part = Part("engagement", 1, "dedupe", Outcome.PARTLY_KEPT, ("No deduplication.",), dropped=("engagement.1",))
    face.plans_as(Fork, replace(plan, verdict=verdicts.of(plan.savepoint, VersionId("v-1"), (part,))))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    (box,) = [checkbox for checkbox in app.checkbox if checkbox.key == f"drop_{SAVEPOINT}_A_engagement.1"]
    assert box.label == "Drop the state of `engagement.1`" and not box.value
    box.set_value(True).run()
    assert any("--drop engagement.1" in block.value for block in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.drop == ("engagement.1",)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    face.plans_as(Fork, plan)
    app.run()
    assert not any("--drop" in block.value for block in app.code)


def unclear(face: FakeFace) -> None:
    """Two deduplications became two others, alike but for what is below them; an aggregation with another key stands alone."""
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    gone = Part("engagement", 2, "stateStoreSave", Outcome.PARTLY_KEPT, ("None like it.",), dropped=("engagement.2",))
    operators = [OperatorPlan(at, name) for at, name in ((0, "dedupe"), (1, "dedupe"), (2, "stateStoreSave"))]
    alone = [OperatorPair("engagement", None, it, is_unclear=it.name == "dedupe") for it in operators]
    pairs = (*(replace(it, before=it.after, after=None) for it in alone), *alone)
    verdict = verdicts.of(plan.savepoint, VersionId("v-1"), (gone,))
    face.plans_as(Fork, replace(plan, verdict=replace(verdict, operators=pairs)))


def test_which_operator_goes_on_as_which_is_chosen(opened: Opener) -> None:
    """One that is taken is no choice for another; one that goes on is not dropped; the command says the same."""
    face = FakeFace.sample()
    unclear(face)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    first, second, third = (f"map_{SAVEPOINT}_A_engagement.{at}" for at in range(3))
    assert app.selectbox(key=first).options == ["not said", "goes on as engagement.0", "goes on as engagement.1", "is dropped"]
    assert app.selectbox(key=third).options == ["not said", "goes on as engagement.2"] and "may be another" in texts(app)
    app.selectbox(key=first).select("engagement.1").run()
    assert app.selectbox(key=second).options == ["not said", "goes on as engagement.0", "is dropped"]
    app.selectbox(key=second).select("dropped").run()
    assert dropping(app) == [f"drop_{SAVEPOINT}_A_engagement.2"]
    app.selectbox(key=third).select("engagement.2").run()
    assert dropping(app) == []
    words = "--drop engagement.1 --map engagement.0=engagement.1 --map engagement.2=engagement.2"
    assert any(words in block.value for block in app.code), [block.value for block in app.code]
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.drop == ("engagement.1",)
    assert change.map == {"engagement.0": "engagement.1", "engagement.2": "engagement.2"}


def test_the_verdict_is_asked_for_with_what_goes_on_as_which(opened: Opener) -> None:
    """What was told stays chosen where the verdict has it, and can be told otherwise."""
    face = FakeFace.sample()
    unclear(face)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    first = f"map_{SAVEPOINT}_A_engagement.0"
    app.selectbox(key=first).select("engagement.1").run()
    clicked(app, "fork_try")
    tried = face.begun[-1]
    assert isinstance(tried, TryCode) and tried.map == {"engagement.0": "engagement.1"}
    clicked(app, "fork_check")
    asked = face.begun[-1]
    assert isinstance(asked, Check) and asked.map == {"engagement.0": "engagement.1"}
    plan = face.plan(Fork(savepoint=SAVEPOINT, name="post_engagement_fork"))
    pairs = tuple(pair for pair in plan.verdict.operators if pair.before is None or pair.before.operator != 0)
    pairs = tuple(pair for pair in pairs if pair.after is None or pair.after.operator != 1)
    together = OperatorPair("engagement", OperatorPlan(0, "dedupe"), OperatorPlan(1, "dedupe"))
    told = replace(plan.verdict, operators=(together, *pairs), told={"engagement.0": "engagement.1"})
    face.plans_as(Fork, replace(plan, verdict=told))
    app.run()
    assert app.selectbox(key=first).value == "engagement.1" and "fork_check" not in [button.key for button in app.button]
    app.selectbox(key=first).select("").run()
    assert "fork_check" in [button.key for button in app.button], "nobody has checked it so"


def dropping(app: AppTest) -> list[str]:
    return [str(box.key) for box in app.checkbox if str(box.key).startswith("drop_")]


def test_a_fork_is_started(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Fork)
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_start")
    (change,) = face.begun
    assert isinstance(change, Fork)
    assert (change.savepoint, change.name) == (SAVEPOINT, "post_engagement_fork")
    assert selected(app, "job") == "post_engagement_fork"


def test_a_name_that_is_taken_cannot_be_started(opened: Opener) -> None:
    app = opened(taken(), "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("post_events").run()
    assert app.button(key="fork_start").disabled
    assert "post_events" in app.button(key="fork_start").help
    assert "job.exists" in texts(app)


def test_what_is_not_python_cannot_be_started_and_says_the_line(opened: Opener, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = (\n")
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key="fork_path").set_value(str(broken)).run()
    clicked(app, "fork_load_now")
    assert app.button(key="fork_start").disabled
    assert "Line 2" in app.button(key="fork_start").help
    clicked(app, "fork_load_original")
    assert not app.button(key="fork_start").disabled


def test_nothing_begins_from_a_damaged_savepoint_and_each_button_says_why(opened: Opener) -> None:
    face = FakeFace.sample()
    face.verified(samples.verification(face.savepoints_by_id[SAVEPOINT], Trust.INTACT, damaged=True))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    for key in ("fork_start", "fork_add", "fork_try"):
        button = app.button(key=key)
        assert button.disabled and "It is damaged" in button.help, key


def test_a_sink_that_is_refused_cannot_be_started(opened: Opener) -> None:
    app = opened(shared(), "fork", savepoint=SAVEPOINT)
    assert app.button(key="fork_start").disabled
    assert "Two jobs on one sink" in app.button(key="fork_start").help


def test_a_fresh_output_is_asked_for_per_query(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    choice = next(control for control in app.segmented_control if control.key == f"fork_sink_{SAVEPOINT}_A_counts")
    assert choice.value == "continue"
    choice.set_value("fresh").run()
    assert any("--sink counts=fresh" in block.value for block in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork)
    assert change.sinks == {"counts": "fresh"}


def test_other_partitions_are_asked_for(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    field = app.number_input(key=f"fork_partitions_{SAVEPOINT}_A")
    assert field.value is None and field.placeholder == "4, as it has"
    field.set_value(8).run()
    assert any("--partitions 8" in block.value for block in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.partitions == 8


def test_state_is_moved_to_another_store_where_it_is_asked_for(opened: Opener) -> None:
    face = FakeFace.sample()
    manifest = face.ask(ReadManifest(SAVEPOINT))
    here = [image.provider for image in manifest.queries]
    app = opened(face, "fork", savepoint=SAVEPOINT)
    assert HDFS not in here and f"fork_store_{SAVEPOINT}_A" not in {toggle.key for toggle in app.toggle}
    face.answers(ReadManifest(SAVEPOINT), replace(manifest, queries=tuple(replace(image, provider=HDFS) for image in manifest.queries)))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.toggle(key=f"fork_store_{SAVEPOINT}_A").set_value(True).run()
    assert any("--store rocksdb" in block.value for block in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.store is StateStore.ROCKSDB


def test_state_is_migrated_by_columns_or_by_a_function_where_it_is_asked_for(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    choice = next(group for group in app.button_group if group.key == f"fork_migrate_{SAVEPOINT}_A")
    choice.set_value("by_columns").run()
    assert any("--migrate columns" in block.value for block in app.code)
    choice.set_value("by_function").run()
    assert any("--migrate migration.py:migrate" in block.value for block in app.code)
    app.text_area(key=f"fork_migration_{SAVEPOINT}_A").set_value("def f(rows, schema):\n    return rows\n").run()
    app.text_input(key=f"fork_function_{SAVEPOINT}_A").set_value("f").run()
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.migrate == {"f": "def f(rows, schema):\n    return rows\n"}


def test_what_is_folded_away_says_what_differs_in_it(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    names = "Master, runtime, java, requirements, limits, event log and partitions"
    assert f"{names}: unchanged" in [folded.label for folded in app.expander]
    app.text_input(key=f"fork_runtime_{SAVEPOINT}_A").set_value("/opt/spark35/bin/python").run()
    app.number_input(key=f"fork_partitions_{SAVEPOINT}_A").set_value(8).run()
    assert f"{names}: :blue[runtime, partitions changed]" in [folded.label for folded in app.expander]
    app.text_input(key=f"fork_runtime_{SAVEPOINT}_A").set_value("").run()
    assert f"{names}: :blue[partitions changed]" in [folded.label for folded in app.expander]
    for field in ("memory", "cpus"):
        app.text_input(key=f"fork_{SAVEPOINT}_A_{field}").set_value("2").run()
    app.checkbox(key=f"fork_event_log_{SAVEPOINT}_A").check().run()
    assert f"{names}: :blue[limits, event log, partitions changed]" in [folded.label for folded in app.expander]


@pytest.mark.parametrize(("batches", "words"), [("parents", "--lock-step"), ("until_now", "--until now")])
def test_its_batches_can_be_the_parents(opened: Opener, batches: str, words: str) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    choice = next(group for group in app.button_group if group.key == f"fork_batches_{SAVEPOINT}_A")
    choice.set_value(batches).run()
    assert any(words in block.value for block in app.code)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and (change.lock_step, change.until) == (batches == "parents", "now" if batches == "until_now" else "")


def test_a_what_if_ends_at_a_savepoint_or_at_a_time(opened: Opener) -> None:
    """It does not begin before it is said where it ends; what was chosen for another end does not count."""
    face = FakeFace.sample()
    later = next(savepoint.id for savepoint in face.savepoints_by_id.values() if savepoint.id != SAVEPOINT)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    choice = next(group for group in app.button_group if group.key == f"fork_batches_{SAVEPOINT}_A")
    choice.set_value("until_savepoint").run()
    assert app.button(key="fork_start").disabled and "fork.no_end" in texts(app)
    end = app.selectbox(key=f"fork_end_{SAVEPOINT}_A")
    assert len(end.options) == 1 and later[:11] in end.options[0]
    end.select(later).run()
    assert any(f"--until {later}" in block.value for block in app.code)
    clicked(app, "fork_start")
    assert isinstance(change := face.begun[-1], Fork) and (change.until, change.until_ms) == (later, None)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    next(group for group in app.button_group if group.key == f"fork_batches_{SAVEPOINT}_A").set_value("until_time").run()
    assert app.button(key="fork_start").disabled and "fork.no_end" in texts(app)
    app.datetime_input(key=f"fork_end_time_{SAVEPOINT}_A").set_value(datetime(2027, 1, 15, 8, 0)).run()
    assert any("--until-time 2027-01-15T08:00" in block.value for block in app.code), [block.value for block in app.code]
    clicked(app, "fork_start")
    assert isinstance(change := face.begun[-1], Fork) and (change.until, change.until_ms) == ("", 1_800_000_000_000)


def test_a_refused_sink_says_what_to_change(opened: Opener) -> None:
    words = texts(opened(shared(), "fork", savepoint=SAVEPOINT))
    for part in ("refused", "Two jobs on one sink", "Choose what happens with the output above"):
        assert part in words


def test_a_query_that_the_savepoint_does_not_know_is_named(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "more.py"
    script.write_text('a.writeStream.queryName("counts")\nb.writeStream.queryName("late")\n')
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    assert not app.multiselect
    app.text_input(key="fork_path").set_value(str(script)).run()
    app = clicked(app, "fork_load_now")
    assert "The code names late, which the savepoint does not hold" in texts(app)
    app.multiselect(key=f"fork_new_{SAVEPOINT}_A").set_value(["late"]).run()
    assert "The code names late" not in texts(app)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork)
    assert change.new_queries == ("late",)


def test_two_variants_make_an_experiment(opened: Opener) -> None:
    face = follow(FakeFace.sample(), StartExperiment)
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_add")
    assert selected(app, "variant") == "B"
    app.text_area(key=f"fork_confs_{SAVEPOINT}_B").set_value("spark.x=2").run()
    app = clicked(app, "fork_start")
    (asked,) = face.begun
    assert isinstance(asked, StartExperiment)
    assert [(variant.name, dict(variant.conf or {})) for variant in asked.variants] == [
        ("post_engagement_fork", {"spark.x": "1"}),
        ("post_engagement_fork_b", {"spark.x": "2"}),
    ]
    assert selected(app, "experiment").startswith("ex-")


def test_a_fork_at_a_home_says_what_it_costs_there(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Fork)
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    there = replace(plan, checkpoints="s3a://bucket/post_engagement_fork-r-1/checkpoints/r-1", how="server-copy", requests=1_234)
    face.plans_as(Fork, there)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_home_{SAVEPOINT}_A").set_value(" s3://bucket ").run()
    assert there.checkpoints in texts(app) and "about 1,234 requests" in texts(app)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.home == "s3://bucket"


def test_a_source_goes_on_from_elsewhere(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Fork)
    plan = samples.restore_plan(SAVEPOINT, "post_engagement_fork", keeps_query_id=False)
    (image,) = face.ask(ReadManifest(SAVEPOINT)).begun
    source = f"{image.query}.{image.offsets[0].source}"
    moved = MovedSource(image.query, image.offsets[0].source, '{"logOffset":4}', '{"logOffset":5}', 3, 0, "files", at_most=True)
    face.plans_as(Fork, replace(plan, moved=(moved,)))
    app = opened(face, "fork", savepoint=SAVEPOINT)
    assert "Sources go on: where the savepoint stands" in {expander.label for expander in app.expander}
    assert app.text_input(key=f"fork_offsets_{SAVEPOINT}_A_{source}").label == "counts, source 0"
    app.text_input(key=f"fork_offsets_{SAVEPOINT}_A_{source}").set_value(" latest ").run()
    assert f"Sources go on: :blue[{source} moved]" in {expander.label for expander in app.expander}
    assert "at most 3 files skipped: the state never gets them" in texts(app)
    clicked(app, "fork_start")
    change = face.begun[-1]
    assert isinstance(change, Fork) and change.offsets == {source: "latest"}


def test_two_variants_of_one_name_are_refused(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT), "fork_add")
    app.text_input(key=f"fork_name_{SAVEPOINT}_B").set_value("post_engagement_fork").run()
    assert app.button(key="fork_start").disabled
    clicked(app, "fork_remove")
    assert not app.button(key="fork_start").disabled


def test_the_parent_can_be_compared_with(opened: Opener) -> None:
    face = follow(FakeFace.sample(), StartExperiment)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.toggle(key=f"fork_parent_{SAVEPOINT}").set_value(True).run()
    clicked(app, "fork_start")
    assert any(isinstance(change, StartExperiment) and change.with_parent for change in face.begun)


def test_a_savepoint_that_is_gone_is_said(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "fork", savepoint="sp-gone")
    assert "savepoint.not_found" in texts(app) and "<h1>Fork</h1>" in texts(app)
    assert "All savepoints" in {link.proto.label for link in app.get("page_link")}


@pytest.mark.parametrize(("page", "named"), [("upgrade", {"job": "nope"}), ("experiments", {"experiment": "nope"})])
def test_a_page_of_what_is_not_there_keeps_its_title_and_leads_to_what_is(opened: Opener, page: str, named: dict[str, str]) -> None:
    app = opened(FakeFace.sample(), page, **named)
    assert "not_found" in texts(app) and "<h1>" in texts(app) and app.get("page_link")


def test_a_press_with_the_last_letter_counts(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = follow(FakeFace.sample(), Fork)
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("renamed")
    monkeypatch.setattr(editor, "code_editor", lambda *_, **__: "print('typed')\n")
    clicked(app, "fork_start")
    (change,) = face.begun
    assert isinstance(change, Fork)
    assert (change.name, change.code) == ("renamed", "print('typed')\n")
    assert selected(app, "job") == "renamed"


def test_a_press_with_what_is_refused_starts_nothing(opened: Opener) -> None:
    face = taken()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("post_events")
    clicked(app, "fork_start")
    assert selected(app, "job") == ""
    assert app.button(key="fork_start").disabled and "job.exists" in texts(app)


def test_a_variant_is_added_with_the_last_letter(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "fork", savepoint=SAVEPOINT)
    app.text_input(key=f"fork_name_{SAVEPOINT}_A").set_value("renamed")
    clicked(app, "fork_add")
    assert selected(app, "variant") == "B"
    assert app.session_state[f"draft_{SAVEPOINT}"].variants[0].name == "renamed"


def several() -> tuple[FakeFace, str]:
    """A job of several files, and a savepoint of it."""
    face = FakeFace.sample()
    kept = files.changed({}, {"helper.py": "x = 1\n", "model.bin": "data:;base64,/w=="})
    face.began("shop", version("job.py", "import helper\n", files=kept))
    return face, face.saved("shop").id


def test_a_fork_edits_any_of_its_files(opened: Opener) -> None:
    face, savepoint = several()
    app = opened(face, "fork", savepoint=savepoint, file="helper.py")
    box = app.selectbox(key=f"fork_file_{savepoint}_A")
    assert (list(box.options), box.value) == (["job.py", "helper.py"], "helper.py"), "what is no text is not edited"
    assert "<strong>helper.py</strong>" in texts(app)
    box.set_value("").run()
    assert "<strong>job.py</strong>" in texts(app) and selected(app, "file") == ""


def test_a_draft_says_which_files_differ() -> None:
    face, savepoint = several()
    manifest = face.ask(ReadManifest(savepoint))
    variant = drafts.begin(manifest, set()).variants[0]
    assert code_changes.changed_files(variant, manifest.version) is None
    typed_in = variant.typed("helper.py", "x = 2\ny = 3\n")
    assert code_changes.changed_files(typed_in, manifest.version) == {"helper.py": "x = 2\ny = 3\n"}
    assert (typed_in.code, typed_in.text("helper.py")) == (variant.code, "x = 2\ny = 3\n")
    assert code_changes.whole_difference(manifest.version, typed_in) == (2, 1)
    assert (typed_in.asked().files or {})["helper.py"] == "x = 2\ny = 3\n"


def test_a_script_that_is_loaded_brings_its_modules(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "job.py").write_text("import helper\n")
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_input(key="fork_path").set_value(str(tmp_path / "job.py")).run()
    app = clicked(app, "fork_load_now")
    assert "loaded in place of the code" in texts(app)
    app = clicked(app, "fork_start")
    (fork,) = face.begun
    assert isinstance(fork, Fork) and fork.files == {"helper.py": "x = 1\n"}
    assert "loaded in place of the code" not in texts(app), "a notice of what was typed ends with its page"
