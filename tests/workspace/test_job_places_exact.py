"""A job whose checkpoint, output and savepoints lie in a bucket, in HDFS or on another disk, with real Spark: killed, saved, resumed,
rewound, forked, migrated, converted and rescaled it writes, row for row, what the same job in the workspace writes that was never
interrupted.

Each is tried every time, with some of the ways to go on; `tests/long/test_job_places.py` tries all in all."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import commits, logs, sink_log
from pipelines.domain.conversions import StateStore
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.runs import LEASES, RunState
from pipelines.storage import hosts
from pipelines.storage.addresses import open_storage
from pipelines.supervisor import processes
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.take import Take
from pipelines.workspace import job_places
from tests import s3_connector
from tests.driver.process import CONF
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace.serving import Server, serving

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(2400),
    pytest.mark.usefixtures("kept_jvms"),
]

SCRIPT = """
import sys
from pyspark.sql import SparkSession, functions as F
folder, output = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("k string, v int, t timestamp").option("maxFilesPerTrigger", 1).json(folder)
windows = events.withWatermark("t", "1 minute").groupBy("k", F.window("t", "2 minutes")).agg(F.sum("v").alias("s"), F.max("v").alias("m"))
flat = windows.select("k", F.col("window.start").alias("t"), "s", F.col("m").cast("long"))
flat.writeStream.queryName("sums").format("parquet").option("path", output + "/sums").start().awaitTermination()
"""
WIDER = SCRIPT.replace('F.max("v")', 'F.max(F.col("v").cast("long"))')
"""Keeps another type as state, of which the same rows come."""
BY_COLUMNS = {"columns": ""}
FILES = 5
HDFS_BACKED = {**CONF, "spark.sql.shuffle.partitions": "1"}
ONE_STORE = {
    **HDFS_BACKED,
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
PATIENCE_S = 400.0
UTC = {"spark.sql.session.timeZone": "UTC"}


def write_files(folder: Path, numbers: Iterable[int] = range(FILES)) -> None:
    """Files that are read one a batch, in the order of their numbers."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        rows = ({"k": f"k{at}", "v": number * 10 + at, "t": f"2024-01-01T00:{number * 2:02d}:00"} for at in range(3))
        aside = folder / f".{file_name(number)}"
        aside.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(aside, (1_700_000_000 + number,) * 2)
        aside.rename(folder / aside.name[1:])


def file_name(number: int) -> str:
    return f"{number:03d}.json"


def committed(server: Server, job: str) -> int:
    """The newest batch that the checkpoint has, wherever that lies."""
    storage = open_storage(f"{server.newest(job).checkpoints}/sums")
    return max(logs.batch_ids(entry.path.rpartition("/")[2] for entry in storage.list(commits.FOLDER)), default=-1)


def reaches(server: Server, job: str, batch: int) -> None:
    until(lambda: committed(server, job) >= batch or _failed(server, job), PATIENCE_S)


def state_partitions(server: Server, job: str) -> set[str]:
    """Partitions of its one operator that the checkpoint has state of."""
    state = open_storage(f"{server.newest(job).checkpoints}/sums").list("state/0")
    return {entry.path.split("/")[2] for entry in state if entry.path.endswith((".changelog", ".zip"))}


def _failed(server: Server, job: str) -> bool:
    assert not server.newest(job).state.has_failed, server.face.ask(ReadLog(job)).text
    return False


def written(server: Server, job: str, folder: Path) -> Counter[tuple[Any, ...]]:
    """The rows of the output, as a reader of its log sees them."""
    import duckdb

    context = server.face.context
    output = open_storage(f"{context.files.spec(JobName(job), server.newest(job).id).output}/sums")
    files = sink_log.live_files(sink_log.whole(output, sink_log.FOLDER), sys.maxsize)
    folder.mkdir()
    for number, file in enumerate(files):
        (folder / f"{number}.parquet").write_bytes(output.read(file.path.rpartition("/sums/")[2]))
    if not files:
        return Counter()
    with duckdb.connect() as db:
        return Counter(db.execute(f"SELECT k, t, s, m FROM read_parquet('{folder}/*.parquet')").fetchall())


