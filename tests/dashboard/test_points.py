"""The batches that Spark still keeps: found by click, number, time and event time; savepoint, fork and rewind from there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.drawing.retention import Axis, newest_until, of_batch
from dashboard.views.job import resume
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import RetainedBatch
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from tests.afterwards import follow
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import NOW_MS, QUERY, FakeFace

JOB, STOPPED = "post_engagement", "post_events"
EARLY_MS = NOW_MS - 60_000
"""Before every batch of the sample was committed."""
KEPT = [
    RetainedBatch(QUERY, 3, 1_000, 0, 1_700),
    RetainedBatch(QUERY, 4, 2_000, 500, 2_700),
    RetainedBatch(QUERY, 5, 3_000, 500, 3_700),
    RetainedBatch(QUERY, 6, 4_000, 900, 4_700),
]


@pytest.mark.parametrize(
    ("axis", "at_ms", "batch"),
    [
        (Axis.CLOCK, 1_699, None),
        (Axis.CLOCK, 1_700, 3),
        (Axis.CLOCK, 4_699, 5),
        (Axis.CLOCK, 99_999, 6),
        (Axis.EVENT, 499, None),
        (Axis.EVENT, 500, 5),
        (Axis.EVENT, 10_000, 6),
    ],
)
def test_the_newest_batch_at_or_before_a_moment(axis: Axis, at_ms: int, batch: int | None) -> None:
    newest_batch = newest_until(KEPT, axis, at_ms)
    assert (newest_batch.batch if newest_batch else None) == batch


def test_a_batch_that_was_planned_before_another_and_committed_after_it_is_the_newer() -> None:
    slow = RetainedBatch(QueryName("slow"), 1, 500, 0, 3_000)
    assert newest_until([*KEPT, slow], Axis.CLOCK, 2_999) == KEPT[1]
    assert newest_until([*KEPT, slow], Axis.CLOCK, 3_000) == slow


def test_a_batch_has_a_number() -> None:
    assert of_batch(KEPT, 4) == KEPT[1]
    assert of_batch(KEPT, 7) is None


@pytest.mark.parametrize(
    ("typed", "axis", "point"),
    [
        ("8", "clock", "counts:8"),
        ("2027-01-15T07:59:45Z", "clock", "counts:7"),
        ("2027-01-15T08:00:00Z", "clock", "counts:9"),
        ("2027-01-15T07:59:00Z", "event", "counts:9"),
    ],
)
def test_a_batch_is_found_by_what_is_typed(opened: Opener, typed: str, axis: str, point: str) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Savepoints", axis=axis)
    app.text_input(key="point_typed").set_value(typed).run()
    assert selected(app, "batch") == point


@pytest.mark.parametrize(
    ("typed", "said_of_it"),
    [
        ("3", "Batch 3 is not kept"),
        ("soon", "neither a batch nor a time"),
        ("2020-01-01", "No batch that is kept was committed by 2020-01-01"),
    ],
)
def test_what_cannot_be_found_is_said_and_stays(opened: Opener, typed: str, said_of_it: str) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Savepoints", batch="counts:8")
    app.text_input(key="point_typed").set_value(typed).run()
    assert said_of_it in texts(app)
    assert app.text_input(key="point_typed").value == typed
    assert selected(app, "batch") == "counts:8"


def test_a_running_job_is_not_rewound(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="Savepoints", batch="counts:8")
    assert app.button(key="point_rewind").disabled
    assert "stop it first" in app.button(key="point_rewind").help


def test_a_stopped_job_is_rewound_after_its_plan(opened: Opener) -> None:
    face = FakeFace.sample()
    app = asked(opened(face, "job", job=STOPPED, tab="Savepoints", batch="counts:8"), "point_rewind")
    words = texts(app)
    for part in ("begins again after batch 8", "12 files, 2.0 MB", "so nothing is lost", "a warning"):
        assert part in words
    assert face.begun == []
    app = answered(app, "point_rewind", "rewind_yes")
    assert face.begun == [Resume(STOPPED, batch=8)]


def test_a_fork_from_a_batch_takes_it_first(opened: Opener) -> None:
    face = follow(FakeFace.sample(), Take)
    app = clicked(opened(face, "job", job=JOB, tab="Savepoints", batch="counts:8"), "point_fork")
    assert face.begun[0] == Take(JOB, batch=8)
    assert selected(app, "savepoint") == face.ask(ListSavepoints(JOB))[0].id


@pytest.mark.parametrize(
    ("axis", "late_ms", "take"),
    [
        ("clock", NOW_MS - 60_000, Take(JOB, batch={"counts": 8, "late": 2})),
        ("event", NOW_MS - 90_000, Take(JOB, batch={"counts": 8, "late": 2})),
        ("clock", NOW_MS, Take(JOB, at_ms=NOW_MS - 9_300)),
        ("event", NOW_MS, Take(JOB, event_ms=NOW_MS - 60_000)),
    ],
)
def test_several_queries_are_taken_at_the_chosen_batch(opened: Opener, axis: str, late_ms: int, take: Take) -> None:
    face = FakeFace.sample()
    late = [RetainedBatch(QueryName("late"), 2, EARLY_MS, late_ms, late_ms), RetainedBatch(QueryName("late"), 301, NOW_MS, NOW_MS, NOW_MS)]
    kept = [*(replace(batch, committed_ms=batch.timestamp_ms + 700) for batch in face.ask(ListRetained(JOB))), *late]
    face.answers(ListRetained, lambda _: kept)
    app = opened(face, "job", job=JOB, tab="Savepoints", batch="counts:8", axis=axis)
    assert "<b>Batch 8 of counts</b> 1 batch before the newest" in texts(app)
    clicked(app, "point_take")
    assert face.begun == [take]


@pytest.mark.parametrize(("late_ms", "target"), [(NOW_MS - 60_000, {"counts": 8, "late": 2}), (NOW_MS, None)])
def test_several_queries_are_rewound_to_a_moment(opened: Opener, late_ms: int, target: dict[str, int] | None) -> None:
    face = FakeFace.sample()
    kept = [
        *face.ask(ListRetained(STOPPED)),
        RetainedBatch(QueryName("late"), 2, EARLY_MS, 0, late_ms),
        RetainedBatch(QueryName("late"), 3, NOW_MS, 0, NOW_MS),
    ]
    face.answers(ListRetained, lambda _: kept)
    app = opened(face, "job", job=STOPPED, tab="Savepoints", batch="counts:8")
    if target is None:
        assert app.button(key="point_rewind").disabled and "keeps no batch that is as old" in app.button(key="point_rewind").help
        return
    app = asked(app, "point_rewind")
    assert "begins again after batch 8 of counts and batch 2 of late" in texts(app)
    answered(app, "point_rewind", "rewind_yes")
    assert face.begun == [Resume(STOPPED, batch=target)]


def test_of_several_queries_a_batch_of_each_is_chosen(opened: Opener) -> None:
    face = FakeFace.sample()
    kept = [
        *face.ask(ListRetained(STOPPED)),
        RetainedBatch(QueryName("late"), 2, NOW_MS, 0, NOW_MS),
        RetainedBatch(QueryName("late"), 3, NOW_MS, 0, NOW_MS),
    ]
    face.answers(ListRetained, lambda _: kept)
    app = asked(opened(face, "job", job=STOPPED), "resume", resume_way=resume.BATCH, resume_batch_counts=7)
    assert any("--batch counts=7 --batch late=3" in block.value for block in app.code)
    answered(app, "resume", "resume_yes")
    assert face.begun[-1] == Resume(STOPPED, batch={"counts": 7, "late": 3})
