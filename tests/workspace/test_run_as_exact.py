"""A job whose code runs as another user: its savepoint and its fork are exact, and neither is in its reach."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.resources import HELD_FILE, Held, Resources
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox import classes
from pipelines.sandbox.environment import ROOT
from pipelines.sandbox.java import java_home
from pipelines.storage import users
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.workspace import run_as
from tests.other_user import MAY_SWITCH, NAME, passable
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.serving import Server, serving
from tests.workspace.test_runtimes_exact import put, rows_of

pytestmark = pytest.mark.spark
CODE = """
import getpass, json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F

into, output = sys.argv[1:]
output = Path(output)
root = next(path.parent for path in output.parents if path.name in ("jobs", "sandbox"))

def can(what):
    try:
        what()
    except PermissionError:
        return False
    return True

secret = {name: (root / name).read_bytes for name in ("access.key", "catalog.duckdb", "tokens.json")}
spec = Path(os.environ["TIDEMARK_RUN"], "run.json")
checkpoints = Path(json.loads(spec.read_text())["checkpoints"]) if spec.exists() else Path("no checkpoint")
kept = [path for path in checkpoints.rglob("*") if path.is_file() and path.stat().st_nlink > 1]
told = {
    "user": getpass.getuser(),
    "secrets": [name for name in os.environ if name in ("TIDEMARK_TOKEN", "AWS_SECRET_ACCESS_KEY")],
    "reads": [name for name, read in secret.items() if can(read)] + ["savepoints"] * can(lambda: os.listdir(root / "savepoints")),
    "kept": len(kept),
    "writes": [str(path) for path in kept if can(lambda: open(path, "r+b").close())],
}
output.mkdir(exist_ok=True)
(output / "told.json").write_text(json.dumps(told))
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into).withWatermark("ts", "1 minute")
windows = rows.groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum("n").alias("s"), F.count("*").alias("c"))
seen = rows.dropDuplicates(["k", "ts"]).select("k", "n")  # on Spark's own store, the HDFS-backed one
seen.writeStream.queryName("hdfs").format("parquet").trigger(processingTime="0 seconds").start(f"{output}/hdfs")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
frame = windows.select("k", F.minute("window.start").alias("at"), "s", "c")
frame.writeStream.queryName("rocks").format("parquet").trigger(processingTime="0 seconds").start(f"{output}/rocks")
"""
GIB = 2**30
CONF = {"spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.session.timeZone": "UTC"}
MASTER = "local[1]"
PYTHONS = (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")


@pytest.fixture
def folder() -> Iterator[Path]:
    with passable() as folder:
        yield folder


def python_of(folder: Path) -> str:
    """A Python that the user reaches: this process's, else the system's of the same version; empty where it may be no other user."""
    if not MAY_SWITCH:
        with pytest.raises(Unavailable, match="may not begin others"):
            run_as.begin(NAME, folder / "ws")
        return ""
    for python in PYTHONS:
        try:
            users.check_reach(users.named(NAME), ROOT, folder, python)
        except TidemarkError:
            continue
        return python
    with pytest.raises(Unavailable, match="is closed to that user"):
        run_as.begin(NAME, folder / "ws")
    return ""


def share_classes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's Sparks read their classes from a copy of the archive that those of the tests have: of itself it has none."""
    archive, options = classes.find(java_home(), ""), os.environ[classes.SUBMIT_OPTIONS]
    if archive is None or str(archive) not in options:
        return
    copy = folder / archive.name
    shutil.copyfile(archive, copy)
    copy.chmod(0o644)
    monkeypatch.setenv(classes.SUBMIT_OPTIONS, options.replace(str(archive), str(copy)))


def test_a_job_of_another_user_is_exact_and_kept_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tests/long/test_run_as_own_exact.py` has one in a warm process and one whose state is rewritten."""
    python = python_of(folder)
    if python:
        with kept_apart(folder, monkeypatch, python):
            pass


@contextmanager
def kept_apart(folder: Path, monkeypatch: pytest.MonkeyPatch, python: str) -> Iterator[tuple[Server, RunScript, Savepoint]]:
    """The server, what begins such a job, and a savepoint of one, whose fork and itself are exact and have ended."""
    share_classes(folder, monkeypatch)
    monkeypatch.setenv("TIDEMARK_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path.endswith("-packages")))
    users.assume(users.Other(users.named(NAME), folder / "ws"))
    into, later = folder / "in", folder / "later"
    put(into, 0, 3)
    put(later, 3, 4)
    for given in (into, later):  # a workspace that was opened in this process has it make what nobody else reads
        given.chmod(0o755)
        for file in given.iterdir():
            file.chmod(0o644)
    with serving(folder / "ws") as server:
        for name in ("access.key", "tokens.json"):
            server.face.context.files.write(folder / "ws" / name, {})
        args = (str(into), "{output}")
        begin = RunScript(name="a", script="job.py", code=CODE, args=args, conf=CONF, master=MASTER, python=python)
        do(server.face, replace(begin, memory_bytes=2 * GIB, cpus=1.0))
        until(lambda: has_put_out(server, "a", 3), 200)
        savepoint = do(server.face, Take("a"))
        for path in sorted(later.iterdir()):
            path.rename(into / path.name)
        do(server.face, Fork(savepoint.id, name="b"))
        until(lambda: has_put_out(server, "a", 7) and has_put_out(server, "b", 7), 200)
        for name in ("a", "b"):
            held = server.face.context.files.read(Held, server.face.layout.run(job(name), server.newest(name).id) / HELD_FILE)
            assert held.resources == Resources(2 * GIB, 1.0) and not held.taken_bytes, "a fork has its parent's limits"
        assert told(server, "a") == {"user": NAME, "secrets": [], "reads": [], "kept": 0, "writes": []}
        of_fork = told(server, "b")
        assert of_fork.pop("kept") and of_fork == {"user": NAME, "secrets": [], "reads": [], "writes": []}
        for name in ("a", "b"):
            do(server.face, Stop(name, at_once=True))
        yield server, begin, savepoint


def told(server: Server, name: str) -> dict[str, object]:
    document: dict[str, object] = json.loads((server.face.layout.output(job(name)) / "told.json").read_text())
    return document


def has_put_out(server: Server, name: str, files: int) -> bool:
    """Whether the sink has what one uninterrupted run puts out: the last two windows are still open."""
    newest = server.newest(name)
    assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(name)).text
    sink, seen = (server.face.layout.output(job(name)) / query for query in ("rocks", "hdfs"))
    once = sorted((f"k{key}", minute + key) for minute in range(0, 2 * files, 2) for key in range(4))
    if not (seen / "_spark_metadata").is_dir() or sorted(rows_of(seen)) != once:
        return False
    expected = sorted((f"k{key}", minute, 2 * (minute + key), 2) for minute in range(0, 2 * files - 4, 2) for key in range(4))
    return (sink / "_spark_metadata").is_dir() and sorted(rows_of(sink)) == expected
