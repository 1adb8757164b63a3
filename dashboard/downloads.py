"""Rows of a table as a file. The browser sends the rows that it shows, so nothing is made before somebody asks for it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pipelines.api.body_limit import LimitBody
from pipelines.domain.json_text import read_json

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


COMPUTED = tuple("=+-@\t\r\n＝＋－＠")
"""What begins a text that spreadsheets take for a formula (https://owasp.org/www-community/attacks/CSV_Injection)."""
NUMBER = re.compile(r"[+-]?\d[\d.]*(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """A name with its unit in brackets, and one value a row; moments are all in the time zone `times`."""

    name: str
    values: Sequence[Any]
    times: tzinfo | None = None


def routes() -> list[Route]:
    """`POST /download/csv` and `/download/parquet`: a JSON of `columns` (each `name`, `unit`), `rows` and `zone` becomes a file."""
    return [Route("/download/{kind}", serve_download, methods=["POST"], middleware=[Middleware(LimitBody)])]


async def serve_download(request: Request) -> Response:
    """The file; 404 for another kind of file, 400 for what is no table, 413 for a larger body than any request may have."""
    kind = request.path_params["kind"]
    if kind not in WRITERS:
        return PlainTextResponse(f"the format must be {' or '.join(WRITERS)}", status_code=404)
    write, media_type = WRITERS[kind]
    sent = await request.body()
    try:
        file = await run_in_threadpool(lambda: write(columns_of(read_json(sent))))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as error:
        return PlainTextResponse(f"not a table: {type(error).__name__}", status_code=400)
    return Response(file, media_type=media_type, headers={"Cache-Control": "no-store"})


def columns_of(table: Mapping[str, Any]) -> list[Column]:
    """The browser's table as columns; ValueError where a row has another number of cells, LookupError where there is no such zone."""
    heads, rows, zone = table["columns"], table["rows"], ZoneInfo(table.get("zone", "UTC"))
    by_column = list(zip(*rows, strict=True)) if rows else [()] * len(heads)
    return [_column(head["name"], head.get("unit", ""), values, zone) for head, values in zip(heads, by_column, strict=True)]


def _column(name: str, unit: str, values: Sequence[Any], zone: tzinfo) -> Column:
    if unit == "time":
        return _moments(name, [None if at_ms is None else datetime.fromtimestamp(at_ms / 1_000, UTC) for at_ms in values], zone)
    return _plain_column(name, unit, values)


def _moments(name: str, values: Sequence[datetime | None], zone: tzinfo) -> Column:
    return Column(f"{name} ({zone})", [None if at is None else at.astimezone(zone) for at in values], zone)


def _plain_column(name: str, unit: str, values: Sequence[Any]) -> Column:
    if not all(value is None or isinstance(value, int | float) for value in values):
        values = [None if value is None else str(value) for value in values]
    return Column(f"{name} ({unit})" if unit else name, values)


def columns_of_frame(frame: pd.DataFrame, zone: tzinfo) -> list[Column]:
    """A data frame's columns: times in the zone, lists as their words, missing values as None."""
    return [_frame_column(str(name), frame[name], zone) for name in frame.columns]


def _frame_column(name: str, values: pd.Series[Any], zone: tzinfo) -> Column:
    import pandas as pd

    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return _moments(name, [None if pd.isna(at) else at.to_pydatetime() for at in values], zone)
    cells = [", ".join(map(str, value)) if isinstance(value, list) else None if pd.isna(value) else value for value in values.tolist()]
    return _plain_column(name, "", cells)


def as_csv(columns: Sequence[Column]) -> bytes:
    """Comma-separated in UTF-8, with a head; numbers are plain, times ISO 8601 with their zone's offset, a missing value is empty. A text
    that a spreadsheet would compute has `'` in front, as OWASP's page on CSV injection advises."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_plain(column.name) for column in columns])
    writer.writerows(zip(*([_plain(value) for value in column.values] for column in columns), strict=True))
    return out.getvalue().encode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"'{value}" if isinstance(value, str) and value.startswith(COMPUTED) and not NUMBER.fullmatch(value) else value


def as_parquet(columns: Sequence[Column]) -> bytes:
    """A Parquet file: int64 or double, timestamps in their zone, or text; names that occur twice are numbered."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table([_array(column) for column in columns], names=_apart([column.name for column in columns])), out)
    return out.getvalue()


def _array(column: Column) -> pa.Array:
    import pyarrow as pa

    if column.times:
        return pa.array(column.values, pa.timestamp("ms", tz=str(column.times)))
    given = [value for value in column.values if value is not None]
    if not given or any(isinstance(value, str) for value in given):
        return pa.array(column.values, pa.string())
    return pa.array(column.values, pa.int64() if all(isinstance(value, int) for value in given) else pa.float64())


def _apart(names: Sequence[str]) -> list[str]:
    return [name if name not in names[:place] else f"{name} {names[: place + 1].count(name)}" for place, name in enumerate(names)]


WRITERS: Mapping[str, tuple[Callable[[Sequence[Column]], bytes], str]] = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "parquet": (as_parquet, "application/vnd.apache.parquet"),
}
