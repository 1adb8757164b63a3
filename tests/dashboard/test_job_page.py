"""A job's page: its tabs in each state, its actions, what they ask and say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dashboard.drawing.marks import marks_of
from dashboard.views.job import batches, failure, header, resume, versions
from pipelines.domain import verdicts
from pipelines.domain.errors import Conflict, Unavailable, Unsupported, refusal
from pipelines.domain.experiments import Series
from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Origin
from pipelines.domain.masters import Cluster
from pipelines.domain.observed import ObservedSeries
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.triggers import Trigger, TriggerKind
from pipelines.domain.verdicts import Outcome, Part
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListBatches, ListOperators, ListRetained, ShowJob, ShowLease
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.set_limits import SetLimits
from pipelines.verbs.state import ListStates
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.words.sinks import AT_LEAST_ONCE
from tests import questions, samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, agreed, answered, asked, clicked, column, selected, tables, texts
from tests.faces import NOW_MS, FakeFace, judged

TABS = ("Metrics", "Operators", "State", "Batches", "Savepoints", "Versions", "Logs", "Configuration", "Events")
JOB = "post_engagement"


def script() -> FakeFace:
    """The same, with a job that starts no query."""
    face = FakeFace.sample()
    detail = face.ask(ShowJob(JOB))
    face.answers(ShowJob(JOB), replace(detail, queries=(), summary=replace(detail.summary, queries=0, last_progress_ms=None, batch=None)))
    return face


def panels(app: Any) -> list[str]:
    """The titles of the charts."""
    return [
        json.loads(component.proto.json)["title"]
        for component in app.get("bidi_component")
        if "tidemark_panel" in component.proto.component_name
    ]


def labels(app: Any) -> set[str]:
    return {button.label for button in app.button}


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("job", [JOB, "post_engagement_split", "post_events"])
def test_every_tab_is_drawn_in_every_state(opened: Opener, job: str, tab: str) -> None:
    words = texts(opened(FakeFace.sample(), "job", job=job, tab=tab))
    assert f"<h1>{job}</h1>" in words


def in_health(face: FakeFace, **changes: Any) -> None:
    """From now on the job's numbers are changed so, with the findings that follow from them."""
    detail = face.ask(ShowJob(JOB))
    changed = judged(replace(detail.summary, **changes))
    face.answers(ShowJob, lambda question: replace(detail, summary=changed))


def test_a_job_without_progress_says_so_in_its_head_and_where_to_look(opened: Opener) -> None:
    face = FakeFace.sample()
    in_health(face, last_progress_ms=NOW_MS - 600_000, lag_ms=600_000.0, gap_ms=10_000.0)
    words = texts(opened(face, "job", job=JOB))
    assert "No progress" in words and ">Running<" not in words
    assert "no batch has ended for 9m 59s; usually one every 10.0 s" in words
    assert "tab=Logs" in words and "Read the log</a>" in words
    assert "on time" not in words and "behind the clock" in words


def test_an_idle_job_is_neither_stuck_nor_on_time(opened: Opener) -> None:
    face = FakeFace.sample()
    in_health(face, last_progress_ms=NOW_MS - 600_000, idle_since_ms=NOW_MS - 600_000)
    words = texts(opened(face, "job", job=JOB))
    assert "Idle" in words and "No progress" not in words
    assert "idle; as of its last batch" in words and "on time" not in words


def test_a_fork_that_is_behind_says_how_far_and_when_it_will_be_there(opened: Opener) -> None:
    face = FakeFace.sample()
    line = "9.00 s behind in event time, 1.2k rows, 120 rows/s, there in about 2m 00s"
    assert line not in texts(opened(face, "job", job=JOB)), "it is no fork, and far below its limit"
    job = replace(face.ask(ShowJob(JOB)).summary.job, origin=Origin(SavepointId("sp-1"), JobName("parent")))
    in_health(face, job=job)
    words = texts(opened(face, "job", job=JOB))
    assert f"Behind: {line}" in words and "there in 2m 00s" in words


