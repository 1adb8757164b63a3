"""Savepoints at a home with real Spark: what goes on from one equals, row for row, what was never interrupted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.replays import Kind, Outcome
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.storage.addresses import open_storage
from pipelines.verbs.attach import Attach
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.driver.process import CONF, batches
from tests.savepoint import queries
from tests.savepoint.matrix import QUERY, STORES, Bench, Line, difference, held, write_inputs
from tests.savepoint.matrix_steps import end_state_stores
from tests.savepoint.test_remote import upload
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace.conftest import CODE, House
from tests.workspace.replaying import SCRIPT, write_files
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

BATCH = 3
"""The last whole batch before the one in whose middle the job is killed."""
FILES = 6


@pytest.mark.parametrize(("store", "home", "copied"), [("hdfs", "s3", "server-copy"), ("format2", "hdfs", "copy")])
def test_a_fork_of_a_savepoint_beside_a_checkpoint_at_a_home_is_exact(
    store: str, home: str, copied: str, spark: Any, house: House, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each store at one home; `tests/long/test_homes.py` has them the other way round."""
    is_exact(store, request.getfixturevalue(f"{home}_url"), copied, spark, house, tmp_path)


def is_exact(store: str, url: str, copied: str, spark: Any, house: House, tmp_path: Path) -> None:
    """The checkpoint is gone when the fork is made: what lies at the home is all that it needs."""
    bench = Bench(Line(queries.windowed, STORES[store]), tmp_path / "bench", spark)
    write_inputs(bench.line, bench.folder, files=FILES)
    gate = bench.gates["theirs"] = held(BATCH + 1)
    theirs = bench.start("theirs")
    bench.run("reference")
    until(lambda: gate.reached.is_set() or not theirs.isActive)
    gate.released.set()
    theirs.stop()
    end_state_stores(bench)
    live = upload(bench.checkpoint("theirs"), f"{url}/live")
    do(house.face, Attach(name="theirs", checkpoints={QUERY: live}, sink="foreachBatch", spark_version="4.3.0"))
    taken = do(house.face, Take("theirs", batch=BATCH, home=f"{url}/savepoints"))
    assert house.face.ask(ReadManifest(taken.id)).how.keys() == {copied, "written"}
    open_storage(live).delete([entry.path for entry in open_storage(live).list()])
    fork = do(house.face, Fork(taken.id, name="ours", code=CODE, script="job.py"))
    bench.checkpoint("ours").parent.mkdir(parents=True)
    shutil.move(Path(house.face.context.files.spec(fork.job, fork.id).checkpoints) / QUERY, bench.checkpoint("ours"))
    bench.output("ours").mkdir(parents=True)
    bench.run("ours")
    expected = bench.rows("reference", BATCH + 1)
    assert expected and difference(bench.rows("ours"), expected) == {}


FIRST, ALL = 3, 8


def committed(server: Server, query: str) -> int:
    folder = Path(server.newest("a").checkpoints) / query
    return max(batches(folder, "commits"), default=-1) if (folder / "commits").is_dir() else -1


def read_until(server: Server, batch: int) -> None:
    """Until the job has read what there is, which ends with `batch`."""
    until(lambda: committed(server, "plain") == committed(server, "counts") == batch <= committed(server, "query-0"), 300)


def saved(server: Server, home: str) -> Savepoint:
    server.stop("a", savepoint=False)
    return do(server.face, Take("a", home=home))


def test_whatever_reads_a_savepoint_reads_it_at_its_home(kept_jvms: None, tmp_path: Path, s3_url: str) -> None:
    """A replay between two that lie in a bucket gives the job's own rows and state; one of them is proved and gone back to."""
    one_environment()
    home, folder = f"{s3_url}/savepoints", tmp_path / "in"
    with serving(tmp_path / "workspace") as server:
        face = server.face
        write_files(folder, range(FIRST))
        do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=(str(folder), "{output}"), conf=CONF))
        read_until(server, FIRST - 1)
        begun = saved(server, home)
        write_files(folder, range(FIRST, ALL))
        do(face, Resume("a"))
        read_until(server, ALL - 1)
        end = saved(server, home)
        replay = do(face, RunReplay(savepoint=begun.id, end=end.id))
        assert replay.outcome is Outcome.EQUAL and {part.kind for part in replay.parts} == {Kind.OUTPUT, Kind.STATE}, replay
        assert do(face, Verify(begun.id, Trust.PROVED)).reached is Trust.PROVED
        do(face, Resume("a", from_savepoint=begun.id))
        read_until(server, ALL - 1)
        assert server.newest("a").state is RunState.RUNNING, face.ask(ReadLog("a")).text
