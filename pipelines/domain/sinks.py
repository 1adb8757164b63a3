"""Sinks: which ones write files, and what a restore leaves of each for the driver that begins from it, in its folder
(`RunSpec.sink_logs`)."""

FILE_SINKS = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml"})
LOG = "_spark_metadata"
"""In the output of a file sink: Spark's log of the files that it has written."""
ROOT = "root"
"""Beside a restored log: the output directory that its entries were written to. A log without it brings no files along."""
OWN = "own"
"""Beside a log that goes back: it is put there before any query begins, as others of the job may read the output."""
BATCH = "batch"
"""Beside a restored log: the batch that the checkpoint ends with, one past the log's last, where its state was rewritten."""
TABLE = "table"
"""The savepoint's Delta table, which the driver puts where the fork writes."""
BACK = "back.json"
"""Beside that table: a `Back`, where the parent's own table goes back to what that is. A fork, whose table begins with it, has none."""
