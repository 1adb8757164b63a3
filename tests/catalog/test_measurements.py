from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.catalog import health, jobs, progress, rebuild, runs, savepoints, sizes, summaries
from pipelines.catalog import idle as idle_rows
from pipelines.catalog.connection import Catalog, scratch
from pipelines.catalog.idle import IdleMoment
from pipelines.catalog.migrations import apply, steps
from pipelines.catalog.sizes import CheckpointSize
from pipelines.domain.errors import NotFound
from pipelines.domain.findings import Problem
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import QuerySeen
from pipelines.domain.lockstep import Lead
from pipelines.domain.runs import RunState
from pipelines.domain.sources import Backlog
from pipelines.domain.triggers import Trigger, TriggerKind
from tests.catalog.making import RUN, A, batch, job, run, savepoint

NOW = 100_000_000
MINUTE = 60_000


def size(at_ms: int, checkpoint_bytes: int, run: str = "r-1") -> CheckpointSize:
    return CheckpointSize(A, RunId(run), at_ms, checkpoint_bytes, checkpoint_bytes, 0, 0)


def test_reading_a_file_twice_doubles_nothing(catalog: Catalog) -> None:
    rows = [batch(n, n * 1000, late_rows=1) for n in range(20)]
    with catalog.writing() as writer:
        progress.append(writer, rows[:12] + rows[5:8])
    with catalog.writing() as writer:
        progress.append(writer, rows[8:])
        progress.append(writer, [])
        sizes.append(writer, [size(1, 5), size(1, 5)])
        sizes.append(writer, [size(1, 5), size(2, 6)])
    with catalog.reading() as reader:
        assert rebuild.counts(reader)["progress"] == 20
        assert rebuild.counts(reader)["sizes"] == 2
        assert reader.execute("SELECT batch, late_rows FROM latest_progress").fetchall() == [(19, 20)]
        assert reader.execute("SELECT checkpoint_bytes FROM latest_size").fetchall() == [(6,)]


def test_the_same_batch_of_another_start_is_another_row(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(1, 1), batch(1, 1, spark_run_id="spark-2"), batch(1, 1, query="r", query_id="id-r")])
        assert rebuild.counts(writer)["progress"] == 3


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=5))
def test_however_it_is_cut_the_catalog_holds_each_batch_once(chunks: list[list[int]]) -> None:
    with scratch(memory_limit="256MB") as db:
        apply(db, steps(), len(steps()))  # type: ignore[arg-type]
        for chunk in chunks:
            progress.append(db, [batch(n, 1000 + n, late_rows=n) for n in chunk])  # type: ignore[arg-type]
        batches = sorted({n for chunk in chunks for n in chunk})
        assert [n for (n,) in db.execute("SELECT batch FROM progress ORDER BY 1").fetchall()] == batches
        latest = db.execute("SELECT batch, late_rows, at_ms FROM latest_progress").fetchall()
        assert latest == ([(batches[-1], sum(batches), 1000 + batches[-1])] if batches else [])


