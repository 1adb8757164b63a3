"""The helper for databases: killed before any statement, a batch is there whole or not at all, and done again it is there once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.driver.process import Drivers
from tests.jobs import postgres
from tests.jobs.collected import FILES, START
from tests.jobs.killed_write import COLUMNS, SCHEMA, TABLE, rows
from tests.jobs.loading import JOBS, script
from tests.savepoint.matrix import FORMAT_2
from tests.savepoint.streaming import Lab

ROOT = Path(__file__).parents[2]
MOST_STEPS = 15


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.serving() as url:
        yield url


@pytest.fixture(params=["postgresql", "duckdb", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("server")) if request.param == "postgresql" else f"{request.param}:{tmp_path}/a.db"


def write(url: str, batch: int, query: str = "query-a", schema: str = SCHEMA, what: list[tuple[str, int]] | None = None) -> None:
    script("exactly_once")["write_batch"](url, schema, TABLE, COLUMNS, query, batch, rows(batch) if what is None else what)


def table(url: str, schema: str = SCHEMA, name: str = TABLE) -> list[tuple[Any, ...]]:
    """The rows with their batch, in order."""
    place = f'"{name}"' if url.startswith("sqlite") else f'"{schema}"."{name}"'
    with script("exactly_once")["transaction"](url) as database:
        return sorted(tuple(row) for row in database.execute(f"SELECT * FROM {place}").fetchall())


def expected(*batches: int) -> list[tuple[Any, ...]]:
    return sorted((*row, batch) for batch in batches for row in rows(batch))


def test_a_kill_before_any_statement_doubles_nothing_and_loses_nothing(url: str, tmp_path: Path) -> None:
    write(url, 0)
    for step in range(MOST_STEPS):
        killed = subprocess.run([sys.executable, "-m", "tests.jobs.killed_write", url, "1", str(step)], cwd=ROOT, check=False)
        assert killed.returncode in (0, -signal.SIGKILL)
        assert table(url) in (expected(0), expected(0, 1)), step
        write(url, 1)
        assert table(url) == expected(0, 1), step
        if killed.returncode == 0:
            break
        write(url, 0)
        assert table(url) == expected(0), "a query that was taken back replaces what came after"
    assert 8 < step < MOST_STEPS - 1, "every statement had its kill, and the last time there was none left"


def test_another_query_is_refused_and_has_a_place_of_its_own(url: str, tmp_path: Path) -> None:
    write(url, 0, schema="parent")
    with pytest.raises(ValueError, match="is written by query query-a: give query query-b a schema or a file of its own"):
        write(url, 1, query="query-b", schema="parent")
    write(f"sqlite:{tmp_path}/b.db" if url.startswith("sqlite") else url, 1, query="query-b", schema="fork")
    assert table(url, "parent") == expected(0)


def test_a_batch_without_rows_takes_back_what_came_after(url: str) -> None:
    write(url, 0, schema="empty", what=[])
    write(url, 1, schema="empty")
    write(url, 0, schema="empty", what=[])
    assert table(url, "empty") == []


def test_first_batches_of_several_queries_at_once_are_all_written(url: str) -> None:
    tables, gate = [f"t{number}" for number in range(8)], threading.Barrier(8)

    def first(name: str) -> None:
        gate.wait()
        script("exactly_once")["write_batch"](url, "at_once", name, COLUMNS, f"query-{name}", 0, rows(0))

    with ThreadPoolExecutor(len(tables)) as queries:
        list(queries.map(first, tables))
    assert [table(url, "at_once", name) for name in tables] == [expected(0)] * len(tables)


def test_moments_are_utc_whatever_the_drivers_zone_and_decimals_and_dates_are_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    helper, columns = script("exactly_once"), "clock TIMESTAMP, moment TIMESTAMP WITH TIME ZONE, local TIMESTAMP, price TEXT, day DATE"
    dtypes = [("clock", "timestamp"), ("moment", "timestamp"), ("local", "timestamp_ntz"), ("price", "decimal(10,2)"), ("day", "date")]
    noon = datetime(2026, 3, 1, 12)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        given = helper["in_utc"](dtypes, [(noon, noon, noon, Decimal("1.50"), noon.date()), (None,) * 5])
    finally:
        monkeypatch.undo()
        time.tzset()
    helper["write_batch"](url, "typed", "typed", columns, "query-a", 0, given)
    place = '"typed"' if url.startswith("sqlite") else '"typed"."typed"'
    with helper["transaction"](url) as database:
        *empty, kept = sorted(database.execute(f"SELECT * FROM {place}").fetchall(), key=lambda row: row[0] is not None)
    assert [tuple(row) for row in empty] == [(None, None, None, None, None, 0)]
    clock, moment, local, price, day, _ = kept
    assert datetime.fromisoformat(str(clock)).replace(tzinfo=None) == datetime(2026, 3, 1, 3)
    assert datetime.fromisoformat(str(moment)) == datetime(2026, 3, 1, 3, tzinfo=UTC)
    assert (str(local), price, str(day)) == ("2026-03-01 12:00:00", "1.50", "2026-03-01")


def test_nested_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="column 'tags' is array<string>: make it a text with to_json"):
        script("exactly_once")["refuse_nested"]([("post", "string"), ("tags", "array<string>")])


def test_what_is_no_database_is_refused() -> None:
    with pytest.raises(ValueError, match="'mysql://x' is no database: give postgresql"):
        write("mysql://x", 0)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_killed_driver_and_its_fork_in_postgresql_give_what_an_undisturbed_one_gives(server: str, tmp_path: Path) -> None:
    events = tmp_path / "events"
    generator: list[str | Path] = [
        sys.executable,
        JOBS / "post_events.py",
        "--out",
        events,
        *START,
        "--files",
        str(FILES),
        "--rate",
        "3",
        "--posts",
        "4",
        "--late",
        "0",
    ]
    subprocess.run(generator, check=True)
    drivers = Drivers(tmp_path)

    def lab(schema: str) -> Lab:
        args = ("--events", str(events), "--database", server, "--schema", schema, "--available-now")
        return Lab(drivers, JOBS / "engagement_to_database.py", FORMAT_2 | {"spark.sql.shuffle.partitions": "2"}, args)

    try:
        original = lab("original")
        main = original.start("main")
        original.await_batch(main, "main", 4)
        savepoint = original.take("main", "sp-4")
        original.kill(main)
        forked = lab("forked")
        for run in (original.start("main"), forked.fork(savepoint, "fork")):
            original.finish(run)
        reference = lab("reference")
        reference.finish(reference.start("reference"))
    finally:
        drivers.end()
    undisturbed = table(server, "reference", "engagement")
    assert len(undisturbed) > 6
    assert table(server, "original", "engagement") == undisturbed
    after = [row for row in undisturbed if row[-1] > savepoint.batch]
    assert after and table(server, "forked", "engagement") == after
