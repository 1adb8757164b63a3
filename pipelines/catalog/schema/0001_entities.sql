-- What exists: one row a thing, its queried columns beside the whole of it as JSON (`document`).
-- No primary keys: the one writer replaces by key, and DuckDB's indexes cost memory and slow appends.
CREATE TABLE jobs (name VARCHAR NOT NULL, created_ms BIGINT NOT NULL, document VARCHAR NOT NULL);
CREATE TABLE versions (id VARCHAR NOT NULL, created_ms BIGINT NOT NULL, document VARCHAR NOT NULL);
CREATE TABLE runs (
    id VARCHAR NOT NULL, job VARCHAR NOT NULL, version VARCHAR NOT NULL, state VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL, started_ms BIGINT, ended_ms BIGINT, document VARCHAR NOT NULL
);
CREATE TABLE queries (run VARCHAR NOT NULL, job VARCHAR NOT NULL, query VARCHAR NOT NULL, document VARCHAR NOT NULL);
CREATE TABLE savepoints (
    id VARCHAR NOT NULL, job VARCHAR NOT NULL, version VARCHAR NOT NULL, created_ms BIGINT NOT NULL,
    path VARCHAR NOT NULL, bytes BIGINT NOT NULL, new_bytes BIGINT NOT NULL, document VARCHAR NOT NULL
);
CREATE TABLE experiments (id VARCHAR NOT NULL, savepoint VARCHAR NOT NULL, created_ms BIGINT NOT NULL, document VARCHAR NOT NULL);
CREATE TABLE operations (
    id VARCHAR NOT NULL, job VARCHAR NOT NULL, state VARCHAR NOT NULL, created_ms BIGINT NOT NULL, document VARCHAR NOT NULL
);
CREATE TABLE events (
    at_ms BIGINT NOT NULL, kind VARCHAR NOT NULL, job VARCHAR, subject VARCHAR NOT NULL, message VARCHAR NOT NULL
);
