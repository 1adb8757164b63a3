from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.catalog import (
    batches,
    events,
    experiments,
    file_positions,
    jobs,
    operations,
    progress,
    rebuild,
    runs,
    savepoints,
    series,
    tree,
    versions,
)
from pipelines.catalog.connection import Catalog
from pipelines.domain.errors import Corrupt, Invalid, NotFound
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import ExperimentId, JobName, OperationId, RunId, SavepointId
from pipelines.domain.jobs import Event, Origin, QuerySeen
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.versions import version
from pipelines.verbs.system import ListEvents
from tests.catalog.making import RUN, A, batch, job, run, savepoint

ORIGIN = Origin(SavepointId("sp-1"), A, ExperimentId("e-1"))
SEEN = QuerySeen("q", "id-q", "parquet", "/out", "/checkpoints/q", "http://ui")
FAILED = Exit("failed", 1, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "it's over", 9)


def test_everything_comes_back_as_it_went_in(catalog: Catalog) -> None:
    some_version = version("job.py", "print('ü')", args=("{output}",), conf={"k": "v"}, created_ms=3)
    some_run = run("r-1", state=RunState.FAILED, ended_ms=9, pid=5, exit=FAILED, from_savepoint=SavepointId("sp-1"))
    experiment = Experiment(ExperimentId("e-1"), "split", SavepointId("sp-1"), (A, JobName("b")), 4)
    operation = Operation(OperationId("o-1"), "stop", A, OperationState.RUNNING, 5)
    with catalog.writing() as writer:
        jobs.save(writer, [job("a", origin=ORIGIN), job("b")])
        versions.save(writer, [some_version])
        runs.save(writer, [some_run])
        runs.save_queries(writer, [(A, RUN, SEEN)])
        savepoints.save(writer, [savepoint("sp-1")])
        experiments.save(writer, [experiment])
        operations.save(writer, [operation])
    with catalog.reading() as reader:
        assert jobs.listed(reader) == [job("a", origin=ORIGIN), job("b")]
        assert jobs.get(reader, "a") == job("a", origin=ORIGIN)
        assert versions.listed(reader) == [some_version]
        assert runs.get(reader, "r-1") == some_run == runs.newest(reader, "a")
        assert runs.queries(reader, "r-1") == [SEEN]
        assert savepoints.get(reader, "sp-1") == savepoint("sp-1")
        assert experiments.get(reader, "e-1") == experiment
        assert experiments.listed(reader) == [experiment]
        assert operations.get(reader, "o-1") == operation
        assert operations.running(reader, "a") == [operation]
        assert operations.running(reader, "b") == []


