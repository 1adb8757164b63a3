"""Removes a commit that Spark wrote for a batch whose state was not computed.

A foreachBatch that returns early (a writer that has the batch already, a `show()`) leaves state stores out. Spark notices that after
it has written `commits/N`, and fails the query (`STATE_STORE_COMMIT_VALIDATION_FAILED`). Started again it would go on after N, with
the watermark of the batch before and with whatever state a killed run had left: late rows are then taken, without an error.
"""

from __future__ import annotations

import re

from pipelines.driver.failures import Failure
from pipelines.driver.records import Records
from pipelines.driver.sinklog import checksum, newest
from pipelines.hadoop.paths import Place

NOT_VALID = "STATE_STORE_COMMIT_VALIDATION_FAILED"
_BATCH = re.compile(r"validation failed for batch ([0-9]+)")


def take_back(records: Records, query: str, checkpoint: Place, failure: Failure) -> None:
    """Removes the commit of the batch that `failure` says is not valid, if it is the newest; the batch is then done again."""
    match = _BATCH.search(failure.message) if failure.error_class == NOT_VALID else None
    log = checkpoint / "commits"
    if match is None or newest(log) != int(match[1]):
        return
    entry = log / match[1]
    checksum(entry).unlink(missing_ok=True)
    entry.unlink()
    message = f"Spark had committed batch {match[1]} before it saw that its state was not computed: the commit was taken back."
    records.event("commit.taken_back", message, query)
