from __future__ import annotations

import pytest

from pipelines.catalog import batches, health, jobs, progress, runs, series, sizes, summaries
from pipelines.catalog.connection import Catalog
from pipelines.catalog.sizes import CheckpointSize
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import BatchRow
from tests.catalog.making import RUN, A, batch, job, run

NOW = 100_000_000


def size(at_ms: int, checkpoint_bytes: int) -> CheckpointSize:
    return CheckpointSize(A, RUN, at_ms, checkpoint_bytes, checkpoint_bytes, 0, 0)


def test_a_short_series_is_whole_with_sizes_as_of_each_batch(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n * 1000, event_max_ms=n * 1000 - 500) for n in range(10)])
        sizes.append(writer, [size(2500, 25), size(5400, 54)])
    with catalog.reading() as reader:
        columns = series.series(reader, "a", from_ms=1000, to_ms=8000).columns
        assert series.series(reader, "b", from_ms=0, to_ms=NOW).columns["t"] == ()
    assert columns["batch_id"] == tuple(range(1, 9))
    assert columns["t"] == tuple(n * 1000.0 + 500 for n in range(1, 9))
    assert columns["event_lag_ms"] == (1000.0,) * 8
    assert columns["checkpoint_bytes"] == (None, 25, 25, 25, 54, 54, 54, 54)
    assert columns["commit_batch_ms"] == (None,) * 8


def test_a_batch_without_events_has_no_lag(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        progress.append(writer, [batch(1, NOW)])
    with catalog.reading() as reader:
        assert series.series(reader, "a", from_ms=0, to_ms=NOW).columns["event_lag_ms"] == (None,)
        assert summaries.listed(reader, NOW)[0].lag_ms is None
        assert set(health.health(reader, NOW).lag_line) == {None}


@pytest.mark.parametrize("points", [6, 7, 60, 600])
def test_peaks_survive_a_long_series(catalog: Catalog, points: int) -> None:
    rows = [batch(n, n * 1000, batch_ms=500.0 + n % 3, input_rate=10.0) for n in range(3000)]
    rows[700] = batch(700, 700_000, batch_ms=99_000.0)
    rows[1503] = batch(1503, 1_503_000, batch_ms=1.0)
    rows[2200] = batch(2200, 2_200_000, input_rate=5000.0)
    rows[2600] = batch(2600, 2_600_000, late_rows=77)
    with catalog.writing() as writer:
        progress.append(writer, rows)
    with catalog.reading() as reader:
        columns = series.series(reader, "a", from_ms=0, to_ms=NOW, points=points).columns
    assert {len(column) for column in columns.values()} == {len(columns["t"])}
    assert len(columns["t"]) <= points
    assert (max(columns["batch_ms"]), min(columns["batch_ms"]), max(columns["input_rate"])) == (99_000.0, 1.0, 5000.0)  # type: ignore[type-var]
    assert max(columns["late_rows"]) == 77  # type: ignore[type-var]
    assert list(columns["t"]) == sorted(columns["t"])  # type: ignore[type-var]
    assert columns["batch_id"][-1] == 2999


def test_too_few_points_are_refused(catalog: Catalog) -> None:
    with pytest.raises(Invalid), catalog.reading() as reader:
        series.series(reader, "a", from_ms=0, to_ms=1, points=5)


def test_over_event_time_the_newest_of_a_repeated_batch_counts(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n * 1000, event_max_ms=n * 10, batch_ms=1.0) for n in range(4)])
        progress.append(writer, [batch(n, 50_000 + n, event_max_ms=n * 10, batch_ms=2.0, spark_run_id="spark-2") for n in (2, 3)])
        progress.append(writer, [batch(4, 60_000)])
    with catalog.reading() as reader:
        columns = series.event_series(reader, "a").columns
    assert (columns["t"], columns["batch_ms"]) == ((0.0, 10.0, 20.0, 30.0), (1.0, 1.0, 2.0, 2.0))


def test_a_series_of_one_query(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n, query=name, query_id=name) for n in range(5) for name in "pq"])
    with catalog.reading() as reader:
        assert len(series.series(reader, "a", from_ms=0, to_ms=NOW).columns["t"]) == 10


def test_batches_go_on_where_a_list_ended(catalog: Catalog) -> None:
    """Also of two queries whose batches began at one moment."""
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, 1_000 * n, query=name, query_id=name) for n in range(5) for name in "pq"])
    with catalog.reading() as reader:
        whole, listed = batches.newest(reader, "a"), list[BatchRow]()
        while rows := batches.newest(reader, "a", limit=3, before=listed[-1].cursor if listed else ""):
            listed += rows
        with pytest.raises(Invalid, match="not the cursor of a batch"):
            batches.newest(reader, "a", before="yesterday")
    assert listed == whole and len(whole) == 10


@pytest.mark.parametrize(
    ("sort", "first"),
    [("at_ms", "p0 q0 p1 q1"), ("-batch_ms", "q2 p2 p1 q1"), ("batch_ms", "p0 q0 p3 q3"), ("-input_rows", "p4 q4 p3 q3")],
)
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_batches_go_on_in_another_order(catalog: Catalog, sort: str, first: str, limit: int) -> None:
    """What has no number comes last in both directions; the place of another job's batch is none."""
    ms, rows = (1.0, 3.0, 4.0, 2.0, 2.0), (None, 1, 2, 3, 4)
    with catalog.writing() as writer:
        made = [batch(n, n, query=name, query_id=name, batch_ms=ms[n], input_rows=rows[n]) for n in range(5) for name in "pq"]
        made[5] = batch(2, 2, query="q", query_id="q", batch_ms=5.0, input_rows=2)
        progress.append(writer, made)
    listed, column, is_down = list[BatchRow](), sort.removeprefix("-"), sort.startswith("-")
    with catalog.reading() as reader:
        while page := batches.in_order(reader, "a", column, is_down=is_down, limit=limit, before=listed[-1].cursor if listed else ""):
            listed += page
        with pytest.raises(Invalid, match="not the cursor of a batch"):
            batches.in_order(reader, "b", column, is_down=is_down, before=listed[0].cursor)
        ended = batches.in_order(reader, "a", column, is_down=is_down, until_ms=3)
    names = [f"{row.query}{row.batch}" for row in listed]
    assert " ".join(names[:4]) == first and len(names) == len(set(names)) == 10
    assert sort != "-input_rows" or [row.input_rows for row in listed[-2:]] == [None, None]
    assert {row.batch for row in ended} == {0}


def test_batches_are_newest_first_however_old(catalog: Catalog) -> None:
    day = 86_400_000
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n * day) for n in range(5)])
        a, r, newest, _ = batch(5, 5 * day - 1000, watermark_ms=3, state_rows=4, late_rows=2)
        progress.append(writer, [(a, r, newest, '[{"description":"x"}]')])
    with catalog.reading() as reader:
        rows = batches.newest(reader, "a")
        assert [row.batch for row in batches.newest(reader, "a", limit=2)] == [5, 4]
    assert [row.batch for row in rows] == [5, 4, 3, 2, 1, 0]
    assert (rows[0].watermark_ms, rows[0].state_rows, rows[0].late_rows, rows[0].sources) == (3, 4, 2, '[{"description":"x"}]')
    assert rows[0].phases == {
        "latestOffset": 2.0,
        "getBatch": 1.0,
        "queryPlanning": 3.0,
        "walCommit": 4.0,
        "addBatch": 300.0,
        "commitOffsets": 5.0,
    }
