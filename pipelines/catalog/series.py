"""A job's progress over time, downsampled in SQL so that peaks survive."""

from __future__ import annotations

from typing import Any

from pipelines.catalog import observed, operators
from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import row
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName
from pipelines.domain.moments import DAY_MS, HOUR_MS

EVENT_SPAN_MS = 7 * DAY_MS
"""How far back from its newest batch a job's event-time series reaches."""
_SIZE_REACH_MS = HOUR_MS
_KEPT_A_BUCKET = 6
_ROW = "place_in_table"

# Of each bucket of time stay the batches with the longest and the shortest duration, the greatest input rate, the greatest lag,
# the most late rows, and the last. `moment` is what the series runs over: the batch's end, or its greatest event time.
# They are chosen by these few columns, and only then read whole, by their row ids: a day of all columns is ten times as much work.
_SERIES = """
WITH chosen AS MATERIALIZED (
    SELECT rowid AS place_in_table, at_ms, batch_ms, input_rate, late_rows, {moment} AS moment,
           if(event_max_ms IS NULL, NULL, greatest(at_ms + batch_ms - event_max_ms, 0)) AS event_lag_ms
    FROM progress
    WHERE job = $job AND at_ms BETWEEN $begin AND $end AND {moment} IS NOT NULL
    {newest}
), extent AS (
    SELECT count(*) AS n, min(moment) AS first, greatest(max(moment) - min(moment), 1) AS span FROM chosen
), placed AS MATERIALIZED (
    SELECT chosen.*, row_number() OVER (ORDER BY moment, at_ms) AS place,
           CASE WHEN n <= $points THEN NULL ELSE least(floor((moment - first) / span * $buckets), $buckets - 1) END AS bucket
    FROM chosen, extent
), kept AS (
    SELECT unnest([arg_max(place, batch_ms), arg_min(place, batch_ms), arg_max(place, input_rate), arg_max(place, event_lag_ms),
                   arg_max(place, late_rows), max(place)]) AS place
    FROM placed WHERE bucket IS NOT NULL GROUP BY bucket
), points AS (
    SELECT progress.*, place_in_table, at_ms + batch_ms AS end_ms, moment, place, event_lag_ms
    FROM progress JOIN (
        SELECT place_in_table, moment, place, event_lag_ms FROM placed WHERE bucket IS NULL OR place IN (SELECT place FROM kept)
    ) AS few ON progress.rowid = few.place_in_table
)
SELECT moment::DOUBLE AS t, batch AS batch_id, batch_ms, input_rows, input_rate, processed_rate, add_batch_ms, get_batch_ms,
       latest_offset_ms, planning_ms, wal_commit_ms, commit_offsets_ms, commit_batch_ms, watermark_ms,
       event_max_ms AS event_time_max_ms, event_lag_ms, late_rows, state_rows, points.state_bytes,
       size.checkpoint_bytes, size.state_bytes AS checkpoint_state_bytes, size.log_bytes AS checkpoint_log_bytes,
       size.source_bytes AS checkpoint_source_bytes, place_in_table
FROM points ASOF LEFT JOIN (
    SELECT job, at_ms, checkpoint_bytes, state_bytes, log_bytes, source_bytes FROM sizes
    WHERE job = $job AND at_ms BETWEEN $begin - $reach AND $end + $reach
) AS size ON points.job = size.job AND points.end_ms >= size.at_ms
ORDER BY place
"""

# A resume from an older savepoint runs batches again: the newest of each counts.
_NEWEST = "QUALIFY row_number() OVER (PARTITION BY query, batch ORDER BY at_ms DESC) = 1"


def series(reader: Reader, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
    """Batches triggered from `from_ms` to `to_ms`, at most `points` of them."""
    return _series(reader, job, {"begin": from_ms, "end": to_ms}, points, moment="(at_ms + batch_ms)", newest="")


def event_series(reader: Reader, job: str, *, points: int = 600) -> Series:
    """The same over event time: `t` is a batch's greatest event time; batches without events are left out."""
    newest_ms = row(reader, "SELECT max(at_ms) FROM latest_progress WHERE job = ?", [job])
    last = newest_ms[0] if newest_ms and newest_ms[0] is not None else 0
    span = {"begin": last - EVENT_SPAN_MS, "end": last}
    return _series(reader, job, span, points, moment="event_max_ms", newest=_NEWEST)


def _series(reader: Reader, job: str, values: dict[str, Any], points: int, *, moment: str, newest: str) -> Series:
    if points < _KEPT_A_BUCKET:
        raise Invalid("series.points", f"{points} points are too few for a series", f"Ask for at least {_KEPT_A_BUCKET}.")
    sizes = {"points": points, "buckets": points // _KEPT_A_BUCKET, "reach": _SIZE_REACH_MS}
    of = {"job": job, **values}
    cursor = reader.execute(_SERIES.format(moment=moment, newest=newest), {**of, **sizes})
    names = [column[0] for column in cursor.description or ()]
    rows = cursor.fetchall()
    columns = dict(zip(names, zip(*rows, strict=True) if rows else [() for _ in names], strict=True))
    moments = dict(zip(columns.pop(_ROW), columns["t"], strict=True))
    numbers = observed.over_time(reader, of, points, moment=moment, newest=newest)
    return Series(JobName(job), columns, *operators.over_time(reader, moments), numbers)
