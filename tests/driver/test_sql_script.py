"""SQL files as scripts: a stream and a batch over the same input, in a driver; and what Spark refuses, with the file's line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pipelines.domain.errors import TidemarkError
from pipelines.driver import failures
from pipelines.driver.sql_script import Script
from tests.driver.process import Drivers
from tests.jobs.loading import JOBS

pytestmark = pytest.mark.spark

CODE = (JOBS / "views_by_author_sql.sql").read_text()
LAST = {"view": "last", "at": "2026-01-02T00:00:00Z", "page": "page-11", "reader": "nobody", "seconds": 0.0}
"""A view of a page without an author, a day later: it closes all windows, and is in none."""
SOURCE, _, QUERY = CODE.partition("CREATE STREAMING TABLE reading_time")
BATCH = QUERY.partition("AS\n")[2].replace("STREAM views", "all_views")
BOTH = (
    f"{SOURCE}\nCREATE TEMPORARY VIEW all_views (at TIMESTAMP, page STRING, seconds DOUBLE) USING json OPTIONS (path '${{views}}');\n"
    f"CREATE STREAMING TABLE reading_time{QUERY.replace('1 second', 'availableNow')}\n"
    f"CREATE MATERIALIZED VIEW read_once PARTITIONED BY (author) AS {BATCH}"
)
"""The job, and its query as a batch: what is read with STREAM is read whole."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    files = ("--files", "8", "--interval", "10", "--rows", "20")
    subprocess.run([sys.executable, JOBS / "streams.py", "--out", folder, "--fast", "--start", "2026-01-01T00:00:00Z", *files], check=True)
    (folder / "views" / "99999999.json").write_text(json.dumps(LAST) + "\n")
    return folder


@pytest.mark.usefixtures("kept_jvms")
def test_a_stream_and_a_batch_of_sql_have_the_same_rows(drivers: Drivers, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "both.sql").write_text(BOTH)
    driver = drivers.start("run-1", tmp_path / "both.sql", "--views", f"{inputs}/views", f"--pages={inputs}/pages")
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "finished"
    (query,) = driver.queries
    assert (query["query"], query["sink"], query["sink_path"]) == ("reading_time", "parquet", f"{drivers.output()}/reading_time")
    assert query["checkpoint"] == str(drivers.checkpoints() / "reading_time")
    stream, batch = (rows(drivers.output() / name) for name in ("reading_time", "read_once"))
    assert len(stream) > 6 and stream == batch


def rows(folder: Path) -> list[tuple[Any, ...]]:
    records = pyarrow.parquet.read_table(folder, columns=["start", "author", "seconds"]).to_pylist()
    return sorted((row["start"], str(row["author"]), round(row["seconds"], 6)) for row in records)


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """A session whose views and values are the test's."""
    yield spark.newSession()


VIEW = "CREATE TEMPORARY VIEW v (a INT) USING json OPTIONS (path '${in}');\n"
REFUSED = {
    "no SQL": (f"{VIEW}CREATE STREAMING TABLE t AS\nSELECT a,, a FROM STREAM v", "SyntaxError", "line 3: Syntax error at or near ','"),
    "no such column": (f"{VIEW}CREATE STREAMING TABLE t AS\nSELECT b FROM STREAM v", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "line 3: "),
    "no such source": (f"{VIEW}CREATE STREAMING TABLE t AS SELECT * FROM STREAM w", "TABLE_OR_VIEW_NOT_FOUND", "line 2: "),
    "no such format": (f"{VIEW}CREATE STREAMING TABLE t USING prquet AS SELECT * FROM STREAM v", "DATA_SOURCE_NOT_FOUND", "line 2: "),
    "no such format to read": (
        f"\n{VIEW.replace('json', 'jsn')}CREATE STREAMING TABLE t AS SELECT * FROM STREAM v",
        "DATA_SOURCE_",
        "line 2",
    ),
    "a stream that is none": (f"{VIEW}CREATE STREAMING TABLE t AS SELECT * FROM v", "sql.no_stream", "line 2: "),
    "a batch of a stream": (f"{VIEW}CREATE MATERIALIZED VIEW t AS SELECT * FROM STREAM v", "sql.stream", "line 2: "),
    "a list of columns": (f"{VIEW}CREATE STREAMING TABLE t (a INT) AS SELECT * FROM STREAM v", "sql.columns", "line 2: "),
    "parts of an expression": (
        f"{VIEW}CREATE STREAMING TABLE t PARTITIONED BY (bucket(2, a)) AS SELECT * FROM STREAM v",
        "sql.partitioning",
        "line 2: ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_spark_refuses_has_the_line_of_the_file(session: Any, tmp_path: Path, case: str) -> None:
    code, error_class, says = REFUSED[case]
    with pytest.raises((SyntaxError, TidemarkError)) as raised:
        list(Script(session, "job.sql", code, str(tmp_path)).sinks(("--in", str(tmp_path))))
    failure = failures.of_exception(raised.value, "")
    assert failure.error_class.startswith(error_class) and says in failure.message, failure
