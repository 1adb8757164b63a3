-- The newest moment at which the driver of a run said of a query that all its data is worked off: one query may be idle while another hangs.
DROP TABLE latest_idle;
CREATE TABLE latest_idle (job VARCHAR NOT NULL, run VARCHAR NOT NULL, query_id VARCHAR NOT NULL, at_ms BIGINT NOT NULL, gap_ms BIGINT);
