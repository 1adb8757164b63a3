-- The newest moment at which the driver of a run said that all its data is worked off, and the time since it said so before.
CREATE TABLE latest_idle (job VARCHAR NOT NULL, run VARCHAR NOT NULL, at_ms BIGINT NOT NULL, gap_ms BIGINT);
-- The usual time between the begins of two batches: a geometric mean over about the last twenty, so that one long night counts little.
ALTER TABLE latest_progress ADD COLUMN gap_ms DOUBLE;
-- The newest event time that was read, from which the lag of now follows.
ALTER TABLE latest_progress ADD COLUMN event_max_ms BIGINT;
