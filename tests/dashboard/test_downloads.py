"""Rows as files: what is written is what stood there, as numbers, times and texts."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.applications import Starlette

from dashboard import downloads
from dashboard.components.table import Cell, Column, Row, clock, moment, number, shortened, table_data
from dashboard.views.experiments.shares import parting_frame
from dashboard.views.versions import difference
from pipelines.api.body_limit import MOST_BYTES
from pipelines.domain.differences import Entry, Outcome, Unit
from pipelines.domain.experiments import Parting
from pipelines.words.formats import count, duration, size
from tests.dashboard.asking import answered

SAID = {
    "columns": [
        {"name": "Job", "unit": ""},
        {"name": "p99", "unit": "ms"},
        {"name": "Last", "unit": "time"},
        {"name": "Size", "unit": "bytes"},
    ],
    "rows": [['a, "b"', 850.5, 1_763_732_512_000, 12], ["c", None, None, None]],
}


def test_times_leave_in_the_zone_of_the_page() -> None:
    columns = downloads.columns_of({**SAID, "zone": "Europe/Berlin"})
    assert downloads.as_csv(columns).decode().splitlines()[:2] == [
        "Job,p99 (ms),Last (Europe/Berlin),Size (bytes)",
        '"a, ""b""",850.5,2025-11-21T14:41:52.000+01:00,12',
    ]
    assert pq.read_table(io.BytesIO(downloads.as_parquet(columns))).schema.types[2] == pa.timestamp("ms", tz="Europe/Berlin")


def test_a_csv_holds_plain_numbers_and_times_in_utc() -> None:
    text = downloads.as_csv(downloads.columns_of(SAID)).decode()
    assert text.splitlines() == [
        "Job,p99 (ms),Last (UTC),Size (bytes)",
        '"a, ""b""",850.5,2025-11-21T13:41:52.000Z,12',
        "c,,,",
    ]


def test_no_text_of_a_job_is_a_formula_in_a_spreadsheet() -> None:
    texts = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "＝1", "-12.5", "+1e3", "a=b", ""]
    head, *lines = csv.reader(io.StringIO(downloads.as_csv([downloads.Column("=HEAD", texts), downloads.Column("n", [-1] * 10)]).decode()))
    assert head == ["'=HEAD", "n"]
    kept = ["'=1+1", "'+A1", "'-A1", "'@SUM(A1)", "'\t=1", "'＝1", "-12.5", "+1e3", "a=b", ""]
    assert lines == [[text, "-1"] for text in kept]


def test_a_parquet_file_holds_types() -> None:
    table = pq.read_table(io.BytesIO(downloads.as_parquet(downloads.columns_of(SAID))))
    assert table.schema.types == [pa.string(), pa.float64(), pa.timestamp("ms", tz="UTC"), pa.int64()]
    assert table.to_pylist()[0]["Last (UTC)"] == datetime(2025, 11, 21, 13, 41, 52, tzinfo=UTC)
    assert table.to_pylist()[1] == {"Job": "c", "p99 (ms)": None, "Last (UTC)": None, "Size (bytes)": None}


def test_two_columns_of_one_name_stay_two() -> None:
    table = {"columns": [{"name": "Batch"}, {"name": "Batch"}], "rows": [[1, "x"]]}
    assert pq.read_table(io.BytesIO(downloads.as_parquet(downloads.columns_of(table)))).column_names == ["Batch", "Batch 2"]


def test_a_frame_keeps_its_types() -> None:
    frame = pd.DataFrame({"id": ["a"], "taken": [datetime(2026, 1, 1, tzinfo=UTC)], "size": [5], "frees": [None], "trust": [["proved"]]})
    assert downloads.as_csv(downloads.columns_of_frame(frame, UTC)).decode().splitlines() == [
        "id,taken (UTC),size,frees,trust",
        "a,2026-01-01T00:00:00.000Z,5,,proved",
    ]


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("csv", SAID, 200),
        ("parquet", SAID, 200),
        ("xlsx", SAID, 404),
        ("csv", {"rows": []}, 400),
        ("csv", {**SAID, "rows": [[1]]}, 400),
        ("csv", {**SAID, "zone": "Europe/Nowhere"}, 400),
    ],
)
def test_what_the_server_answers(kind: str, body: object, status: int) -> None:
    answer = answered(Starlette(routes=downloads.routes()), f"/download/{kind}", method="POST", body=body)
    assert answer.status_code == status, answer.text


