"""Where a job's charts begin."""

from __future__ import annotations

import pytest

from dashboard.views.job.metrics import since_ms
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job

NOW = 10_000_000.0
QUARTER_MS = 900_000


@pytest.mark.parametrize(
    ("created_ago_ms", "begins_ago_ms"),
    [(5_000_000, QUARTER_MS), (QUARTER_MS, QUARTER_MS), (300_000, 305_000), (1_000, 120_000)],
    ids=["older", "as old", "younger", "just begun"],
)
def test_a_young_job_has_the_whole_width(created_ago_ms: int, begins_ago_ms: int) -> None:
    job = Job(JobName("a"), int(NOW) - created_ago_ms)
    assert since_ms(job, QUARTER_MS, NOW) == NOW - begins_ago_ms
