-- Of a job that is watched from outside only the offsets are known, and not every source's offsets tell how many rows they are.
ALTER TABLE progress ALTER COLUMN input_rows DROP NOT NULL;
