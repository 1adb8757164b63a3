-- What was measured, in the order it came, and how far each file has been read.
CREATE TABLE progress (
    job VARCHAR NOT NULL, run VARCHAR NOT NULL, query VARCHAR NOT NULL, query_id VARCHAR NOT NULL, spark_run_id VARCHAR NOT NULL,
    batch BIGINT NOT NULL, at_ms BIGINT NOT NULL, batch_ms DOUBLE NOT NULL,
    input_rows BIGINT NOT NULL, input_rate DOUBLE, processed_rate DOUBLE,
    add_batch_ms DOUBLE, get_batch_ms DOUBLE, latest_offset_ms DOUBLE, planning_ms DOUBLE,
    wal_commit_ms DOUBLE, commit_offsets_ms DOUBLE, commit_batch_ms DOUBLE,
    watermark_ms BIGINT, event_min_ms BIGINT, event_avg_ms BIGINT, event_max_ms BIGINT,
    late_rows BIGINT NOT NULL, state_rows BIGINT, state_bytes BIGINT, output_rows BIGINT,
    sources VARCHAR NOT NULL
);
-- The newest progress of each query of each job, so that the overview does not search the past.
CREATE TABLE latest_progress (
    job VARCHAR NOT NULL, query VARCHAR NOT NULL, run VARCHAR NOT NULL, at_ms BIGINT NOT NULL,
    batch BIGINT NOT NULL, batch_ms DOUBLE NOT NULL, input_rate DOUBLE, processed_rate DOUBLE,
    watermark_ms BIGINT, lag_ms DOUBLE, late_rows BIGINT NOT NULL, state_rows BIGINT, state_bytes BIGINT
);
CREATE TABLE sizes (
    job VARCHAR NOT NULL, run VARCHAR NOT NULL, at_ms BIGINT NOT NULL, checkpoint_bytes BIGINT NOT NULL,
    state_bytes BIGINT NOT NULL, log_bytes BIGINT NOT NULL, source_bytes BIGINT NOT NULL
);
CREATE TABLE latest_size (job VARCHAR NOT NULL, run VARCHAR NOT NULL, at_ms BIGINT NOT NULL, checkpoint_bytes BIGINT NOT NULL);
CREATE TABLE tails (path VARCHAR NOT NULL, byte_offset BIGINT NOT NULL);
