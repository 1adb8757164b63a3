-- How often each author is read, minute by minute, in SQL: the job views_by_author_counted.py without any Python.
--
-- The story: a view knows its page, a table of pages knows their authors. STREAM reads a source as it grows, with its watermark; pages is read
-- whole, in each batch anew. The sink names the query and writes to the job's own output directory. ${views} is the argument --views. The same
-- once over all views there are, as a batch: CREATE MATERIALIZED VIEW, and no STREAM.

CREATE TEMPORARY VIEW views (view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE)
USING json OPTIONS (path '${views}', maxFilesPerTrigger '1');

CREATE TEMPORARY VIEW pages (page STRING, author STRING)
USING json OPTIONS (path '${pages}');

CREATE STREAMING TABLE reading_time USING parquet TBLPROPERTIES ('trigger' = '1 second') AS
SELECT window.start, author, count(seconds) AS seconds
FROM STREAM views WATERMARK at DELAY OF INTERVAL 1 MINUTE JOIN pages USING (page)
GROUP BY window(at, '1 minute'), author;
