"""What jobs observe of their batches: read from Spark's progress, bounded, kept beside the batch, found again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.catalog import batches, jobs, progress, runs, series, summaries
from pipelines.catalog.connection import Catalog
from pipelines.domain.errors import Corrupt
from pipelines.domain.observed import LONGEST_NAME, MOST, Observed, ObservedNow, metric_name, read_observed
from pipelines.domain.progress import read_progress
from pipelines.workspace import json_lines
from tests.catalog.making import batch, job, run

EVENT: dict[str, Any] = {"id": "i", "runId": "r", "name": "q", "timestamp": "2026-11-20T09:00:00.000Z", "batchId": 3}
NOW = 100_000_000


def read_observation(**columns: Any) -> dict[str, Observed]:
    """What is read of one observation, by column."""
    line = json.dumps({**EVENT, "observedMetrics": {"checks": columns}}).encode()
    read, _ = json_lines.progress(line)
    return {observed.name.removeprefix("checks."): observed for observed in read.observed}


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), (-1, -1.0), (0.5, 0.5), (True, 1.0), (False, 0.0), (2**63 - 1, float(2**63)), (10**38 - 1, 1e38), (1e300, 1e300)],
)
def test_numbers_are_metrics(value: Any, number: float) -> None:
    assert read_observation(it=value) == {"it": Observed("checks.it", number)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-01-01 00:00:00", "2026-01-01 00:00:00"),
        ("a\x1b[31m\nb", "a\\x1b[31m\\nb"),
        ([1, 2], "[1,2]"),
        ({"k": 1, "v": None}, '{"k":1,"v":null}'),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (10**400, "1" + 198 * "0" + "…"),
        ("\ud800", "\\ud800"),
        ("x" * 5_000, "x" * 199 + "…"),
    ],
)
def test_all_else_is_text(value: Any, text: str) -> None:
    assert read_observation(it=value) == {"it": Observed("checks.it", None, text)}


def test_null_is_nothing_and_a_batch_may_say_nothing() -> None:
    assert read_observation(it=None) == {}
    assert read_observed({}) == read_observed({"observedMetrics": {}}) == read_observed({"observedMetrics": {"checks": None}}) == ()


def test_of_ten_thousand_columns_the_first_ones_are_kept() -> None:
    assert list(read_observation(**{f"c{at}": at for at in range(10_000)})) == [f"c{at}" for at in range(MOST)]


def test_names_are_bounded_and_have_one_line() -> None:
    assert metric_name("a b", "count((x > 5))") == "a b.count((x > 5))"
    assert metric_name("a\n\tb", "c  d\x00") == "a\\n\\tb.c d\\x00"
    name_a, name_b = (metric_name("checks", "x" * 500 + end) for end in "ab")
    assert len(name_a) == len(name_b) == LONGEST_NAME and name_a != name_b
    assert [observed.value for observed in read_observed({"observedMetrics": {"a": {"b.c": 1}, "a.b": {"c": 2}}})] == [1.0]


@pytest.mark.parametrize("observations", [[1], {"checks": [1]}, {"checks": 3}, "text"])
def test_what_spark_does_not_write_is_a_malformed_line(observations: Any) -> None:
    with pytest.raises(Corrupt):
        json_lines.progress(json.dumps({**EVENT, "observedMetrics": observations}).encode())


def saw(number: int, at_ms: int, bad: float | None = None, **more: Any) -> Any:
    values = (Observed("checks.bad", bad), Observed("checks.last", None, "x")) if bad is not None else ()
    return batch(number, at_ms, observed=values, **more)


def test_it_is_found_with_its_batch_in_the_series_and_as_of_now(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1")])
        progress.append(writer, [saw(1, NOW - 3000, 4.0), saw(2, NOW - 2000, 5.0)])
        progress.append(writer, [saw(2, NOW - 2000, 5.0), saw(3, NOW - 1000), saw(1, NOW - 1500, 7.0, query="p", query_id="id-p")])
    with catalog.reading() as reader:
        job_series = series.series(reader, "a", from_ms=0, to_ms=NOW)
        newest = batches.newest(reader, "a", query="q")
        (summary,) = summaries.listed(reader, NOW)
    assert [(line.query, line.name, line.t, line.value) for line in job_series.observed] == [
        ("p", "checks.bad", (NOW - 1000.0,), (7.0,)),
        ("q", "checks.bad", (NOW - 2500.0, NOW - 1500.0), (4.0, 5.0)),
    ]
    assert [row.observed for row in newest] == [(), saw(2, 0, 5.0)[2].observed, saw(1, 0, 4.0)[2].observed]
    assert summary.observed == (ObservedNow("p", "checks.bad", 7.0), ObservedNow("q", "checks.bad", 5.0))


def test_a_run_that_observes_nothing_leaves_no_number_of_the_one_before(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
        runs.save(writer, [run("r-1"), run("r-2", created_ms=2000)])
        progress.append(writer, [saw(1, NOW - 3000, 4.0)])
        name, _, row, sources = saw(2, NOW - 1000)
        progress.append(writer, [(name, run("r-2").id, row, sources)])
    with catalog.reading() as reader:
        assert summaries.listed(reader, NOW)[0].observed == ()


def test_a_batch_that_ran_again_counts_once_over_event_time(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [saw(n, n * 1000, float(n), event_max_ms=n * 10) for n in range(1, 4)])
        progress.append(writer, [saw(n, 9000 + n, 10.0 * n, event_max_ms=n * 10, spark_run_id="spark-2") for n in range(2, 4)])
    with catalog.reading() as reader:
        (line,) = series.event_series(reader, "a").observed
    assert (line.t, line.value) == ((10.0, 20.0, 30.0), (1.0, 20.0, 30.0))


@pytest.mark.parametrize("points", [6, 30, 600])
def test_peaks_survive_a_long_series(catalog: Catalog, points: int) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [saw(n, n * 1000, {700: 99.0, 1501: -7.0, 2999: 3.0}.get(n, 1.0)) for n in range(3000)])
    with catalog.reading() as reader:
        (line,) = series.series(reader, "a", from_ms=0, to_ms=NOW, points=points).observed
    assert len(line.t) <= points and list(line.t) == sorted(set(line.t))
    assert (max(line.value), min(line.value), line.value[-1]) == (99.0, -7.0, 3.0)


def test_many_names_are_bounded_in_a_series(catalog: Catalog) -> None:
    def one(at: int) -> Any:
        return batch(at, at * 1000, observed=tuple(Observed(f"{at}.c{column}", 1.0) for column in range(MOST)))

    with catalog.writing() as writer:
        progress.append(writer, [one(1), one(2)])
    with catalog.reading() as reader:
        lines = series.series(reader, "a", from_ms=0, to_ms=NOW).observed
    assert len(lines) == MOST and {line.name.partition(".")[0] for line in lines} == {"2"}


def test_rows_of_before_have_none(catalog: Catalog) -> None:
    with catalog.writing() as writer:
        progress.append(writer, [batch(1, 1000)])
        assert writer.execute("SELECT observed FROM progress").fetchall() == [(None,)]
    with catalog.reading() as reader:
        assert series.series(reader, "a", from_ms=0, to_ms=NOW).observed == ()
        assert batches.newest(reader, "a")[0].observed == ()


def test_spark_says_it_beside_all_else() -> None:
    assert read_progress({**EVENT, "observedMetrics": {"checks": {"bad": 2}}}).observed == (Observed("checks.bad", 2.0),)
