-- What a job says of a batch by df.observe: numbers, and the text of what is none. Older rows, and batches that say nothing, have NULL.
ALTER TABLE progress ADD COLUMN observed STRUCT(name VARCHAR, "value" DOUBLE, "text" VARCHAR)[];
ALTER TABLE latest_progress ADD COLUMN observed STRUCT(name VARCHAR, "value" DOUBLE, "text" VARCHAR)[];