def test_code_that_does_not_fit_its_state_is_taken_back_by_the_main_action(opened: Opener) -> None:
    face, failed = FakeFace.sample(), "post_engagement_split"
    detail = face.ask(ShowJob(failed))
    app = opened(face, "job", job=failed)
    assert app.button(key="resume").proto.type == "secondary", "there is no code before its only version"
    assert "the job ran no other code on it" in texts(app)
    earlier = face.ask(ShowJob(JOB)).runs[-1]
    runs = (*detail.runs, replace(earlier, job=detail.runs[0].job))
    face.answers(ShowJob, lambda question: replace(detail, runs=runs))
    app = opened(face, "job", job=failed)
    assert f"Resume with {earlier.version[:10]}" in labels(app)
    assert app.button(key="resume").proto.type == "primary"
    app.button(key="resume").click().run()
    assert app.radio(key="resume_way").value == resume.PREVIOUS
    assert "a warning" in texts(app), "the code that it ran before is other code: what becomes of the state is said"
    app.button(key="resume").click()
    clicked(app, "resume_yes")
    assert face.begun == [Resume(failed, version=earlier.version, check=True)]


def test_operators_show_what_a_query_is_made_of(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Operators")
    kafka = ["1-clicks-0", "1-clicks-1"]
    of_query = {"sources_counts": ["0", "1"], "partitions_counts": kafka, "operators_counts": ["0", "1"], "sink_counts": ["sink"]}
    assert tables(app) == of_query
    assert "batch 9 ·" in texts(app) and "as Spark ran batch 9" in texts(app)
    (drawn,) = [
        json.loads(component.proto.json) for component in app.get("bidi_component") if "tidemark_plan" in component.proto.component_name
    ]
    assert {"StateStoreSave · 0", "Scan json", "Sink: parquet"} <= {box["title"] for box in drawn["boxes"]}
    assert "operators post_engagement" in "".join(block.value for block in app.code)


def test_a_sink_of_kafka_is_said_to_write_at_least_once(opened: Opener) -> None:
    face = FakeFace.sample()
    assert AT_LEAST_ONCE not in texts(opened(face, "job", job=JOB, tab="Operators"))
    (query,) = face.ask(ListOperators(JOB))
    face.answers(ListOperators, (replace(query, sink="kafka"),))
    assert AT_LEAST_ONCE in texts(opened(face, "job", job=JOB, tab="Operators"))


def test_where_no_plan_is_known_the_page_says_why(opened: Opener) -> None:
    assert "No batch yet" in texts(opened(FakeFace.sample(), "job", job="post_events", tab="Operators"))
    watched = texts(opened(FakeFace.busy(), "job", job="clicks", tab="Operators"))
    assert "This job runs elsewhere" in watched and "No stateful operator" not in watched


def test_metrics_show_numbers_and_charts(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB)
    for part in ("Running", "120", "420 ms / 850 ms", "9.00 s", "116 rows", "2.0 MB", "Spark 4.3.0"):
        assert part in texts(app)
    titles = ["Throughput", "Batch latency", "Batch phases", "Event-time lag", "Late rows dropped", "Checkpoint size"]
    assert [title for title in panels(app) if title in titles] == titles
    assert panels(app)[-1] == "checks.bad_rows"


def test_what_a_job_observes_beyond_its_charts_is_named(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tuple(ObservedSeries("counts", f"checks.n{at:02d}", (1.0, 2.0), (3.0, 4.0)) for at in range(20))
    monkeypatch.setattr(questions, "series", lambda job, *of: Series(JobName(job), {"t": [1.0, 2.0]}, observed=lines))
    app = opened(FakeFace.sample(), "job", job=JOB)
    assert panels(app)[-12:] == [line.name for line in lines[:12]]
    assert "8 numbers that the job observes have no chart, but stand with each batch: checks.n12, " in texts(app)
    assert "checks.n16, and 3 more" in texts(app)


def test_a_batch_shows_what_it_observed(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "job", job=JOB, tab="Batches", batch="counts:8"))
    assert "What it observed" in words and "<dt>checks.bad_rows</dt><dd>8</dd>" in words
    assert "<dt>checks.newest</dt><dd>2026-11-20 09:00:00</dd>" in words


def test_many_runs_and_failures_come_in_pages_of_their_own(opened: Opener) -> None:
    face = FakeFace.sample()
    detail = face.ask(ShowJob(JOB))
    ended = Exit("failed", 1, "ValueError", "no", NOW_MS)
    failed = replace(detail.runs[0], state=RunState.FAILED, exit=ended, restart=RestartDecision(NOW_MS, 2))
    many = [replace(failed, id=RunId(f"r-{n:04}"), started_ms=NOW_MS - n, attempt=n) for n in range(250)]
    face.answers(ShowJob, lambda _: replace(detail, runs=(detail.runs[0], *many)))
    versions_tab = opened(face, "job", job=JOB, tab="Versions")
    assert tables(versions_tab)["runs"] == [detail.runs[0].id, *(run.id for run in many[:99])] and "251, newest first" in texts(
        versions_tab
    )
    oldest = opened(face, "job", job=JOB, tab="Versions", runs_page="3", runs_sort="Run.down")
    assert tables(oldest)["runs"] == sorted((detail.runs[0].id, *(run.id for run in many)), reverse=True)[200:]
    failures = opened(face, "job", job=JOB, tab="Configuration", runs_page="2", failures_page="3")
    assert tables(failures)["restarts"] == [run.id for run in many[200:]]
    assert "It may say a number" in texts(opened(face, "job", job=JOB, failures_page="x"))


def test_the_other_tabs_list_what_there_is(opened: Opener) -> None:
    face = FakeFace.sample()
    assert tables(opened(face, "job", job=JOB, tab="Batches"))["batches"] == ["counts:9", "counts:8", "counts:7"]
    assert len(tables(opened(face, "job", job=JOB, tab="Savepoints"))["job_savepoints"]) == 2
    assert len(tables(opened(face, "job", job=JOB, tab="Versions"))["runs"]) == 1
    assert len(tables(opened(face, "job", job=JOB, tab="Events"))["occurrences"]) == 1
    assert "line three" in texts(opened(face, "job", job=JOB, tab="Logs"))
    configuration = texts(opened(face, "job", job=JOB, tab="Configuration"))
    assert "/fake/jobs/post_engagement/checkpoints/counts" in configuration and "the usual ones" in configuration
    assert "in the workspace" in configuration


def test_the_configuration_says_where_the_job_runs(opened: Opener) -> None:
    face = FakeFace.sample()
    cluster = Cluster("spark://a:7077", "client", "app-7", 2)
    face.answers(ShowJob(JOB), replace(face.ask(ShowJob(JOB)), cluster=cluster))
    configuration = texts(opened(face, "job", job=JOB, tab="Configuration"))
    assert "2 executors alive on spark://a:7077, the driver here (client mode)" in configuration and "app-7" in configuration


def test_the_configuration_of_a_job_at_a_home_says_who_has_its_lease(opened: Opener) -> None:
    face = FakeFace.sample()
    there = face.ask(ShowJob(JOB))
    face.answers(ShowJob(JOB), replace(there, summary=replace(there.summary, job=replace(there.summary.job, place="s3a://lake/a"))))
    face.leases[JOB] = LeaseSeen("s3a://lake/a/lease.json", "r-9", "<elsewhere>", True, True, NOW_MS, NOW_MS, NOW_MS)
    assert "free: given back by run r-9 of this workspace on &lt;elsewhere&gt;" in texts(opened(face, "job", job=JOB, tab="Configuration"))
    face.refuses(ShowLease, Unavailable("storage.unavailable", "lake does not answer"))
    assert "cannot be read now: lake does not answer" in texts(opened(face, "job", job=JOB, tab="Configuration"))


def test_a_batch_in_the_address_is_shown_in_detail(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Batches", batch="counts:8")
    words = texts(app)
    assert "Batch 8" in words
    assert "<dt>process</dt>" in words
    assert not app.button(key="point_fork").disabled


def test_nothing_begins_at_a_batch_that_spark_has_purged(opened: Opener) -> None:
    face = FakeFace.sample()
    face.answers(ListRetained, lambda _: [])
    app = opened(face, "job", job=JOB, tab="Batches", batch="counts:8")
    assert "Spark has purged this batch" in texts(app)
    assert "point_fork" not in {button.key for button in app.button}


def test_a_batch_that_was_committed_after_spark_was_asked_is_not_called_purged() -> None:
    face = FakeFace.sample()
    rows, kept = face.ask(ListBatches(JOB)), face.ask(ListRetained(JOB))
    assert max(row.batch for row in rows) == 9
    assert batches.alive(kept[:-1], "counts", rows) == {7, 8, 9}
    assert batches.alive([retained for retained in kept if retained.batch == 8], "counts", rows) == {8, 9}
    assert not batches.alive([], "counts", rows)


def test_a_savepoint_answers_with_all_that_is_to_know(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "job", job=JOB), "take")
    assert face.begun == [Take(JOB)]
    words = texts(app)
    for part in ("Savepoint taken", "batch 9", "12 files, 2.0 MB", "4.1 kB new on disk"):
        assert part in words
    assert any(code.value.startswith("/fake/savepoints/sp-") for code in app.code)
    assert "Savepoint taken" not in texts(clicked(app, "notice_close"))


def test_a_refused_savepoint_says_why(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    face.refuses(Take, Unavailable("storage.full", "The disk is full.", "Make room."))
    assert "storage.full" in texts(clicked(app, "take"))


def test_a_savepoint_of_an_earlier_batch(opened: Opener) -> None:
    face = FakeFace.sample()
    clicked(opened(face, "job", job=JOB, tab="Savepoints", batch="counts:7"), "point_take")
    assert face.begun == [Take(JOB, batch=7)]


def test_a_batch_that_is_gone_is_said(opened: Opener) -> None:
    assert "Spark has purged this batch" in texts(opened(FakeFace.sample(), "job", job=JOB, tab="Savepoints", batch="counts:1"))


def test_a_fork_from_now_takes_a_savepoint_first(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    app.button(key="fork").click()
    app.run()
    app.button(key="fork").click()
    app = clicked(app, "fork_now")
    assert face.begun[0] == Take(JOB, label="to fork")


def test_a_stop_takes_its_savepoint_and_says_so(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Stop)
    app = opened(face, "job", job=JOB)
    app.button(key="stop").click().run()
    app.button(key="stop").click()
    app = clicked(app, "stop_yes")
    assert face.begun == [Stop(JOB, savepoint=True)]
    assert "Stopped, with a savepoint" in texts(app)
    assert "Resume" in labels(app)


def test_limits_are_set_beside_the_usual_ones(opened: Opener) -> None:
    face = FakeFace.sample()
    in_health(face, last_progress_ms=NOW_MS - 600_000, trigger=Trigger(TriggerKind.PROCESSING_TIME, 30_000))
    app = opened(face, "job", job=JOB)
    assert "its trigger is every 30.0 s; limit 2m 34s" in texts(app)
    app.button(key="limits").click().run()
    field = app.text_input(key="limit_quiet_ms")
    assert (field.value, field.placeholder) == ("", "2m 34s, as usual")
    app.button(key="limits").click()
    field.set_value("twenty").run()
    assert "is no duration" in texts(app) and app.button(key="limits_yes").disabled
    app.button(key="limits").click()
    app.text_input(key="limit_quiet_ms").set_value("20m").run()
    app.button(key="limits").click()
    clicked(app, "limits_yes")
    assert face.begun == [SetLimits(JOB, quiet_ms=1_200_000)]


def test_a_job_is_rescaled_once_its_plan_was_seen(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    app.button(key="rescale").click().run()
    assert app.button(key="rescale_yes").disabled, "nobody has said how many"
    app.button(key="rescale").click()
    app.number_input(key="rescale_partitions").set_value(8).run()
    words = texts(app)
    for part in ("stops at its next batch boundary", "4 become 8: operator 0 (aggregation) of counts", "late keeps no state"):
        assert part in words, part
    app.button(key="rescale").click()
    clicked(app, "rescale_yes")
    assert face.begun == [Rescale(JOB, 8)]


def test_a_rescaling_that_is_refused_says_why_and_cannot_begin(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.rescale_plan(JOB, 8)
    store = refusal(Unsupported("rescale.store", "Spark rescales RocksDB alone", "Begin it anew."))
    face.plans_as(Rescale, replace(plan, restore=replace(plan.restore, refusal=store)))
    app = asked(opened(face, "job", job=JOB), "rescale", rescale_partitions=8)
    assert "Spark rescales RocksDB alone" in texts(app) and "Begin it anew." in texts(app)
    assert app.button(key="rescale_yes").disabled


def test_a_cancel_is_asked_first(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB)
    assert "nothing is lost" in texts(app.button(key="cancel").click().run())
    assert face.begun == []
    agreed(app, "cancel")
    assert face.begun == [Stop(JOB, savepoint=False, at_once=True)]


def test_resume_from_the_checkpoint(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job="post_events")
    app.button(key="resume").click().run()
    app.button(key="resume").click()
    clicked(app, "resume_yes")
    assert face.begun == [Resume("post_events")]


def test_what_a_resume_drops_of_the_state_is_said_and_accepted_before_it_begins(opened: Opener) -> None:
    face = FakeFace.sample()
    plan = samples.restore_plan("", "post_events", keeps_query_id=True)
    part = Part("counts", 1, "dedupe", Outcome.PARTLY_KEPT, ("No deduplication.",), dropped=("counts.1",))
    drops = replace(plan, verdict=verdicts.of(SavepointId("sp-1"), VersionId("v-1"), (part,)))
    face.plans_as(Resume, replace(drops, refusal=refusal(verdicts.drops(("counts.1",)))))
    face.plans_as(lambda change: isinstance(change, Resume) and change.drop == ("counts.1",), drops)
    app = asked(opened(face, "job", job="post_events"), "resume")
    assert "No deduplication." in texts(app) and verdicts.DROPS in texts(app) and app.button(key="resume_yes").disabled
    app = asked(opened(face, "job", job="post_events"), "resume", **{"drop_post_events__counts.1": True})
    assert verdicts.DROPS not in texts(app)
    answered(app, "resume", "resume_yes")
    assert face.begun == [Resume("post_events", drop=("counts.1",))]


def test_resume_from_a_savepoint_shows_its_plan(opened: Opener) -> None:
    face = FakeFace.sample()
    taken = face.saved("post_events")
    app = asked(opened(face, "job", job="post_events"), "resume", resume_way=resume.SAVEPOINT)
    words = texts(app)
    for part in ("12 files, 2.0 MB", "the sink&#x27;s log is carried over", "a warning", "so nothing is lost"):
        assert part in words
    app.button(key="resume").click()
    app.radio(key="resume_way").set_value(resume.SAVEPOINT)
    clicked(app, "resume_yes")
    assert face.begun[-1] == Resume("post_events", from_savepoint=taken.id)


def test_resume_goes_back_to_a_batch(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "job", job="post_events"), "resume", resume_way=resume.BATCH, resume_batch=7)
    assert any("resume post_events --batch 7" in block.value for block in app.code)
    answered(app, "resume", "resume_yes")
    assert face.begun[-1] == Resume("post_events", batch=7)


def test_a_refused_plan_cannot_be_begun(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job="post_events")
    face.refuses(Resume, Unavailable("storage.gone", "The store is away.", "Wait."))
    app = asked(app, "resume", resume_way=resume.BATCH)
    assert "storage.gone" in texts(app)
    assert app.button(key="resume_yes").disabled
    gone = Conflict("source.gone", "Rows are gone.", "Take a newer savepoint.")
    plan = samples.restore_plan("", "post_events", keeps_query_id=True)
    face.plans_as(Resume, replace(plan, refusal=refusal(gone)))
    for way in (resume.STOPPED, resume.BATCH):
        app = asked(opened(face, "job", job="post_events"), "resume", resume_way=way)
        assert app.button(key="resume_yes").disabled
        for words in ("source.gone", "Rows are gone.", "Take a newer savepoint."):
            assert words in texts(app)


def test_the_checkpoint_of_a_failed_job_is_examined(opened: Opener) -> None:
    face = FakeFace.sample()
    face.answers(Diagnose, [samples.diagnosis("post_engagement_split", "/c", damaged=True)])
    app = opened(face, "job", job="post_engagement_split")
    assert "Batch 8 is whole" not in texts(app)
    app = clicked(app, "failed_examine")
    words = texts(app)
    for part in ("state of operator 0, partition 3", "batches 7–8", "Batch 8 is whole"):
        assert part in words
    app = answered(asked(app, "doctor_rewind"), "doctor_rewind", "rewind_yes")
    assert face.begun[-1] == Resume("post_engagement_split", batch=8)


def test_a_job_whose_code_does_not_fit_its_state_leads_to_its_upgrade(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job="post_engagement_split")
    assert failure.NONE_FITS in texts(app)
    assert "<h1>Upgrade post_engagement_split</h1>" in texts(clicked(app, "failed_upgrade"))
    assert "failed_upgrade" not in {button.key for button in opened(FakeFace.sample(), "job", job="post_engagement").button}


@pytest.mark.parametrize(
    ("system", "form", "error_class", "says"),
    [
        ("Kafka", "kafka", "KAFKA_DATA_SOURCE_NOT_ENABLED", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"),
        ("Delta Lake", "delta", "DATA_SOURCE_NOT_FOUND", "let the job run on Spark 3.5, 4.0, 4.1 or 4.2"),
    ],
)
def test_a_job_without_its_connector_is_told_which_one_and_how_to_get_it(
    opened: Opener, system: str, form: str, error_class: str, says: str
) -> None:
    face, name = FakeFace.sample(), "post_engagement_split"
    (run, *_) = face.ask(ShowJob(name)).runs
    version = face.ask(ShowVersion(run.version))
    face.answers(ShowVersion, lambda _: replace(version, code=f'spark.readStream.format("{form}")'))
    assert not [caption.value for caption in opened(face, "job", job=name).caption if caption.value.startswith(system)]
    detail = face.ask(ShowJob(name))
    lacking = replace(run, exit=Exit("failed", 1, error_class, f"Failed to find data source: {form}.", NOW_MS))
    face.answers(ShowJob, lambda _: replace(detail, summary=replace(detail.summary, run=lacking), runs=(lacking, *detail.runs[1:])))
    app = opened(face, "job", job=name)
    (needed,) = [caption.value for caption in app.caption if caption.value.startswith(system)]
    assert "is not installed in its runtime" in texts(app)
    assert needed.startswith(f"{system} on Spark 4.3.0 ") and says in needed


def test_a_sound_checkpoint_is_said_to_be_sound(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job="post_engagement_split", examine="yes")
    assert "Nothing is damaged." in texts(app)
    assert "doctor_rewind" not in {button.key for button in app.button}
    assert "Nothing is damaged." not in texts(clicked(app, "doctor_close"))


def test_a_checkpoint_with_nothing_left_leads_to_a_savepoint(opened: Opener) -> None:
    face = FakeFace.sample()
    face.saved("post_engagement_split")
    diagnosis = samples.diagnosis("post_engagement_split", "/c", damaged=True)
    face.answers(Diagnose, lambda _: [replace(diagnosis, restorable=())])
    app = opened(face, "job", job="post_engagement_split", examine="yes")
    assert "no batch" in texts(app)
    app = clicked(app, "doctor_savepoint")
    assert app.radio(key="resume_way").value == resume.SAVEPOINT


def test_forget_says_what_goes_and_leaves_the_page(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Forget)
    app = opened(face, "job", job="post_events")
    asked = app.button(key="forget").click().run()
    assert "It cannot be undone" in texts(asked)
    assert "has no savepoint" in texts(asked)
    app = agreed(app, "forget")
    assert face.begun == [Forget("post_events")]
    assert selected(app, "job") == ""


def test_a_failed_run_says_its_class_and_what_to_do(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "job", job="post_engagement_split"))
    assert "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" in words
    assert "The code expects another state" in words


def test_a_script_without_queries_has_no_empty_charts(opened: Opener) -> None:
    app = opened(script(), "job", job=JOB)
    assert not panels(app)
    assert "starts no streaming query" in texts(app)
    assert "Savepoint" not in labels(app)


def test_no_job_and_an_unknown_one(opened: Opener) -> None:
    assert "No job is chosen" in texts(opened(FakeFace.sample(), "job"))
    assert "job.not_found" in texts(opened(FakeFace.sample(), "job", job="nothing"))


def test_marks_are_savepoints_versions_and_restarts() -> None:
    face = FakeFace.sample()
    first = face.runs[JOB][0]
    again = replace(first, id=RunId("r-2"), created_ms=NOW_MS - 1_000, started_ms=NOW_MS - 900)
    changed = replace(first, id=RunId("r-3"), version=VersionId("v-other"), created_ms=NOW_MS - 500, started_ms=NOW_MS - 400)
    marks = marks_of([changed, again, first], face.ask(ListSavepoints(JOB)), NOW_MS - 700_000)
    assert sorted(mark.kind for mark in marks) == ["restart", "savepoint", "savepoint", "version", "version"]
    assert [mark.kind for mark in marks_of([first], [], NOW_MS)] == []


@pytest.mark.parametrize(
    ("code", "message", "reason", "begins"),
    [
        ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "", "failed", "The code expects another state"),
        ("PATH_NOT_FOUND", "", "failed", "A path that the job"),
        ("ValueError", "", "failed", "The code itself"),
        ("", "", "killed", "The driver was killed"),
        ("SOMETHING_NEW", "", "failed", "Read the end of the log"),
    ],
)
def test_hints(code: str, message: str, reason: str, begins: str) -> None:
    assert failure.hint(code, message, reason).startswith(begins)


def test_versions_mark_changes() -> None:
    html = versions.changes({"a": "1", "b": "2"}, {"a": "0", "c": "3"}, "none")
    assert '<tr class="changed"><th>a</th>' in html
    assert '<tr class="new"><th>b</th>' in html
    assert '<tr class="gone"><th>c</th>' in html
    assert "none" in versions.changes({}, None, "none")


def test_a_fork_is_compared_with_where_it_came_from(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "job", job="post_engagement_split", tab="Versions"))
    assert "+1" in words
    assert "fork of post_engagement" in words


def test_where_a_fork_came_from_says_what_became_of_its_state(opened: Opener) -> None:
    face = FakeFace.sample()
    face.went_on("post_engagement_split", samples.edge("sp-000000000002"))
    versions_tab = opened(face, "job", job="post_engagement_split", tab="Versions")
    words = texts(versions_tab)
    for part in ("Forked from sp-000000000002 of post_engagement", "sum(2 * n) now", "counts.1 was dropped", "which begins with 0"):
        assert part in words
    assert words.count('<span class="tm-chip orange"') >= 2, "in the head, and beside its code"
    assert column(versions_tab, "runs", "Its state") == ["changed meaning, rewritten, without counts.1"]
    of_run = texts(opened(face, "job", job="post_engagement_split", tab="Configuration"))
    assert "savepoint sp-000000000002 of post_engagement – changed meaning, rewritten, without counts.1: counts" in of_run
    assert "Forked from" not in texts(opened(FakeFace.sample(), "job", job="post_engagement_split", tab="Versions")), "nobody noted it"


def test_phases_fill_the_batch() -> None:
    html = batches.phase_bars({"addBatch": 700.0, "other": 50.0}, 1_000.0)
    assert "width:70.00%" in html
    assert "everything else" in html
    assert "250 ms" in html


def test_a_starting_job_may_still_stream() -> None:
    detail = script().ask(ShowJob(JOB))
    assert not header.streams(detail)
    assert header.streams(replace(detail, summary=replace(detail.summary, state=RunState.STARTING)))


def test_the_tab_stands_in_the_address(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Logs")
    assert selected(app, "tab") == "Logs"


def test_its_state_is_a_click_away(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB, tab="State")
    [(name, rows)] = tables(app).items()
    assert (name, rows) == ("states", [state.title for state in face.ask(ListStates(face.ask(ListSavepoints(JOB))[0].id))])
    clicked(app, "state_newest")
    assert face.begun == [Take(JOB)]


def test_without_a_savepoint_the_way_to_state_is_one(opened: Opener) -> None:
    assert "No savepoint to look into" in texts(opened(FakeFace.sample(), "job", job="post_events", tab="State"))