def undisturbed(spark: Any, files: Path, folder: Path) -> Counter[tuple[Any, ...]]:
    """The rows that the script writes in the tests' own Spark, where nothing interrupts it; `folder` is for its files. A job is compared
    with that whose time zone is UTC."""
    import duckdb

    session = spark.newSession()
    conf = {**UTC, "spark.sql.shuffle.partitions": "1", "spark.sql.streaming.checkpointLocation": f"{folder.as_uri()}/state"}
    for key, value in conf.items():
        session.conf.set(key, value)
    code = SCRIPT.replace("SparkSession.builder.getOrCreate()", "session").replace(".start()", ".trigger(availableNow=True).start()")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["a.py", files.as_uri(), folder.as_uri()])
        exec(compile(code, "a.py", "exec"), {"__name__": "__main__", "session": session})
    with duckdb.connect() as db:
        rows = Counter(db.execute(f"SELECT k, t, s, m FROM read_parquet('{folder}/sums/*.parquet')").fetchall())
    assert rows
    return rows


def writes(server: Server, job: str, expected: Counter[tuple[Any, ...]], folder: Path) -> None:
    """Waits until the output is `expected`; `folder` is for what is read of it."""
    numbers = count()
    until(lambda: written(server, job, folder / f"{job}-{next(numbers)}") == expected or _failed(server, job), PATIENCE_S)


@dataclass(frozen=True)
class Home:
    """Where a job lies, and what its Spark needs for that."""

    url: str
    copied: str
    """How its savepoints are."""
    conf: Mapping[str, str]
    ways: frozenset[str]
    """How a job goes on there every time; from HDFS to a disk one does in `test_yarn_cluster.py`."""


RESCALED, AT_HOME, TO_DISK, TO_HOME = WAYS = ("rescaled", "at-home", "to-disk", "to-home")
"""In place; and as forks."""


