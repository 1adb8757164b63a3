"""The overview: what it counts, what it says needs attention, what its table lets through."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.components.table import Cell
from dashboard.health import health
from dashboard.views.overview import ACTIONS, _more, table
from dashboard.views.overview.attention import NEXT_STEPS, Alert, Group, alerts, grouped
from dashboard.views.overview.figures import backlog_of, running_of
from pipelines.domain.errors import Unavailable
from pipelines.domain.experiments import Health
from pipelines.domain.findings import Problem
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.domain.sources import Waiting
from pipelines.domain.versions import version
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowHealth, StartExample
from pipelines.verbs.take import Take
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, clicked, selected, tables, texts
from tests.faces import NOW_MS, FakeFace, judged


def summary(**changes: Any) -> JobSummary:
    """The sample's running job, changed."""
    return replace(next(job for job in FakeFace.sample().ask(ListJobs()) if job.state is RunState.RUNNING), **changes)


def shown(app: AppTest) -> list[str]:
    """Names in the table of jobs."""
    return tables(app)["jobs"]


def test_an_empty_workspace_offers_the_example(opened: Opener) -> None:
    face = follow(FakeFace(), StartExample)
    app = opened(face, "overview")
    assert "No jobs yet" in texts(app)
    assert "keeps versions of their state" in texts(app)
    app = clicked(app, "start_example")
    assert StartExample() in face.begun
    assert "No jobs yet" not in texts(app)


def test_it_counts_and_says_what_failed(opened: Opener) -> None:
    words = texts(opened(FakeFace.sample(), "overview"))
    for part in ("3 jobs", "1 / 3", "1 failed", "120", "850 ms", "9.00 s", "4.0 MB", "2 savepoints"):
        assert part in words
    assert "post_engagement_split" in words
    assert words.count('<a class="tm-plain" href=') >= 2, "a figure that names a job leads to it"
    assert "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" in words


def test_a_job_whose_code_does_not_fit_its_state_is_not_resumed_as_it_is(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "overview")
    assert "do_resume_post_engagement_split" not in [button.key for button in app.button]
    clicked(app, "do_inspect_post_engagement_split")
    assert face.begun == []


def test_a_failed_job_is_resumed_from_there(opened: Opener) -> None:
    face = FakeFace.sample()
    face.ended("post_engagement_split", RunState.FAILED, Exit("failed", 1, "OutOfMemoryError", "heap", samples.NOW_MS))
    clicked(opened(face, "overview"), "do_resume_post_engagement_split")
    assert face.begun == [Resume("post_engagement_split")]


def test_the_table_is_filtered_by_state_and_words(opened: Opener) -> None:
    assert shown(opened(FakeFace.sample(), "overview")) == ["post_engagement", "post_engagement_split", "post_events"]
    assert shown(opened(FakeFace.sample(), "overview", state="Failed")) == ["post_engagement_split"]
    assert shown(opened(FakeFace.sample(), "overview", filter="events")) == ["post_events"]
    assert shown(opened(FakeFace.sample(), "overview", filter="events", state="Failed")) == []


def test_the_range_stands_in_the_address(opened: Opener) -> None:
    face, asked = FakeFace.sample(), list[int]()
    health = face.ask(ShowHealth())

    def watched(question: ShowHealth) -> Any:
        asked.append(question.span_ms)
        return health

    face.answers(ShowHealth, watched)
    opened(face, "overview", range="6h")
    assert asked[-1] == 6 * 3_600_000