def test_a_summary_of_a_running_job(catalog: Catalog) -> None:
    old = [batch(n, NOW - 30 * MINUTE + n, batch_ms=90_000.0) for n in range(5)]
    durations = [float(100 + n) for n in range(101)]
    fresh = [
        batch(10 + n, NOW - 5 * MINUTE + n * 1000, batch_ms=ms, input_rate=7.0, processed_rate=9.0, late_rows=1)
        for n, ms in enumerate(durations)
    ]
    last = batch(
        111, NOW - 1000, batch_ms=150.0, event_max_ms=NOW - 3000, watermark_ms=NOW - 9000, state_rows=5, state_bytes=50, input_rate=8.0
    )
    quiet = batch(112, NOW - 500, batch_ms=150.0, input_rate=3.0)
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-0", state=RunState.FAILED, created_ms=10), run("r-1")])
        runs.save_queries(
            writer, [(A, RUN, QuerySeen("q", "id-q", "parquet", "", "", "")), (A, RunId("r-0"), QuerySeen("p", "", "", "", "", ""))]
        )
        progress.append(writer, [*old, *fresh, last, quiet])
        sizes.append(writer, [size(NOW - 2000, 400), size(NOW - 9000, 300)])
        savepoints.save(writer, [savepoint("sp-1", created_ms=77), savepoint("sp-2", created_ms=88)])
    with catalog.reading() as reader:
        (summary,) = summaries.listed(reader, NOW)
        detail = summaries.detail(reader, NOW, "a")
    assert (summary.state, summary.queries, summary.batch, summary.restarts) == (RunState.RUNNING, 1, 112, 1)
    assert (summary.batch_ms_p50, summary.batch_ms_p99) == (150.0, pytest.approx(198.98, abs=0.05))
    assert 1 < len(summary.latency) <= 60
    assert max(summary.latency) == 200.0
    assert (summary.input_rate, summary.processed_rate) == (3.0, 20.0)
    assert (summary.lag_ms, summary.watermark_ms) == (3000, NOW - 9000)
    assert (summary.late_rows, summary.state_rows, summary.state_bytes, summary.checkpoint_bytes) == (101, 5, 50, 400)
    assert (summary.last_progress_ms, summary.savepoints, summary.last_savepoint_ms) == (NOW - 500, 2, 88)
    assert detail.summary == summary
    assert [seen.query for seen in detail.queries] == ["q"]
    assert [job_run.id for job_run in detail.runs] == ["r-1", "r-0"]


def test_jobs_are_listed_worst_first(catalog: Catalog) -> None:
    states = {
        "ok": RunState.RUNNING,
        "late": RunState.RUNNING,
        "later": RunState.RUNNING,
        "broken": RunState.FAILED,
        "done": RunState.STOPPED,
    }
    lags = {"late": 2 * MINUTE, "later": 3 * MINUTE, "done": 9 * MINUTE, "ok": 0}
    with catalog.writing() as writer:
        jobs.save(writer, [job(name) for name in (*states, "new")])
        runs.save(writer, [run(f"r-{name}", name, state) for name, state in states.items()])
        rows = [(name, batch(1, NOW - 1000, batch_ms=0.0, event_max_ms=NOW - 1000 - lag)) for name, lag in lags.items()]
        progress.append(writer, [(JobName(name), RunId(f"r-{name}"), p, "[]") for name, (_, _, p, _) in rows])
    with catalog.reading() as reader:
        job_summaries = summaries.listed(reader, NOW)
        overview = health.health(reader, NOW, job_summaries)
        assert health.health(reader, NOW) == overview
    assert [summary.job.name for summary in job_summaries] == ["broken", "later", "late", "done", "new", "ok"]
    by_name = {summary.job.name: summary for summary in job_summaries}
    assert by_name["done"].lag_ms is None
    assert by_name["done"].last_progress_ms == NOW - 1000
    assert (by_name["new"].state, by_name["new"].batch, by_name["new"].restarts) == (None, None, 0)
    assert (overview.jobs, overview.running, overview.failed, overview.input_rate) == (6, 3, 1, 30.0)
    assert (overview.worst_lag_job, overview.worst_lag_ms) == ("later", 3 * MINUTE + 1000)
    with pytest.raises(NotFound), catalog.reading() as reader:
        summaries.detail(reader, NOW, "missing")


