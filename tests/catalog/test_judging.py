"""A judge's SQL over data files: what it sees, and that it sees nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from pipelines.catalog import judging, state_worker
from pipelines.catalog.judging import Rows
from pipelines.domain.errors import Invalid, TidemarkError, Unsupported
from pipelines.workers.pool import Pool

COUNTS = pyarrow.schema([("key", pyarrow.struct([("k", pyarrow.string())])), ("value", pyarrow.struct([("count", pyarrow.int64())]))])


def counts(folder: Path, *sizes: int) -> tuple[str, ...]:
    """Parquet files with so many rows each, as Spark writes the partitions of a state."""
    files = []
    for number, size in enumerate(sizes):
        path = folder / f"{number}.parquet"
        rows = [{"key": {"k": f"k{at}"}, "value": {"count": 7}} for at in range(size)]
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=COUNTS), path)
        files.append(str(path))
    return tuple(files)


def test_fields_of_structs_are_filtered_in_several_files(tmp_path: Path) -> None:
    """DuckDB 2.0.0 fails here unless an optimizer is off."""
    rows = Rows("state", "parquet", counts(tmp_path, 0, 1, 2))
    answer = judging.judge(rows, "SELECT key, value.count FROM state WHERE value.count > 6", 20)
    assert [column.name for column in answer.columns] == ["key.k", "count"] and sorted(answer.rows) == [("k0", 7), ("k0", 7), ("k1", 7)]


def test_many_json_files_fit_into_a_worker(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.json" for number in range(12)]
    for number, path in enumerate(files):
        path.write_text(json.dumps({"v": number}) + "\n")
    light = judging.as_parquet(Rows("output", "json", tuple(map(str, files))), str(tmp_path / "it's.parquet"))
    pool = Pool(state_worker.TASK)
    try:
        answer = state_worker.judge(pool, light, "SELECT v FROM output WHERE v > 9", 1)
    finally:
        pool.close()
    assert len(answer.rows) == 1 and answer.more


@pytest.mark.parametrize("format", ["json", "csv"])
def test_numbers_are_judged_with_all_their_digits(tmp_path: Path, format: str) -> None:
    """In the Parquet file that a worker reads, too; whole numbers that no decimal holds are texts there."""
    long, huge, largest = (
        "12345678901234567.123456789012345678",
        "123456789012345678901234567890",
        "170141183460469231731687303715884105727",
    )
    text = f'{{"x": {long}, "h": {huge}, "s": {{"y": [{huge}]}}, "z": {largest}}}\n' if format == "json" else f"{long},{huge},{largest}\n"
    (tmp_path / "rows").write_text(text)
    written, nothing = (Rows("output", format, files, (str(tmp_path / "rows"),)) for files in ((str(tmp_path / "rows"),), ()))
    light = judging.as_parquet(written, str(tmp_path / "rows.parquet"))
    columns = "x::VARCHAR, h::VARCHAR, s.y[1]::VARCHAR, z::VARCHAR" if format == "json" else "COLUMNS(*)::VARCHAR"
    assert judging.judge(light, f"SELECT {columns} FROM output", 2).rows == ((long, huge, *([huge] if format == "json" else []), largest),)
    assert judging.judge(judging.as_parquet(nothing, str(tmp_path / "none.parquet")), "SELECT * FROM output", 2).rows == ()


def test_before_anything_was_written_there_are_columns_and_no_row(tmp_path: Path) -> None:
    rows = Rows("output", "parquet", (), counts(tmp_path, 3))
    assert judging.judge(rows, "SELECT * FROM output", 5).rows == ()
    with pytest.raises(Unsupported, check=lambda error: error.code == "bisect.no_rows"):
        judging.judge(Rows("output", "parquet", ()), "SELECT 1", 5)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEKT 1", "state.sql"),
        ("SELECT nothing FROM output", "state.sql"),
        ("COPY output TO '/tmp/x.csv'", "state.only_select"),
        ("SELECT 1; SELECT 2", "state.only_select"),
        ("SELECT * FROM read_csv('/etc/hosts')", "state.outside"),
    ],
)
def test_sql_that_is_no_question_is_refused(tmp_path: Path, sql: str, code: str) -> None:
    with pytest.raises(TidemarkError, check=lambda error: error.code == code):
        judging.judge(Rows("output", "parquet", counts(tmp_path, 1)), sql, 5)


def test_what_does_not_parse_is_refused_before_anything_is_read() -> None:
    judging.require_select("SELECT * FROM output WHERE v < 0", "output")
    with pytest.raises(Invalid, check=lambda error: "the view output:" in error.hint):
        judging.require_select("SELEKT", "output")
