"""The figures of queries, stateful operators and sources that Prometheus scrapes: those of the newest batch. Pure."""

from __future__ import annotations

from pipelines.domain.operators import OperatorProgress
from pipelines.domain.query_figures import QueryNow, SourceNow
from pipelines.words.figures import Figure, seconds

OF_QUERIES: tuple[Figure[QueryNow], ...] = (
    Figure("query_batch", "Newest batch of the query", lambda query: query.batch),
    Figure("query_batch_seconds", "Duration of the query's newest batch", lambda query: seconds(query.batch_ms)),
    Figure("query_input_rows_per_second", "Rows a second that the query's sources read", lambda query: query.input_rate),
    Figure("query_processed_rows_per_second", "Rows a second that Spark worked off for the query", lambda query: query.processed_rate),
    Figure(
        "query_output_rows_per_second",
        "Rows a second that the query wrote while its newest batch ran, where its sink counts them",
        lambda query: query.output_rate,
    ),
    Figure("query_event_time_lag_seconds", "How far the query's newest event is behind the clock", lambda query: seconds(query.lag_ms)),
    Figure(
        "query_watermark_lag_seconds", "How far the query's watermark is behind the clock", lambda query: seconds(query.watermark_lag_ms)
    ),
    Figure("query_late_rows", "Rows that came after the watermark and were dropped, newest run", lambda query: query.late_rows),
    Figure("query_state_rows", "Rows of state of the query", lambda query: query.state_rows),
    Figure("query_state_bytes", "Bytes of the query's state as Spark reports them", lambda query: query.state_bytes),
)
OF_OPERATORS: tuple[Figure[OperatorProgress], ...] = (
    Figure("operator_state_rows", "Rows of state of a stateful operator", lambda operator: operator.rows),
    Figure("operator_state_bytes", "Bytes of an operator's state as Spark reports them", lambda operator: operator.memory_bytes),
    Figure("operator_batch_updated_rows", "Rows of state that the newest batch updated", lambda operator: operator.updated),
    Figure("operator_batch_removed_rows", "Rows of state that the newest batch removed", lambda operator: operator.removed),
    Figure("operator_batch_late_rows", "Rows that the operator dropped as too late, newest batch", lambda operator: operator.late_rows),
    Figure(
        "operator_batch_commit_seconds",
        "Time to commit the operator's state, newest batch, summed over its tasks",
        lambda operator: seconds(operator.commit_ms),
    ),
)
OF_SOURCES: tuple[Figure[SourceNow], ...] = (
    Figure("source_batch_rows", "Rows that the source gave the newest batch", lambda source: source.rows),
    Figure("source_input_rows_per_second", "Rows a second that the source gave", lambda source: source.input_rate),
    Figure("source_processed_rows_per_second", "Rows a second of the source that Spark worked off", lambda source: source.processed_rate),
)
