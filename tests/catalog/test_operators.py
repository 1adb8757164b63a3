"""Operators and backlog: read from Spark's progress, kept beside the batch, found again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.catalog import jobs, operators, progress, query_figures, runs, series, summaries
from pipelines.catalog.connection import Catalog
from pipelines.domain.jobs import QuerySeen
from pipelines.domain.operators import OperatorProgress, read_operators
from pipelines.domain.progress import epoch_ms, read_progress
from pipelines.domain.query_figures import MOST, QueryNow, SourceNow, kind_of
from pipelines.domain.runs import RunState
from pipelines.domain.sources import Backlog
from tests.catalog.making import RUN, A, batch, job, run

KAFKA = "KafkaV2[Subscribe[clicks]]"
EVENT: dict[str, Any] = {
    "id": "i",
    "runId": "r",
    "name": "q",
    "timestamp": "2026-11-20T09:00:00.000Z",
    "batchId": 3,
    "stateOperators": [
        {
            "operatorName": "stateStoreSave", "numRowsTotal": 6, "numRowsUpdated": 4, "allUpdatesTimeMs": 63, "numRowsRemoved": 3,
            "allRemovalsTimeMs": 406, "commitTimeMs": 1573, "memoryUsedBytes": 12572, "numRowsDroppedByWatermark": 2,
            "numShufflePartitions": 2, "numStateStoreInstances": 2,
            "customMetrics": {
                "rocksdbSstFileSize": 3788, "rocksdbBytesCopied": 0, "rocksdbGetCount": 3, "stateOnCurrentVersionSizeBytes": 9,
                "SnapshotLastUploaded.partition_0_default": 4,
            },
        },
        {"operatorName": "dedupe", "numRowsTotal": 10},
    ],
}  # fmt: skip
SAVE = OperatorProgress(
    "stateStoreSave", 6, 4, 3, 2, 12572, 63, 406, 1573, 2, 2, {"rocksdbSstFileSize": 3788, "stateOnCurrentVersionSizeBytes": 9}
)
DEDUPE = OperatorProgress("dedupe", 10, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def test_what_spark_says_of_each_operator_is_read() -> None:
    read = read_progress(EVENT)
    assert read.operators == (SAVE, DEDUPE)
    assert (read.state_rows, read.state_bytes, read.late_rows) == (16, 12572, 2)


def source(description: str, end: Any, latest: Any, **metrics: str) -> dict[str, Any]:
    return {"description": description, "endOffset": end, "latestOffset": latest, "metrics": metrics}


BACKLOG = [
    (source(KAFKA, {"clicks": {"0": 10, "1": 5}}, {"clicks": {"0": 12, "1": 5}, "more": {"0": 7}}), [(9, "rows")]),
    (source(KAFKA, {"clicks": {"0": 10}}, {"clicks": {"0": 8}}), [(0, "rows")]),
    (source(KAFKA, '{"clicks":{"0":10}}', '{"clicks":{"0":11}}', maxOffsetsBehindLatest="1"), [(1, "rows")]),
    (source("Files", None, None, numFilesOutstanding="3", numBytesOutstanding="4096"), [(3, "files"), (4096, "bytes")]),
    (source("RateStreamV2[rowsPerSecond=100, rampUpTimeSeconds=0", 39, 52), [(1300, "rows")]),
    (source("Counter", 3, 5), [(2, "offsets")]),
    (source("FileStreamSource[file:/in]", {"logOffset": 2}, None), []),
    (source("FileStreamSource[file:/in]", {"logOffset": 2}, {"logOffset": 3}), []),
    (source("Python", "not json", "neither"), []),
    (source("Python", {"next": 7}, {"next": 12}), []),
    (source("Python", {"next": 7}, {"next": 12, "holds": {"next": 3}}), [(5, "offsets")]),
    (source("Python", '{"a":{"at":7}}', '{"a":{"at":9},"b":{"at":2},"holds":{"a":{"at":0}}}'), [(4, "offsets")]),
    ({"description": "source 0"}, []),
]


@pytest.mark.parametrize(("source", "waiting"), BACKLOG)
def test_backlog_is_known_where_a_source_says_so(source: dict[str, Any], waiting: list[tuple[int, str]]) -> None:
    backlogs = read_progress({**EVENT, "sources": [source]}).backlog
    assert [(backlog.amount, backlog.unit) for backlog in backlogs] == waiting
    assert {(backlog.source, backlog.name) for backlog in backlogs} <= {(0, source["description"])}


def test_a_series_has_a_line_for_each_operator_and_source(catalog: Catalog) -> None:
    behind = (Backlog(0, KAFKA, 5, "rows"),)
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n * 1000, operators=(SAVE, DEDUPE), backlog=behind) for n in range(3)])
        progress.append(writer, [batch(9, 9000), batch(1, 1500, query="p", query_id="id-p", operators=(DEDUPE,))])
    with catalog.reading() as reader:
        job_series = series.series(reader, "a", from_ms=0, to_ms=10_000)
        few = series.series(reader, "a", from_ms=0, to_ms=10_000, points=6)
        over_events = series.event_series(reader, "a")
    assert [(line.query, line.operator, line.name, line.rows, line.memory_bytes) for line in job_series.operators] == [
        ("p", 0, "dedupe", (10,), (0,)),
        ("q", 0, "stateStoreSave", (6, 6, 6), (12572,) * 3),
        ("q", 1, "dedupe", (10, 10, 10), (0, 0, 0)),
    ]
    assert job_series.operators[1].t == (500.0, 1500.0, 2500.0)
    assert [(line.query, line.name, line.unit, line.amount) for line in job_series.backlog] == [("q", KAFKA, "rows", (5, 5, 5))]
    assert len(job_series.columns["t"]) == 5 and "place_in_table" not in job_series.columns
    assert max(len(line.t) for line in few.operators) <= 6
    assert over_events.operators == ()


def test_rows_of_before_have_none(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(1, 1000)])
        writer.execute("UPDATE progress SET operators = NULL, backlog = NULL")
    with catalog.reading() as reader:
        assert series.series(reader, "a", from_ms=0, to_ms=9000).operators == ()
        (newest,) = operators.newest(reader, A)
    assert (newest.operators, newest.sources, newest.sink) == ((), (), "")


def test_the_newest_batch_that_ran_is_told(catalog: Catalog) -> None:
    read = [
        {
            "description": KAFKA,
            "startOffset": None,
            "endOffset": {"clicks": {"0": 7}},
            "latestOffset": {"clicks": {"0": 9}},
            "numInputRows": 7,
        }
    ]
    ran = batch(4, 4000, operators=(SAVE,), backlog=(Backlog(0, KAFKA, 2, "rows"),), output_rows=12)
    idle = batch(5, 5000, add_batch_ms=None, operators=(DEDUPE,))
    with catalog.writing() as writer:
        progress.append(writer, [batch(3, 3000), (*ran[:3], json.dumps(read)), idle])
        runs.save_queries(writer, [(A, RUN, QuerySeen("q", "id-q", "parquet", "/out", "", ""))])
    with catalog.reading() as reader:
        (newest,) = operators.newest(reader, A)
        assert operators.newest(reader, "nobody") == []  # type: ignore[arg-type]
    assert (newest.query, newest.batch, newest.operators, newest.output_rows) == ("q", 4, (SAVE,), 12)
    assert (newest.sink, newest.sink_path) == ("parquet", "/out")
    (source,) = newest.sources
    assert (source.start, source.end, source.latest, source.rows) == ("", '{"clicks":{"0":7}}', '{"clicks":{"0":9}}', 7)
    assert source.backlog == (Backlog(0, KAFKA, 2, "rows"),)


@pytest.mark.parametrize(
    ("name", "partitions", "opened", "counted", "rows"),
    [
        ("stateStoreSave", 4, 4, 40, 40),
        ("stateStoreSave", 4, 8, 80, 40),  # two actions of a foreachBatch
        ("stateStoreSave", 4, 1, 1, 1),  # a global aggregation
        ("stateStoreSave", 4, 3, 3, 1),  # … with three actions
        ("symmetricHashJoin", 2, 8, 10, 10),
        ("symmetricHashJoin", 2, 16, 20, 10),
        ("symmetricHashJoin", 3, 3, 7, 7),  # its state format 3: one store a partition
        ("stateStoreSave", 4, 5, 50, 40),  # one action looked at one partition only
        ("stateStoreSave", 0, 0, 40, 40),  # a Spark that does not say
    ],
)
def test_figures_are_those_of_one_execution(name: str, partitions: int, opened: int, counted: int, rows: int) -> None:
    """Spark adds them up over every execution of a batch."""
    told = {"operatorName": name, "numShufflePartitions": partitions, "numStateStoreInstances": opened, "numRowsTotal": counted}
    (operator,) = read_operators({"stateOperators": [told | {"memoryUsedBytes": counted * 10, "numRowsDroppedByWatermark": counted}]})
    assert (operator.rows, operator.late_rows, operator.memory_bytes) == (rows, rows, rows * 10)


def test_the_newest_batches_of_all_queries_are_told_with_what_is_known_of_their_jobs(catalog: Catalog) -> None:
    read = [{"description": KAFKA, "numInputRows": 7, "inputRowsPerSecond": 3.5, "processedRowsPerSecond": 14.0}, {"description": "Files"}]
    waits = (Backlog(0, KAFKA, 2, "rows"),)
    ran = batch(4, 4000, operators=(SAVE, DEDUPE), backlog=waits, output_rows=12, event_max_ms=3000, watermark_ms=1000, late_rows=2)
    other = batch(9, 4100, query="more", query_id="id-more", input_rate=None)
    with catalog.writing() as writer:
        jobs.save(writer, [job("a"), job("b")])
        runs.save(writer, [run("r-1")])
        progress.append(writer, [batch(3, 3000, late_rows=1), (*ran[:3], json.dumps(read)), other])
    now_ms = 10_000

    def told() -> list[QueryNow]:
        with catalog.reading() as reader:
            return query_figures.newest(reader, now_ms, summaries.listed(reader, now_ms))

    more, query = sorted(told(), key=lambda query: query.query)
    assert (query.job, query.query, query.run, query.batch, query.at_ms, query.late_rows) == ("a", "q", RUN, 4, 4000, 3)
    assert (query.input_rate, query.processed_rate, query.output_rate) == (10.0, 20.0, 24.0)
    assert (query.lag_ms, query.watermark_lag_ms, query.operators) == (7_000.0, 9_000.0, (SAVE, DEDUPE))
    assert query.sources == (SourceNow("KafkaV2", 7, 3.5, 14.0, waits), SourceNow("Files", None, None, None))
    assert (more.operators, more.sources, more.input_rate, more.lag_ms) == ((), (), None, None)
    with catalog.writing() as writer:
        runs.save(writer, [run("r-1", state=RunState.STOPPED)])
    _, ended = sorted(told(), key=lambda query: query.query)
    assert (ended.input_rate, ended.output_rate, ended.lag_ms, ended.watermark_lag_ms) == (None,) * 4
    assert ended.operators == (SAVE, DEDUPE) and [source.backlog for source in ended.sources] == [(), ()]


def test_of_one_job_so_many_queries_operators_and_sources_are_told(catalog: Catalog) -> None:
    many = MOST + 5
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        read = json.dumps([{"description": "Files", "numInputRows": 1}] * many)
        named = [batch(1, 1000, query=f"q-{n:02d}", query_id=f"{n}", operators=(SAVE,) * many) for n in range(many)]
        progress.append(writer, [(*line[:3], read) for line in named])
    with catalog.reading() as reader:
        told = query_figures.newest(reader, 2000, summaries.listed(reader, 2000))
    assert [query.query for query in told] == [f"q-{n:02d}" for n in range(MOST)]
    assert {(len(query.operators), len(query.sources)) for query in told} == {(MOST, MOST)}


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        (KAFKA, "KafkaV2"),
        ("FileStreamSource[file:/data/in]", "FileStreamSource"),
        ("org.example.Feed@1f3a9c", "org.example.Feed"),
        ("views over http", "views"),
        ("x" * 100, "x" * 60),
        ("", ""),
    ],
)
def test_what_a_source_is_says_not_what_it_reads(description: str, kind: str) -> None:
    assert kind_of(description) == kind


OWN_PHASES = {"addBatch": 40, "queryPlanning": 8, "getBatch": 2, "latestOffset": 10, "walCommit": 5, "triggerExecution": 100}


@pytest.mark.parametrize("imposed", [True, False])
def test_what_a_follower_waits_for_its_leader_is_no_time_of_its_batch(imposed: bool) -> None:
    """Spark 4.3, from a run in lock-step: the offsets are its leader's, so the batch asks no source, and its trigger includes the wait."""
    phases = {name: ms for name, ms in OWN_PHASES.items() if not imposed or name not in ("latestOffset", "walCommit")}
    times = {"timestamp": "2026-11-20T09:00:00.000Z", "batchDuration": 100, "durationMs": phases}
    progress = read_progress({"id": "q", "runId": "r", "batchId": 3, "numInputRows": 10, "processedRowsPerSecond": 100.0, **times})
    began_ms = epoch_ms("2026-11-20T09:00:00.000Z")
    expected = (began_ms + 50, 50, 200.0) if imposed else (began_ms, 100, 100.0)
    assert (progress.at_ms, progress.batch_ms, progress.processed_rate) == expected