def test_lag_grows_while_no_batch_ends_and_old_rates_are_not_shown(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        waiting = (Backlog(0, "clicks", 50, "rows"),)
        rows = [batch(at, NOW - (10 - at) * MINUTE, batch_ms=0.0, event_max_ms=NOW - 10 * MINUTE, backlog=waiting) for at in range(2)]
        progress.append(writer, rows)
        (stalled,) = summaries.listed(writer, NOW)
        (fresh,) = summaries.listed(writer, NOW - 8 * MINUTE)
    assert (fresh.lag_ms, fresh.input_rate) == (2 * MINUTE, 10.0)
    assert (stalled.lag_ms, stalled.input_rate, stalled.processed_rate) == (10 * MINUTE, None, None)
    assert [finding.problem for finding in stalled.findings] == [Problem.NO_PROGRESS]
    assert [(fresh.backlog[0].per_second, stalled.backlog[0].per_second)] == [(0.0, None)], "nobody works it off"


@pytest.mark.parametrize(
    ("beats", "idle"),
    [
        ([], False),
        ([NOW - 20 * MINUTE], False),
        ([NOW - 5_000], True),
        ([NOW - 3 * MINUTE], False),
        ([NOW - 7 * MINUTE, NOW - 3 * MINUTE], True),
    ],
    ids=["never", "before its last batch", "just now", "long ago", "as seldom as always"],
)
def test_a_job_is_idle_as_long_as_its_driver_says_so(catalog: Catalog, beats: list[int], idle: bool) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        runs.save_queries(writer, [(A, RUN, QuerySeen("q", "id-q", "parquet", "", "", ""))])
        progress.append(writer, [batch(1, NOW - 9 * MINUTE, batch_ms=1_000.0, event_max_ms=NOW - 10 * MINUTE)])
        for beat in beats:
            idle_rows.append(writer, [IdleMoment(A, RunId("r-1"), "id-q", beat)])
        (summary,) = summaries.listed(writer, NOW)
    assert summary.idle_since_ms == (NOW - 9 * MINUTE + 1_000 if idle else None)
    assert (summary.lag_ms, summary.findings == ()) == (MINUTE + 1_000 if idle else 10 * MINUTE, idle)


def test_one_idle_query_beside_another_does_not_make_the_job_idle(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        runs.save_queries(writer, [(A, RUN, QuerySeen(query, f"id-{query}", "parquet", "", "", "")) for query in ("q", "hangs")])
        progress.append(writer, [batch(1, NOW - 9 * MINUTE), batch(1, NOW - 9 * MINUTE, query="hangs", query_id="id-hangs")])
        idle_rows.append(writer, [IdleMoment(A, RUN, "id-q", NOW - 5_000)])
        (hangs,) = summaries.listed(writer, NOW)
        idle_rows.append(writer, [IdleMoment(A, RUN, "id-hangs", NOW - 4_000)])
        (rests,) = summaries.listed(writer, NOW)
    assert hangs.idle_since_ms is None
    assert [finding.problem for finding in hangs.findings] == [Problem.NO_PROGRESS]
    assert (rests.idle_since_ms, rests.findings) == (NOW - 9 * MINUTE + 500, ()), "each of them says that it is idle"


@pytest.mark.parametrize("chunks", [1, 3, 60])
def test_the_usual_gap_is_learnt_and_one_long_night_counts_little(catalog: Catalog, chunks: int) -> None:
    times = [NOW - 24 * 60 * MINUTE + 10_000 * n for n in range(60)]
    rows = [batch(n, at) for n, at in enumerate(times)]
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        for start in range(0, 60, 60 // chunks):
            progress.append(writer, rows[start : start + 60 // chunks])
        (before,) = summaries.listed(writer, NOW)
        progress.append(writer, [batch(60, NOW)])
        (after,) = summaries.listed(writer, NOW)
    assert before.gap_ms == before.usual_gap_ms == pytest.approx(10_000)
    assert after.gap_ms is not None and 10_000 < after.gap_ms < 20_000


@pytest.mark.parametrize(
    ("triggers", "told"),
    [
        ([Trigger(TriggerKind.PROCESSING_TIME, 60_000)], Trigger(TriggerKind.PROCESSING_TIME, 60_000)),
        ([Trigger(TriggerKind.ONCE)] * 2, Trigger(TriggerKind.ONCE)),
        ([Trigger(TriggerKind.PROCESSING_TIME, 60_000), Trigger(TriggerKind.PROCESSING_TIME, 5_000)], None),
        ([Trigger(TriggerKind.PROCESSING_TIME, 60_000), None], None),
        ([None], None),
    ],
)
def test_the_trigger_is_told_where_all_queries_have_the_same(
    catalog: Catalog, triggers: list[Trigger | None], told: Trigger | None
) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        seen = [QuerySeen(f"q{n}", f"id-{n}", "parquet", "", "", "", trigger) for n, trigger in enumerate(triggers)]
        runs.save_queries(writer, [(A, RUN, query) for query in seen])
        (summary,) = summaries.listed(writer, NOW)
    assert summary.trigger == told


def test_a_failed_job_keeps_the_rates_and_the_lag_of_its_last_batch(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1", state=RunState.FAILED)])
        progress.append(writer, [batch(0, NOW - 3 * 3_600_000, batch_ms=9_000.0), batch(1, NOW - 3_660_000, batch_ms=700.0)])
        progress.append(writer, [batch(2, NOW - 3_600_000, input_rate=7.0, processed_rate=9.0, event_max_ms=NOW - 3_602_000)])
        (failed,) = summaries.listed(writer, NOW)
    assert (failed.input_rate, failed.processed_rate, failed.lag_ms, failed.backlog) == (7, 9, 2_500, ())
    assert (failed.batch_ms_p50, failed.latency) == (600.0, (700.0, 500.0)), "of the ten minutes before its last batch"


def test_the_backlog_of_all_sources_and_how_it_changes(catalog: Catalog) -> None:
    """Of the newest run alone, by unit; a source that has told once does not say whether it grows."""
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        told = [
            (Backlog(0, "kafka", 900 - 10 * at, "rows"), Backlog(1, "rate", 50, "rows"), Backlog(2, "files", 7, "files")) for at in range(4)
        ]
        progress.append(writer, [batch(at, NOW - 60_000 + 10_000 * at, backlog=waiting) for at, waiting in enumerate(told)])
        progress.append(writer, [batch(9, NOW - 5_000, query="p", query_id="id-p", backlog=(Backlog(0, "more", 30, "offsets"),))])
        (summary,) = summaries.listed(writer, NOW)
    assert [(waiting.unit, waiting.amount) for waiting in summary.backlog] == [("files", 7), ("offsets", 30), ("rows", 920)]
    assert [waiting.per_second for waiting in summary.backlog] == [0, None, -1]


@pytest.mark.parametrize(
    ("lags_s", "change"),
    [
        ([7_800, 7_700, 7_600, 7_500], -10),
        ([7_800, 7_500, 7_900, 7_600], 0),
        ([*range(8_000, 10_000, 100), *range(9_900, 8_500, -100)], -10),
        ([50, 40, 30, 20], None),
    ],
    ids=["falls", "varies", "has turned", "is short"],
)
def test_how_the_lag_changes_and_when_it_will_be_caught_up(catalog: Catalog, lags_s: list[int], change: float | None) -> None:
    """A batch every ten seconds: what varies more than it changes does not change; the last two minutes are heard first; below a minute
    nobody asks."""
    ends = [NOW + 10_000 * (at + 1 - len(lags_s)) for at in range(len(lags_s))]
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        told = enumerate(zip(ends, lags_s, strict=True))
        progress.append(writer, [batch(at, end, batch_ms=0.0, event_max_ms=end - 1_000 * lag) for at, (end, lag) in told])
        (summary,) = summaries.listed(writer, NOW)
    assert summary.lag_change == (None if change is None else pytest.approx(change, abs=1e-6))
    catching, problems = summary.catching_up, [finding.problem for finding in summary.findings]
    assert (catching is not None) is (problems == [Problem.CATCHING_UP]) is (change == -10)
    assert catching is None or (catching.behind_ms, catching.left_ms) == (1_000 * lags_s[-1], pytest.approx(100 * lags_s[-1], rel=1e-6))


def test_a_job_that_ends_at_batches_of_its_leaders_has_as_many_left_as_its_slowest_query(catalog: Catalog) -> None:
    """`late` is where it ends already, and never has a batch; how far its events are behind the clock is nothing to attend to."""
    until = {"q": 9, "p": 9, "late": 4}
    with catalog.writing() as writer:
        jobs.save(writer, [replace(job("a"), lead=Lead(JobName("leader"), "/checkpoints", until=until))])
        runs.save(writer, [run("r-1")])
        for query, newest in (("q", 8), ("p", 5)):
            told = [(at, NOW - 2_000 * (newest + 1 - at)) for at in range(newest + 1)]
            progress.append(writer, [batch(at, ms, query=query, query_id=query, event_max_ms=1) for at, ms in told])
        (summary,) = summaries.listed(writer, NOW)
    assert summary.catching_up is not None
    assert (summary.catching_up.batches, summary.catching_up.left_ms) == (4, pytest.approx(8_000))
    assert [finding.problem for finding in summary.findings] == [Problem.CATCHING_UP]


def test_a_resumed_run_counts_its_own_late_rows(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(1, 1000, late_rows=5, watermark_ms=77)])
        _, _, resumed, _ = batch(2, 2000, late_rows=2, spark_run_id="spark-2")
        progress.append(writer, [(A, RunId("r-2"), resumed, "[]")])
        assert writer.execute("SELECT run, batch, late_rows, watermark_ms FROM latest_progress").fetchall() == [("r-2", 2, 2, 77)]


def test_queries_and_rates_of_an_earlier_run_are_not_counted(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1", state=RunState.STOPPED), run("r-2", state=RunState.STARTING, created_ms=2000)])
        progress.append(writer, [batch(7, NOW - 2000, query="a-renamed", state_rows=9, event_max_ms=1)])
        (starting,) = summaries.listed(writer, NOW)
        _, _, resumed, _ = batch(8, NOW - 1000, state_rows=1)
        progress.append(writer, [(A, RunId("r-2"), resumed, "[]")])
        (running,) = summaries.listed(writer, NOW)
    assert (starting.batch, starting.state_rows, starting.input_rate, starting.lag_ms) == (7, 9, None, None)
    assert (running.batch, running.state_rows, running.input_rate) == (8, 1, 10.0)


def test_health_lines_cover_fifteen_minutes(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a"), job("b")])
        runs.save(
            writer,
            [run("r-1", created_ms=NOW - 10 * MINUTE), run("r-2", "b", RunState.STOPPED, NOW - 14 * MINUTE, ended_ms=NOW - 5 * MINUTE)],
        )
        progress.append(writer, [batch(1, NOW - 1, input_rows=300, batch_ms=250.0, event_max_ms=NOW - 1001), batch(2, NOW, input_rows=15)])
        savepoints.save(
            writer, [savepoint("sp-1", created_ms=NOW - 20 * MINUTE, bytes=10), savepoint("sp-2", created_ms=NOW - MINUTE, bytes=5)]
        )
    with catalog.reading() as reader:
        overview = health.health(reader, NOW)
    lines = (overview.t, overview.running_line, overview.input_line, overview.batch_line, overview.lag_line, overview.storage_line)
    assert [len(line) for line in lines] == [60] * 6
    assert (overview.t[-1], overview.t[0]) == (NOW, NOW - 59 * 15_000)
    assert (overview.running_line[0], overview.running_line[30], overview.running_line[-1]) == (0, 2, 1)
    assert overview.input_line[-2:] == (0.0, 21.0)
    assert (overview.batch_line[-2:], overview.lag_line[-1]) == ((None, 500.0), 1250.0)
    assert (overview.storage_line[0], overview.storage_line[-1], overview.savepoints, overview.savepoint_bytes) == (10, 15, 2, 15)


def test_health_of_an_empty_workspace(catalog: Catalog) -> None:
    with catalog.reading() as reader:
        overview = health.health(reader, NOW)
        assert summaries.listed(reader, NOW) == []
    assert (overview.jobs, overview.input_rate, overview.worst_batch_ms_p99, overview.worst_lag_job, overview.storage_line[0]) == (
        0,
        0.0,
        None,
        "",
        0,
    )