HOSTILE = {
    "deep": b'{"columns": ' + b"[" * 100_000,
    "half a pair": b'{"columns": [{"name": "a\\ud800"}], "rows": [["\\ud800"]]}',
    "a huge number": b'{"columns": [{"name": "a"}], "rows": [[1' + b"0" * 400 + b"]]}",
    "a far time": b'{"columns": [{"name": "a", "unit": "time"}], "rows": [[1e300]]}',
    "a time that is none": b'{"columns": [{"name": "a", "unit": "time"}], "rows": [["x"]]}',
    "no table": b"[1, 2]",
    "no text": b"\xff\xfe",
}


async def posted(path: str, content: bytes) -> httpx.Response:
    transport = httpx.ASGITransport(Starlette(routes=downloads.routes()))
    async with httpx.AsyncClient(transport=transport, base_url="http://tests") as client:
        return await client.post(path, content=content)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_is_no_table_is_said_to_be_none(kind: str, hostile: str) -> None:
    status = asyncio.run(posted(f"/download/{kind}", HOSTILE[hostile])).status_code
    assert status == 400 or (status, kind, hostile) == (200, "csv", "a huge number")


def test_a_table_has_a_limit() -> None:
    assert asyncio.run(posted("/download/csv", b" " * (MOST_BYTES + 1))).status_code == 413


def test_cells_say_what_their_numbers_are_in() -> None:
    now = 1_763_732_512_000.0
    cells = (
        Cell("a"),
        number(5.0, duration),
        number(6, size),
        number(7, count),
        moment(now, now),
        clock(now, UTC),
        shortened("v-0123456789ab"),
    )
    data = table_data([Column(str(place)) for place in range(len(cells))], [Row("r", cells), Row("s", [Cell()] * len(cells))])
    assert [column["unit"] for column in data["columns"]] == ["", "ms", "bytes", "", "time", "time", ""]
    assert data["rows"][0]["cells"][-1]["r"] == "v-0123456789ab"


DASHBOARD = Path(downloads.__file__).parent


def test_every_table_can_be_taken_along() -> None:
    """A data frame is drawn with the buttons that save it; other tables are the component's, or beside such buttons."""
    drawn = {path: path.read_text().count("st.dataframe(") for path in DASHBOARD.rglob("*.py")}
    saved = {path: len(re.findall(r"(?<!def )save_buttons\(", path.read_text())) for path in drawn}
    assert sum(drawn.values()) >= 3
    assert [path.name for path in drawn if drawn[path] > saved[path]] == []


@pytest.mark.parametrize("kind", sorted(downloads.WRITERS))
def test_what_differs_leaves_as_plain_values(kind: str) -> None:
    """Numbers of one side, words of the other, moments and what is not there, in one column."""
    entries = (
        Entry("q", "rows", Outcome.CHANGED, 5, 3, Unit.COUNT, -2),
        Entry("q", "conf", Outcome.ONLY_B, None, "<2>"),
        Entry("r", "at", Outcome.CHANGED, 0, 61_000, Unit.MOMENT, 61_000),
    )
    frame = difference.entries_frame([("State", entries)], UTC)
    rows = read(kind, downloads.WRITERS[kind][0](downloads.columns_of_frame(frame, UTC)))
    assert [row["B"] for row in rows] == ["3", "<2>", "1970-01-01 00:01:01 UTC"]
    assert [row["B − A"] or None for row in rows] == (["-2", None, "61000"] if kind == "csv" else [-2, None, 61_000])


@pytest.mark.parametrize("kind", sorted(downloads.WRITERS))
def test_the_first_rows_that_differ_leave_with_their_sides(kind: str) -> None:
    frame = parting_frame(Parting(1, "at", None, "changed", {"k": 1, "v": 2.5}, {"k": 1, "v": None}))
    rows = read(kind, downloads.WRITERS[kind][0](downloads.columns_of_frame(frame, UTC)))
    assert [(row["Side"], str(row["k"]), row["v"] or None) for row in rows] == [
        ("A", "1", "2.5" if kind == "csv" else 2.5),
        ("B", "1", None),
    ]


def read(kind: str, content: bytes) -> list[dict[str, Any]]:
    if kind == "csv":
        return list(csv.DictReader(content.decode().splitlines()))
    return list(pq.read_table(io.BytesIO(content)).to_pylist())
