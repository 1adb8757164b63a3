-- What a batch's progress says of each stateful operator, and of what its sources have not read yet. Older rows have none.
-- Lists beside the batch: no row more is written, and a series reads them only for the batches that it keeps.
ALTER TABLE progress ADD COLUMN operators STRUCT(
    name VARCHAR, "rows" BIGINT, updated BIGINT, removed BIGINT, late_rows BIGINT, memory_bytes BIGINT,
    update_ms BIGINT, removal_ms BIGINT, commit_ms BIGINT, partitions BIGINT, stores BIGINT, custom MAP(VARCHAR, BIGINT)
)[];
ALTER TABLE progress ADD COLUMN backlog STRUCT(source BIGINT, name VARCHAR, amount BIGINT, unit VARCHAR)[];