def test_saving_again_replaces(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        runs.save(writer, [run("r-1", state=RunState.STARTING), run("r-2", state=RunState.FAILED, created_ms=2000)])
        runs.save(writer, [run("r-1", state=RunState.STARTING), run("r-1", state=RunState.RUNNING)])
        runs.save_queries(writer, [(A, RUN, SEEN), (A, RUN, SEEN)])
    with catalog.reading() as reader:
        assert [(r.id, r.state) for r in runs.of_job(reader, "a")] == [("r-2", RunState.FAILED), ("r-1", RunState.RUNNING)]
        assert [r.id for r in runs.live(reader)] == ["r-1"]
        assert runs.queries(reader, "r-1") == [SEEN]


@pytest.mark.parametrize(
    ("get", "code"),
    [
        (jobs.get, "job.not_found"),
        (runs.get, "run.not_found"),
        (savepoints.get, "savepoint.not_found"),
        (experiments.get, "experiment.not_found"),
        (operations.get, "operation.not_found"),
    ],
)
@pytest.mark.parametrize("name", ["missing", ""])
def test_what_is_not_there_is_not_found(catalog: Catalog, get: object, code: str, name: str) -> None:
    with pytest.raises(NotFound) as refused, catalog.reading() as reader:
        get(reader, name)  # type: ignore[operator]
    assert refused.value.code == code
    assert refused.value.hint


def test_a_savepoint_is_found_by_id_beginning_and_path(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        savepoints.save(writer, [savepoint("sp-1"), savepoint("sp-12", created_ms=6000), savepoint("sp-2", of="b")])
    with catalog.reading() as reader:
        assert savepoints.get(reader, "sp-1").id == "sp-1"
        assert savepoints.get(reader, "sp-2").id == "sp-2"
        assert savepoints.get(reader, "/workspace/savepoints/sp-12/").id == "sp-12"
        assert [s.id for s in savepoints.listed(reader)] == ["sp-12", "sp-2", "sp-1"]
        assert [s.id for s in savepoints.listed(reader, "b")] == ["sp-2"]
    with pytest.raises(Invalid) as refused, catalog.reading() as reader:
        savepoints.get(reader, "sp-")
    assert refused.value.code == "savepoint.ambiguous"
    with catalog.writing() as writer:
        savepoints.forget(writer, SavepointId("sp-1"))
        assert savepoints.get(writer, "sp-1").id == "sp-12"


def test_a_writer_reads_then_writes_then_reads(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        for at in (1, 2):
            runs.save(writer, [run("r-1", created_ms=at)])
            file_positions.advance(writer, {"p": file_positions.positions(writer).get("p", 0) + at})
            assert runs.get(writer, "r-1").created_ms == at
            progress.append(writer, [batch(at, at)])
            batches.newest(writer, "a")
            series.event_series(writer, "a")
            assert savepoints.listed(writer) == []
    with catalog.reading() as reader:
        assert (file_positions.positions(reader)["p"], rebuild.counts(reader)["progress"]) == (3, 2)


def test_events_are_newest_first_and_never_doubled(catalog: Catalog) -> None:
    first, second, other = Event(1, "run.failed", A, "r-1", "m"), Event(2, "x", None, "s", "m"), Event(2, "y", JobName("b"), "s", "m")
    with catalog.writing() as writer:
        events.append(writer, [first, second, first])
        events.append(writer, [])
    with catalog.writing() as writer:
        events.append(writer, [second, other])
    with catalog.reading() as reader:
        assert events.listed(reader, ListEvents()) == [other, second, first]
        assert events.listed(reader, ListEvents(limit=1)) == [other]
        assert events.listed(reader, ListEvents(job="a")) == [first]


HAPPENED = [
    Event(10, "run.failed", A, "r-1", "a failed: Out of memory", "supervisor"),
    Event(20, "savepoint.taken", A, "sp-1", "savepoint sp-1 (Before Ads)", "page"),
    Event(30, "savepoint.damaged", JobName("b"), "sp-2", "2 files", "nightly-ci"),
    Event(40, "sink.mended", JobName("b"), "r-2", "q: 1 entry", "driver"),
    Event(50, "export.left", None, "x", "an export", ""),
]


@pytest.mark.parametrize(
    ("question", "times"),
    [
        (ListEvents(), [50, 40, 30, 20, 10]),
        (ListEvents(kind="run.failed"), [10]),
        (ListEvents(kind="run"), [10]),
        (ListEvents(kind="runs"), [10]),
        (ListEvents(kind="ru"), []),
        (ListEvents(kind="savepoints"), [50, 30, 20]),
        (ListEvents(kind="failures"), [30, 10]),
        (ListEvents(kind="other"), [40]),
        (ListEvents(actor="page"), [20]),
        (ListEvents(text="ads BEFORE"), [20]),
        (ListEvents(text="nightly"), [30]),
        (ListEvents(text="ads memory"), []),
        (ListEvents(text="%"), []),
        (ListEvents(from_ms=20, to_ms=40), [40, 30, 20]),
        (ListEvents(job="b", from_ms=31), [40]),
        (ListEvents(job="a", kind="failures", text="memory", actor="supervisor", from_ms=10, to_ms=10), [10]),
    ],
)
def test_events_that_fit(catalog: Catalog, question: ListEvents, times: list[int]) -> None:
    with catalog.writing() as writer:
        events.append(writer, HAPPENED)
    with catalog.reading() as reader:
        listed = events.listed(reader, question)
        assert [event.at_ms for event in listed] == times
        assert set(listed) <= set(HAPPENED)


@pytest.mark.parametrize("limit", [1, 3, 7, 60])
@pytest.mark.parametrize("question", [ListEvents(), ListEvents(job="b"), ListEvents(text="odd", from_ms=2), ListEvents(sort="-at_ms")])
def test_older_events_go_on_where_the_newer_ones_end(catalog: Catalog, limit: int, question: ListEvents) -> None:
    """Seven events share each millisecond; more come meanwhile."""
    made = [Event(n // 7, "x.y", JobName("ab"[n % 2]) if n % 3 else None, f"s-{n}", "odd" if n % 2 else "even") for n in range(50)]
    with catalog.writing() as writer:
        events.append(writer, made)
    with catalog.reading() as reader:
        expected = events.listed(reader, replace(question, limit=100))
    listed: list[Event] = []
    while True:
        with catalog.reading() as reader:
            page = events.listed(reader, replace(question, before=listed[-1].cursor if listed else "", limit=limit))
        if not page:
            break
        listed += page
        with catalog.writing() as writer:
            events.append(writer, [Event(page[-1].at_ms, "late.event", None, f"late-{len(listed)}", "even")])
    assert listed == expected


@pytest.mark.parametrize("limit", [1, 7, 60])
def test_events_go_on_oldest_first(catalog: Catalog, limit: int) -> None:
    made = [Event(n // 7, "x.y", JobName("ab"[n % 2]), f"s-{n}", "m") for n in range(50)]
    listed: list[Event] = []
    with catalog.writing() as writer:
        events.append(writer, made)
    question = ListEvents("a", limit, sort="at_ms")
    with catalog.reading() as reader:
        while page := events.listed(reader, replace(question, before=listed[-1].cursor if listed else "")):
            listed += page
        with pytest.raises(Invalid, match="not sorted by 'kind'"):
            events.listed(reader, ListEvents(sort="kind"))
    assert listed == made[::2]


def test_a_place_that_is_none_is_refused(catalog: Catalog) -> None:
    with catalog.reading() as reader, pytest.raises(Invalid, match="not the cursor of an event"):
        events.listed(reader, ListEvents(before="yesterday"))


def test_file_positions(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        file_positions.advance(writer, {"jobs/a/p": 5, "jobs/ab/p": 6})
        file_positions.advance(writer, {"jobs/a/p": 9})
    with catalog.reading() as reader:
        assert file_positions.positions(reader) == {"jobs/a/p": 9, "jobs/ab/p": 6}
    with catalog.writing() as writer:
        file_positions.forget(writer, "jobs/a")
        assert file_positions.positions(writer) == {"jobs/ab/p": 6}


def test_a_forgotten_job_leaves_savepoints_and_its_lane(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a"), job("b", 2, ORIGIN)])
        runs.save(writer, [run("r-2", created_ms=2000), run("r-1", created_ms=1000), run("r-3", "b")])
        progress.append(writer, [batch(1, 1)])
        savepoints.save(writer, [savepoint("sp-1")])
    with catalog.reading() as reader:
        drawn = tree.tree(reader)
    assert [(lane.job, [r.id for r in lane.runs], lane.origin_savepoint) for lane in drawn.lanes] == [
        ("a", ["r-1", "r-2"], None),
        ("b", ["r-3"], "sp-1"),
    ]
    assert [(mark.id, mark.batch, mark.batch_timestamp_ms) for mark in drawn.marks] == [("sp-1", 7, 4000)]
    with catalog.writing() as writer:
        jobs.forget(writer, A)
        assert [(lane.job, lane.runs) for lane in tree.tree(writer).lanes][1] == ("a", ())
        counts = rebuild.counts(writer)
    assert (counts["jobs"], counts["runs"], counts["progress"], counts["latest_progress"], counts["savepoints"]) == (1, 1, 0, 0, 1)


def test_a_reset_can_be_refilled_and_is_seen_whole_or_not_at_all(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        progress.append(writer, [batch(1, 1)])
    with catalog.writing() as writer:
        rebuild.reset(writer)
        jobs.save(writer, [job("b")])
        progress.append(writer, [batch(1, 1), batch(2, 2)])
        with catalog.reading() as reader:
            assert [listed_job.name for listed_job in jobs.listed(reader)] == ["a"]
    with catalog.reading() as reader:
        assert [listed_job.name for listed_job in jobs.listed(reader)] == ["b"]
        assert rebuild.counts(reader)["progress"] == 2


def test_a_document_that_does_not_read_asks_for_a_rebuild(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        runs.save(writer, [run("r-1")])
        writer.execute("UPDATE runs SET document = '{}'")
    with pytest.raises(Corrupt) as refused, catalog.reading() as reader:
        runs.get(reader, RunId("r-1"))
    assert refused.value.code == "catalog.damaged"
    assert "catalog rebuild" in refused.value.hint
