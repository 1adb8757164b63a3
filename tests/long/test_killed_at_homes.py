"""A sandbox, and a server, that are killed while Spark itself writes state at a home: nothing of it is listed, nothing stays, and the next
try gives, row for row, the state that one gives which nobody killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.runs import RunState
from pipelines.sandbox.requests import MARK
from pipelines.storage.addresses import open_storage
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.take import Take
from pipelines.workspace import states
from tests import s3_connector
from tests.golden.make import configured
from tests.savepoint.matrix import FORMAT_2
from tests.workspace.conftest import House, house
from tests.workspace.killed_while_spark_writes import once_spark_wrote
from tests.workspace.test_job_places import assert_as_before, jobs_and_runs, lying, ran

__all__ = ["house"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_what_spark_was_writing_at_a_home_is_removed(
    house: House, kind: str, spark: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "s3" and (lacks := s3_connector.missing()):
        pytest.skip(lacks)
    home = f"{request.getfixturevalue(f'{kind}_url')}/home"
    house.see(ran(house, home, conf=s3_connector.conf() if kind == "s3" else {}), RunState.STOPPED)
    taken = do(house.face, Take("a"))
    do(house.face, Fork(taken.id, name="undisturbed", home=home, partitions=4))
    before, listed = lying(home), jobs_and_runs(house)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "follow", once_spark_wrote(home, before, lambda: kill_sandbox(house.root)))
        with pytest.raises(Unavailable) as failed:
            do(house.face, Fork(taken.id, name="b", home=home, partitions=4))
    assert failed.value.code == "sandbox.failed"
    assert_as_before(house, home, before, listed)
    house.face.close()
    command = [sys.executable, "-m", "tests.workspace.killed_while_spark_writes", str(house.root), taken.id, home]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert lying(home) - before, "Spark wrote there"
    house.open()
    assert_as_before(house, home, before, listed)
    assert not sandboxes(house.root)
    do(house.face, Fork(taken.id, name="b", home=home, partitions=4))
    kept = state_of(house, "b", spark, tmp_path / "b")
    assert len({row[0] for row in kept}) > 1 and kept == state_of(house, "undisturbed", spark, tmp_path / "undisturbed")


def state_of(house: House, job: str, spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """Rows of the state of a job's newest checkpoint, with the partition of each, as Spark's own reader finds them in a copy of it."""
    (run,) = house.face.ask(ShowJob(job)).runs
    checkpoint = open_storage(f"{run.checkpoints}/counts")
    for entry in checkpoint.list():
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(checkpoint.read(entry.path))
    frame = configured(spark.newSession(), FORMAT_2).read.format("statestore").load(str(folder))
    rows = frame.selectExpr("partition_id", "to_json(key)", "to_json(value)").collect()
    return Counter(tuple(row) for row in rows)


def sandboxes(root: Path) -> list[psutil.Process]:
    """Living processes of the sandboxes of the workspace."""
    return [process for process in psutil.process_iter(["environ"]) if str(root) in (process.info["environ"] or {}).get(MARK, "")]


def kill_sandbox(root: Path) -> None:
    """SIGKILL to Python and Java of it."""
    for process in sandboxes(root):
        process.kill()
