"""What jobs observe of their batches (`df.observe`), as the catalog keeps it beside a batch: a list of structs, or NULL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import REAL, TEXT, arrow, lists, row
from pipelines.domain.observed import MOST, Observed, ObservedNow, ObservedSeries
from pipelines.domain.progress import Progress

OBSERVED = "observed"
_KEPT_A_BUCKET = 3

_ANY = "SELECT 1 FROM progress WHERE job = $job AND at_ms BETWEEN $begin AND $end AND observed IS NOT NULL LIMIT 1"

# The names that are newest, as many as a batch has at most. Where a number has too many points, of each bucket of time
# stay its greatest, its least and its last: one bad batch in a day is seen. A batch that ran again counts once.
_OVER_TIME = """
WITH told AS (
    SELECT query, batch, at_ms, {moment} AS moment, observed FROM progress
    WHERE job = $job AND at_ms BETWEEN $begin AND $end AND {moment} IS NOT NULL AND observed IS NOT NULL
    {newest}
), numbers AS (
    SELECT query, one.name AS name, moment, one.value AS value
    FROM (SELECT query, moment, unnest(observed) AS one FROM told) WHERE one.value IS NOT NULL
), known AS (
    SELECT query, name, count(*) AS n, min(moment) AS first, greatest(max(moment) - min(moment), 1) AS span
    FROM numbers GROUP BY query, name ORDER BY max(moment) DESC, query, name LIMIT $most
), placed AS (
    SELECT query, name, moment, value,
           if(n <= $points, NULL, least(floor((moment - first) / span * $buckets), $buckets - 1)) AS bucket
    FROM numbers JOIN known USING (query, name)
), kept AS (
    SELECT query, name, moment, value FROM placed WHERE bucket IS NULL
    UNION ALL
    SELECT query, name, point.moment, point.value FROM (
        SELECT query, name, unnest(list_distinct([
            arg_max({{moment: moment, value: value}}, value), arg_min({{moment: moment, value: value}}, value),
            arg_max({{moment: moment, value: value}}, moment)
        ])) AS point
        FROM placed WHERE bucket IS NOT NULL GROUP BY query, name, bucket
    )
)
SELECT query, name, moment::DOUBLE, value FROM kept ORDER BY query, name, moment
"""


def arrow_columns(batches: Sequence[Progress]) -> dict[str, Any]:
    """The column of `batches` as a flat Arrow array."""
    values = [observed for batch in batches for observed in batch.observed]
    fields = {
        "name": arrow(TEXT, [value.name for value in values]),
        "value": arrow(REAL, [value.value for value in values]),
        "text": arrow(TEXT, [value.text for value in values]),
    }
    return {OBSERVED: lists([batch.observed for batch in batches], fields, is_null_if_empty=True)}


def observed_of(cell: Sequence[Mapping[str, Any]] | None) -> tuple[Observed, ...]:
    """The values in a cell; none in a row of before they were kept."""
    return tuple(Observed(**observed) for observed in cell or ())


def now(cells: Sequence[Mapping[str, Any]] | None) -> tuple[ObservedNow, ...]:
    """The numbers of the newest batches of a job's queries, at most `MOST`."""
    numbers = (
        ObservedNow(cell["query"], observed.name, observed.value)
        for cell in cells or ()
        for observed in observed_of(cell[OBSERVED])
        if observed.value is not None
    )
    return tuple(numbers)[:MOST]


def over_time(reader: Reader, of: Mapping[str, Any], points: int, *, moment: str, newest: str) -> tuple[ObservedSeries, ...]:
    """Each number of a job over the batches that a series is of (`of`: job, begin and end), at most `points` of it."""
    if row(reader, _ANY, {name: of[name] for name in ("job", "begin", "end")}) is None:
        return ()  # planning the other one takes longer
    sizes = {"points": points, "buckets": points // _KEPT_A_BUCKET, "most": MOST}
    lines: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for query, name, at_ms, value in reader.execute(_OVER_TIME.format(moment=moment, newest=newest), {**of, **sizes}).fetchall():
        lines[query, name].append((at_ms, value))
    return tuple(ObservedSeries(*key, *zip(*line, strict=True)) for key, line in lines.items())
