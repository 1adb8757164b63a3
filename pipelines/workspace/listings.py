"""The list of all jobs, which takes the longest of what is asked for often: made once for those that show figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.catalog import summaries
from pipelines.catalog.connection import Catalog
from pipelines.domain.jobs import JobSummary

KEPT_MS = 500
"""As old as what a read over REST answers may be."""


@dataclass(frozen=True)
class _Listed:
    jobs: Sequence[JobSummary]
    changes: int
    at_ms: int


class Listings:
    """The newest list. Safe for many threads: each that comes puts its own in place of the one before."""

    def __init__(self) -> None:
        self._listed: _Listed | None = None

    def now(self, catalog: Catalog, now_ms: int) -> Sequence[JobSummary]:
        """All jobs as they are, without findings of alerts."""
        changes = catalog.changes
        with catalog.reading() as reader:
            jobs = summaries.listed(reader, now_ms)
        self._listed = _Listed(jobs, changes, now_ms)
        return jobs

    def lately(self, catalog: Catalog, now_ms: int) -> Sequence[JobSummary]:
        """All jobs as they were at most `KEPT_MS` ago, where nothing but figures of batches was written since."""
        listed = self._listed
        if listed is not None and listed.changes == catalog.changes and 0 <= now_ms - listed.at_ms < KEPT_MS:
            return listed.jobs
        return self.now(catalog, now_ms)
