"""A query that reads what its job's own code puts into the job's output: a fork would look for it in an output of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.jobs import Run
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.take import Take
from tests.workspace.conftest import House


@pytest.fixture
def run(house: House) -> Run:
    run = house.ran()
    source = Path(run.checkpoints) / "counts" / "sources" / "0"
    events = house.face.layout.output(run.job) / "made by foreachBatch"
    for log in source.glob("[0-9]*"):
        log.write_text(log.read_text().replace('"path":"file:///tmp', f'"path":"{events.as_uri()}'))
    return run


def test_a_fork_that_would_not_find_what_its_job_put_into_its_output_is_refused(house: House, run: Run) -> None:
    saved = do(house.face, Take(run.job))
    with pytest.raises(Conflict, match=r"Query counts reads .*made by foreachBatch/.*, in the output of a: a fork has") as refused:
        do(house.face, Fork(saved.id, name="b"))
    assert refused.value.code == "restore.own_read"
    named = ("--output", "{output}", "--events", str(house.face.layout.output(run.job) / "made by foreachBatch"))
    assert do(house.face, Fork(saved.id, name="b", args=named)).job == "b"
