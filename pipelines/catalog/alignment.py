"""The batches of two jobs laid beside each other by event time: how each did on the same events."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pipelines.catalog.connection import Reader
from pipelines.catalog.series import EVENT_SPAN_MS
from pipelines.catalog.tables import dicts, row

MOST_STRETCHES = 400

# The event time that both jobs have batches in is cut into equal stretches, as many as the job with fewer batches has. Of batches that ran
# again the newest counts.
_PLACED = """
WITH batches AS (
    SELECT job = $b AS is_b, event_max_ms AS t, batch_ms, processed_rate, state_rows, state_bytes, observed
    FROM progress WHERE job IN ($a, $b) AND query = $query AND event_max_ms IS NOT NULL AND at_ms >= $since
    QUALIFY row_number() OVER (PARTITION BY job, batch ORDER BY at_ms DESC) = 1
), span AS (
    SELECT max(first) AS first, min(last) AS last FROM (SELECT min(t) AS first, max(t) AS last FROM batches GROUP BY is_b)
), shared AS (
    SELECT * FROM batches, span WHERE t BETWEEN first AND last
), placed AS (
    SELECT *, floor((t - first) / (last - first + 1) * n)::BIGINT AS stretch
    FROM shared, (SELECT least(count(*) FILTER (is_b), count(*) FILTER (NOT is_b), $most) AS n FROM shared)
)
"""

# Of each stretch with batches of both: the means of what a batch takes, and the state as it was in the end.
_STRETCHES = f"""{_PLACED}, done AS (
    SELECT is_b, stretch, avg(batch_ms) AS batch_ms, avg(processed_rate) AS processed_rate,
           arg_max(state_rows, t) AS state_rows, arg_max(state_bytes, t) AS state_bytes
    FROM placed GROUP BY is_b, stretch
)
SELECT a.batch_ms AS a_batch_ms, b.batch_ms AS b_batch_ms, a.processed_rate AS a_processed_rate, b.processed_rate AS b_processed_rate,
       a.state_rows AS a_state_rows, b.state_rows AS b_state_rows, a.state_bytes AS a_state_bytes, b.state_bytes AS b_state_bytes
FROM done AS a JOIN done AS b USING (stretch) WHERE NOT a.is_b AND b.is_b ORDER BY stretch
"""

# The means of what both jobs observed in a stretch, by name.
_OBSERVED = f"""{_PLACED}, numbers AS (
    SELECT is_b, stretch, unnest(observed) AS one FROM placed
), done AS (
    SELECT is_b, stretch, one.name AS name, avg(one.value) AS value FROM numbers WHERE one.value IS NOT NULL GROUP BY ALL
)
SELECT name, a.value AS a_observed, b.value AS b_observed
FROM done AS a JOIN done AS b USING (name, stretch) WHERE NOT a.is_b AND b.is_b ORDER BY name, stretch
"""


def stretches(reader: Reader, a: str, b: str, query: str) -> list[dict[str, float | None]]:
    """Stretches of event time in which both jobs have batches of `query`, earliest first: `a_batch_ms`, `b_batch_ms`, …"""
    return dicts(reader, _STRETCHES, _asked(reader, a, b, query))


def observed(reader: Reader, a: str, b: str, query: str) -> dict[str, list[dict[str, float | None]]]:
    """The same stretches for each number that both jobs observed in `query`: name -> `a_observed`, `b_observed`."""
    numbers: defaultdict[str, list[dict[str, float | None]]] = defaultdict(list)
    for stretch in dicts(reader, _OBSERVED, _asked(reader, a, b, query)):
        numbers[stretch.pop("name")].append(stretch)
    return numbers


def _asked(reader: Reader, a: str, b: str, query: str) -> dict[str, Any]:
    newest = row(reader, "SELECT max(at_ms) FROM latest_progress WHERE job IN (?, ?)", [a, b])
    since = (newest[0] if newest and newest[0] is not None else 0) - EVENT_SPAN_MS
    return {"a": a, "b": b, "query": query, "since": since, "most": MOST_STRETCHES}


def shared_query(reader: Reader, a: str, b: str) -> str:
    """The first query, by name, that both jobs have progress of; empty if there is none."""
    both = "SELECT min(query) FROM latest_progress AS a JOIN latest_progress AS b USING (query) WHERE a.job = ? AND b.job = ?"
    query_row = row(reader, both, [a, b])
    return str(query_row[0]) if query_row and query_row[0] is not None else ""