def test_an_error_is_shown_as_such(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(ListJobs, Unavailable("catalog.away", "The catalog is away.", "Wait."))
    assert "catalog.away" in texts(opened(face, "overview"))


def test_five_hundred_jobs_a_page_at_a_time_in_the_order_of_the_address(opened: Opener) -> None:
    face = FakeFace()
    for number in range(500):
        face.began(f"job_{number:03d}", version("a.py", "pass\n"))
    assert shown(opened(face, "overview")) == [f"job_{number:03d}" for number in range(100)]
    assert shown(opened(face, "overview", page="5"))[-1] == "job_499"
    assert shown(opened(face, "overview", page="99"))[0] == "job_400"
    assert shown(opened(face, "overview", sort="Job.down"))[0] == "job_499"
    assert shown(opened(face, "overview", sort="Job.down", filter="job_00"))[0] == "job_009"
    assert shown(opened(face, "overview", sort="nonsense", page="x"))[0] == "job_000"


def test_states_are_counted_and_a_click_filters(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "overview")
    assert [app.button(key=f"state_{name}").label for name in ("all", "running", "failed", "stopped")] == [
        "All **3**",
        "Running **1**",
        "Failed **1**",
        "Stopped **1**",
    ]
    app = clicked(app, "state_failed")
    assert (shown(app), selected(app, "state")) == (["post_engagement_split"], "Failed")
    assert selected(clicked(app, "state_all"), "state") == ""


def test_numbers_are_ordered_by_value_and_lines_are_drawn() -> None:
    row = table._row(summary(), NOW_MS)
    cells = dict(zip((column.name for column in table.COLUMNS), row.cells, strict=True))
    assert cells["p99"] == Cell("850 ms", sort=850.0, unit="ms")
    assert cells["Batch latency"].as_json()["l"] == [47, 49, 100]
    assert row.href == "/job?job=post_engagement"


def test_a_cell_says_no_more_than_it_has() -> None:
    assert Cell("a").as_json() == {"t": "a"}
    assert Cell(sort=0.0).as_json() == {"t": "–", "s": 0.0}


def test_the_backlog_says_who_is_furthest_behind() -> None:
    behind, grows = summary(backlog=(Waiting("rows", 60_000, -100.0),)), summary(backlog=(Waiting("bytes", 5_000_000, 1e6),))
    assert (table._backlog(behind).text, table._backlog(grows).text) == ("60.0k rows, 10m 00s", "5.0 MB, growing")
    assert table._backlog(summary(backlog=())).text == "–" and table._backlog(behind).raw == 60_000
    assert table._backlog(behind, past=True).muted and table._backlog(summary(backlog=()), past=True).muted
    order = [table._backlog_order(job) for job in (grows, behind, summary(backlog=(Waiting("rows", 0, 0.0),)), summary(backlog=()))]
    assert order[0] is not None and order[0] > (order[1] or 0) > (order[2] or 0) and order[3] is None
    tile = backlog_of([behind, grows])
    assert (tile.value, tile.note, tile.tone) == ("5.0 MB", "growing: post_engagement", "orange")
    assert tile.href.endswith("?job=post_engagement") and not backlog_of([]).href
    assert backlog_of([behind]).note == "10m 00s left: post_engagement"
    assert (backlog_of([]).value, backlog_of([summary(backlog=(Waiting("rows", 0, 0.0),))]).value) == ("–", "none")


DAY_MS = 86_400_000


def test_each_problem_has_a_next_step() -> None:
    assert set(NEXT_STEPS) == set(Problem) and set(NEXT_STEPS.values()) <= set(ACTIONS)


def test_an_attached_job_is_looked_at_and_never_resumed() -> None:
    watched = summary(state=RunState.WATCHED, last_progress_ms=NOW_MS - DAY_MS)
    (alert,) = alerts([judged(replace(watched, job=replace(watched.job, attached=True)))])
    assert (alert.title, alert.action) == ("no progress", "inspect")


def test_the_state_says_what_is_wrong_and_a_notice_does_not_replace_it() -> None:
    silent, known = judged(summary(last_progress_ms=NOW_MS - 600_000)), summary(last_savepoint_ms=None)
    assert known.run is not None
    assert (health(silent), health(known)) == (("No progress", "orange"), ("Running", "green"))
    proof = Attempt(NOW_MS, NOW_MS, Outcome.FAILED, message="state/0: has 4 rows")
    unproved = judged(replace(known, job=replace(known.job, proved=proof)))
    assert [finding.title for finding in unproved.findings] == ["proof failed"]
    assert health(unproved) == ("Running", "green"), "it says nothing of how the job does"
    assert health(replace(known, idle_since_ms=NOW_MS - 60_000)) == ("Idle", "blue")
    unsaved = judged(replace(known, run=replace(known.run, started_ms=NOW_MS - 3 * DAY_MS)))
    assert [finding.title for finding in unsaved.findings] == ["no savepoint"]
    assert health(unsaved) == ("Running", "green")


def test_the_figure_of_running_jobs_is_green_only_while_all_do_well() -> None:
    def told(*jobs: JobSummary) -> tuple[str, str | None, str]:
        figure = running_of(Health(jobs=len(jobs)), jobs, alerts(jobs))
        return figure.note, figure.tone, figure.href

    def named(name: str, **changes: Any) -> JobSummary:
        known = summary(**changes)
        return judged(replace(known, job=replace(known.job, name=JobName(name))))

    well, quiet, failed = named("well"), named("quiet", last_progress_ms=NOW_MS - 600_000), named("failed", state=RunState.FAILED)
    listed = "/?state=Needs+attention"
    assert told(well) == ("all run", "green", "")
    assert told(well, named("elsewhere", state=RunState.WATCHED)) == ("none stopped", "green", "")
    assert told(well, quiet) == ("1 needs attention", "orange", listed)
    assert told(well, quiet, named("elsewhere", last_progress_ms=NOW_MS - DAY_MS, state=RunState.WATCHED)) == (
        "2 need attention",
        "orange",
        listed,
    )
    assert told(well, quiet, failed) == ("1 failed", "red", "/?state=Failed")
    assert told(well, named("a", state=RunState.STOPPED), named("b", state=None)) == ("2 stopped", "green", "/?state=Stopped")


def test_one_count_of_jobs_stands_everywhere(opened: Opener) -> None:
    """The figure, its link, the chip and the list count the same jobs, also one that runs elsewhere."""
    face = FakeFace.sample()
    elsewhere = replace(silent(1, NOW_MS - 600_000), state=RunState.WATCHED)
    face.answers(ListJobs, [silent(2, NOW_MS - 600_000), elsewhere, summary(state=RunState.STOPPED)])
    app = opened(face, "overview", state="Needs attention")
    assert "2 need attention" in texts(app) and 'href="/?state=Needs+attention"' in texts(app)
    assert app.button(key="state_needs_attention").label == "Needs attention **2**"
    assert len(shown(app)) == 2


def test_what_has_no_line_is_counted_by_jobs() -> None:
    lines: list[Any] = [*grouped(alerts([silent(number, NOW_MS - 3_600_000 * number) for number in (1, 2)]))]
    others = [replace(line, title=f"{at}") for at, line in enumerate(lines * 4)]
    assert "and 1 more job:" not in _more(others) and "3 more lines" in _more(others), "both jobs have a line already"
    assert "and 2 more jobs: choose" in _more([*[replace(line, job=f"x{line.job}") for line in others[:5]], *lines])


def test_damaged_savepoints_and_a_full_disk_come_before_what_can_wait() -> None:
    face = FakeFace.sample()
    damaged = replace(face.ask(ListSavepoints())[0], damaged_files=2, verified_ms=NOW_MS)
    disk = replace(face.ask(ShowHealth()), free_bytes=5, total_bytes=100)
    raised_alerts = alerts([judged(summary(recent_restarts=9))], [damaged, face.ask(ListSavepoints())[1]], disk)
    assert [alert.title for alert in raised_alerts] == ["damaged savepoint", "disk nearly full", "restarting often"]
    assert raised_alerts[0].subject == damaged.id


def silent(number: int, since_ms: int) -> JobSummary:
    known = summary(last_progress_ms=since_ms)
    assert known.run is not None
    return judged(replace(known, job=replace(known.job, name=JobName(f"job_{number}")), run=replace(known.run, started_ms=since_ms)))


def test_alike_findings_are_one_line_with_the_way_to_their_jobs() -> None:
    hour_ago = NOW_MS - 3_600_000
    others = [judged(summary(recent_restarts=9)), silent(7, hour_ago - 9_000_000), silent(8, hour_ago)]
    assert not any(isinstance(line, Group) for line in grouped(alerts(others)))
    together = [silent(number, hour_ago + 1_000 * number) for number in range(4)]
    group, restarting = grouped(alerts([*together, others[0]]))
    assert isinstance(group, Group) and len(group.alerts) == 4 and isinstance(restarting, Alert)
    assert group.words(UTC) == "since 07:00:00, all within a minute: look at what they share (cluster, source)"
    (apart,) = grouped(alerts([*together, others[1]]))
    assert isinstance(apart, Group) and apart.words(UTC) == "since 04:30:00 to 07:00:03"


def test_a_group_lists_its_jobs(opened: Opener) -> None:
    face = FakeFace.sample()
    face.answers(ListJobs, [*(silent(number, NOW_MS - 3_600_000) for number in range(4)), summary()])
    app = clicked(opened(face, "overview"), "list_no progress_")
    assert shown(app) == [f"job_{number}" for number in range(4)]
    assert selected(app, "state") == "Needs attention"


def test_a_job_that_catches_up_says_so_on_the_overview_and_on_its_page(opened: Opener) -> None:
    face = FakeFace.sample()
    behind = judged(summary(lag_ms=7_800_000.0, backlog=(Waiting("rows", 1_200_000, -1_200_000 / 360),), input_rate=40_000.0))
    says = "2h 10m behind in event time, 1.2M rows, 40.0k rows/s, there in about 6m 00s"
    face.answers(ListJobs, [behind])
    words = texts(opened(face, "overview"))
    assert "Catching up" in words and says in words and "1 needs attention" in words
    lag = dict(zip((column.name for column in table.COLUMNS), table._row(behind, NOW_MS).cells, strict=True))["Lag"]
    assert lag.hint == f"catching up: {says}"
    face.answers(ShowJob, replace(face.ask(ShowJob("post_engagement")), summary=behind))
    words = texts(opened(face, "job", job="post_engagement"))
    assert says in words and "there in 6m 00s" in words and "on time" not in words


def test_a_failed_job_keeps_its_last_figures_muted() -> None:
    cells = table._row(summary(state=RunState.FAILED), NOW_MS).cells
    kept = dict(zip((column.name for column in table.COLUMNS), cells, strict=True))
    assert all(kept[name].muted and kept[name].text != "–" for name in ("In /s", "Processed /s", "Lag", "State rows", "State size"))


def test_a_job_that_runs_elsewhere_is_watched_from_the_first_page(opened: Opener) -> None:
    app = opened(FakeFace(), "overview")
    assert "nothing is written to it" in texts(app)
    assert selected(clicked(app, "watch_job"), "source") == "Runs elsewhere"


def test_a_savepoint_is_taken_from_there(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace()
    face.began("counts", version("a.py", "pass\n"))
    face.runs["counts"] = [replace(face.runs["counts"][0], started_ms=NOW_MS - 3 * DAY_MS)]
    monkeypatch.setattr("dashboard.session.now_ms", lambda: float(NOW_MS))
    clicked(opened(face, "overview"), "do_take_counts")
    assert face.begun[-1] == Take("counts")