@pytest.fixture(params=["s3", "hdfs", "disk"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """That on another disk is reached through a link."""
    if request.param == "s3" and (lacks := s3_connector.missing()):
        pytest.skip(lacks)
    url = f"{request.getfixturevalue(f'{request.param}_url')}/home"
    if request.param == "s3":
        return Home(url, "server-copy", s3_connector.conf(), frozenset({AT_HOME, TO_DISK}))
    if request.param == "disk":
        (tmp_path / "mnt").symlink_to(url.removesuffix("/home"))
        return Home(f"{tmp_path}/mnt/home", "link", {}, frozenset({TO_DISK}))
    return Home(url, "copy", {}, frozenset({RESCALED, TO_HOME}))


@pytest.fixture
def server(tmp_path: Path, home: Home) -> Iterator[Server]:
    one_environment()
    with serving(tmp_path / "workspace") as server:
        yield server


def begin(server: Server, name: str, folder: Path, conf: Mapping[str, str], home: str = "") -> None:
    do(server.face, RunScript(name=name, script="job.py", code=SCRIPT, args=(folder.as_uri(), "{output}"), conf=conf, home=home))


def test_a_job_at_a_home_is_exact(spark: Any, server: Server, home: Home, tmp_path: Path) -> None:
    is_exact(spark, server, home, tmp_path, home.ways)


def is_exact(spark: Any, server: Server, home: Home, tmp_path: Path, ways: Collection[str]) -> None:
    write_files(tmp_path / "in")
    expected = undisturbed(spark, tmp_path / "in", tmp_path / "undisturbed")
    write_files(tmp_path / "held", range(FILES - 1))
    begin(server, "there", tmp_path / "held", {**ONE_STORE, **UTC, **home.conf}, home.url)
    reaches(server, "there", 1)
    taken = do(server.face, Take("there"))
    assert taken.path.startswith(home.url) and server.face.ask(ReadManifest(taken.id)).how.keys() == {home.copied, "written"}
    reaches(server, "there", 3)
    kill(server, "there", home)
    write_files(tmp_path / "held", [FILES - 1])  # a query that begins after its last file runs no batch for what the watermark closed
    writes(server, "there", expected, tmp_path)
    server.stop("there", savepoint=False)
    do(server.face, Resume("there", batch=2))
    reaches(server, "there", FILES)
    server.stop("there", savepoint=False)
    assert written(server, "there", tmp_path / "again") == expected
    if RESCALED in ways:
        is_rescaled(server, taken.id, expected, tmp_path)
    forks = {
        AT_HOME: Fork(taken.id, name=AT_HOME, home=home.url, partitions=3, code=WIDER, migrate=BY_COLUMNS),
        TO_DISK: Fork(taken.id, name=TO_DISK),
    }
    if TO_HOME in ways:
        forks[TO_HOME] = from_disk(server, home, tmp_path)
    for name in forks.keys() & ways:
        partitions = forks[name].partitions
        do(server.face, forks[name])
        reaches(server, name, FILES + bool(partitions))  # a rescaling is a batch of its own
        assert len(state_partitions(server, name)) == (partitions or 1)
        server.stop(name, savepoint=False)
        assert written(server, name, tmp_path / name) == expected, name
        compared = server.face.ask(Compare("there", name))
        assert compared.equal == compared.rows_a == compared.rows_b > 0, compared
    gone = next((name for name in (AT_HOME, TO_HOME) if name in ways), "")
    if not gone:
        return
    place = job_places.of_job(server.face.context, JobName(gone))
    do(server.face, Forget(gone))
    assert not list(open_storage(place).list()) and written(server, "there", tmp_path / "still") == expected


def from_disk(server: Server, home: Home, tmp_path: Path) -> Fork:
    """Of a job in the workspace, with the default store."""
    begin(server, "here", tmp_path / "in", {**HDFS_BACKED, **UTC, **home.conf})
    reaches(server, "here", FILES)
    server.stop("here", savepoint=False)
    return Fork(do(server.face, Take("here", batch=2)).id, name=TO_HOME, home=home.url, store=StateStore.ROCKSDB)


def is_rescaled(server: Server, savepoint: SavepointId, expected: Counter[tuple[Any, ...]], tmp_path: Path) -> None:
    (tmp_path / "held" / file_name(FILES - 1)).unlink()
    do(server.face, Resume("there", from_savepoint=savepoint, force=True))  # without the last file, which comes back after the rescaling
    reaches(server, "there", FILES - 2)
    do(server.face, Rescale("there", 3))
    assert len(state_partitions(server, "there")) == 3
    write_files(tmp_path / "held", [FILES - 1])
    (tmp_path / "rescaled").mkdir()
    writes(server, "there", expected, tmp_path / "rescaled")
    server.stop("there", savepoint=False)


def kill(server: Server, job: str, home: Home) -> None:
    """SIGKILL to the driver and its Spark, and the restart that the supervisor begins, which waits for the disk where it is one."""
    context, run, disk = server.face.context, server.newest(job), Path(home.url)
    process = context.files.process(run.job, run.id)
    assert process is not None
    with context.holding(run.job):
        processes.kill(process, context.layout.run(run.job, run.id))
        if disk.is_absolute():
            locks = list(Path(run.checkpoints, LEASES).glob("*.lock"))
            until(lambda: not any(map(hosts.is_locked, locks)), PATIENCE_S, what="its Spark lives on")  # and may write
            disk.rename(f"{disk}.aside")
            disk.mkdir()  # where nothing is mounted
    until(lambda: server.newest(job).id != run.id, PATIENCE_S)
    if disk.is_absolute():
        until(lambda: server.newest(job).state is RunState.RESTARTING and server.newest(job).id != run.id, PATIENCE_S)
        ended = server.newest(job).exit
        assert ended is not None and ended.error_class == "home.away" and str(disk) in ended.message, ended
        disk.rmdir()  # nothing was made there
        Path(f"{disk}.aside").rename(disk)
        until(lambda: server.newest(job).state is RunState.RUNNING, PATIENCE_S)
