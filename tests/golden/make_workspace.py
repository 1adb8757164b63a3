"""Makes a golden workspace with real Spark and the real command line: `python -m tests.golden.make_workspace`.

It is made under /tmp/tidemark-golden, because checkpoints and outputs name absolute paths, and then copied to `workspace/<number>`
(see `frozen.py` for what is in it). Ids and times differ from one making to the next; rows do not.

A golden workspace is never made again: what an older Tidemark wrote is what must stay readable. When a format grows, count `NUMBER` up
and run this: the new one stands beside the old ones, and the tests take each of them.
"""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden import frozen
from tests.savepoint import queries
from tests.waiting import until

NUMBER = "1"
BUILD = Path("/tmp/tidemark-golden") / f"workspace-{NUMBER}"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES_SEEN = 5
"""How many of the input's files the workspace's jobs see: a batch each."""
SAVED_BATCH = 2
"""Batch of the savepoint of `counts`: the files up to this one are in it."""
ALL_INPUT, INPUT = BUILD / "all", BUILD / "input"
CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "6",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
CHANGES = {"counts_even.py": "n % 2 = 0", "counts_large.py": "n >= 20", "counts_small.py": "n < 50"}
"""Changed code: the job's own, with another condition."""


class Shell:
    """The command line on one workspace, in processes of its own."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __call__(self, *words: str | Path) -> str:
        print("tidemark", *words, flush=True)
        command = [sys.executable, "-m", "pipelines", *map(str, words)]
        at = words.index("--") + 3 if "--" in words else len(command)
        command[at:at] = ["--workspace", str(self.workspace)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def json(self, *words: str | Path) -> Any:
        return json.loads(self(*words, "--json"))

    def run(self, script: Path, job: str, *args: str) -> None:
        confs = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
        self("run", script, "--name", job, *confs, "--wait", "--", *args)

    def savepoint(self, job: str, *words: str) -> str:
        """The id of a new savepoint."""
        return str(self.json("savepoint", job, *words)["id"])

    def stop(self, job: str, *words: str) -> None:
        self("stop", job, *words)

    def await_end(self, job: str) -> None:
        until(lambda: self._state(job) not in ("wanted", "starting", "running", "stopping"), what=f"{job} did not end", every=1)
        assert self._state(job) == "finished", self("logs", job)

    def await_batch(self, job: str, batch: int) -> None:
        until(lambda: (self.json("show", job)["summary"]["batch"] or -1) >= batch, what=f"{job} has no batch {batch}", every=1)

    def _state(self, job: str) -> str:
        return str(self.json("show", job)["summary"]["state"])


def make_inputs() -> None:
    """All the input, and of it the files that the jobs of the workspace ever see."""
    queries.write_events(ALL_INPUT)
    queries.write_events(INPUT, files=FILES_SEEN)
    (BUILD / "jobs").mkdir()
    for script in (HERE / "jobs").glob("*.py"):
        shutil.copy(script, BUILD / "jobs")
    code = (HERE / "jobs" / "counts.py").read_text()
    for name, condition in CHANGES.items():
        (BUILD / "jobs" / name).write_text(code.replace('"true"', f'"{condition}"'))


def make_expected() -> dict[str, dict[str, list[Any]]]:
    """Job -> query -> the rows of a run over all the input that was never interrupted."""
    shell = Shell(BUILD / "uninterrupted")
    shell.run(BUILD / "jobs" / "counts.py", "counts", "--input", str(ALL_INPUT), "--output", "{output}", "--available-now")
    shell.run(BUILD / "jobs" / "stores.py", "stores", "--input", str(ALL_INPUT), "--output", "{output}")
    for job in ("counts", "stores"):
        shell.await_end(job)
    outputs = {job: shell.workspace / "jobs" / job / "output" for job in ("counts", "stores")}
    return {job: {folder.name: frozen.rows(folder) for folder in sorted(output.iterdir())} for job, output in outputs.items()}


def make_counts(shell: Shell) -> str:
    """A job on the HDFS-backed store with savepoints of every reason; the id of the one it is forked from."""
    shell.run(BUILD / "jobs" / "counts.py", "counts", "--input", str(INPUT), "--output", "{output}")
    shell.await_batch("counts", FILES_SEEN - 1)
    saved = shell.savepoint("counts", "--batch", str(SAVED_BATCH), "--label", "before ads")
    shell("annotate", saved, "--note", "Counts before the network sold its first ad.\nKeep it.", "--best-before", "2030-01-01")
    shell.stop("counts", "--label", "for the night")
    shell("resume", "counts", "--batch", str(SAVED_BATCH + 1), "--wait")
    shell.await_batch("counts", FILES_SEEN - 1)
    shell.stop("counts", "--no-savepoint")
    shell("resume", "counts", "--code", BUILD / "jobs" / "counts_even.py", "--wait")
    shell.stop("counts", "--no-savepoint")
    return saved


def make_forks(shell: Shell, saved: str) -> None:
    """A fork with changed code that ran to its end; an experiment of two variants, one dropped, one promoted."""
    arguments = [f"--arg={word}" for word in ("--input", str(INPUT), "--output", "{output}", "--available-now")]
    shell("fork", saved, "--name", "counts_even", "--code", BUILD / "jobs" / "counts_even.py", *arguments)
    shell.await_end("counts_even")
    large, small = (f"{name.removesuffix('.py')}={BUILD / 'jobs' / name}" for name in ("counts_large.py", "counts_small.py"))
    shell("experiment", saved, "--name", "which to count", "--variant", large, "--variant", small, "--with-parent")
    for job in ("counts_large", "counts_small"):
        shell.await_batch(job, FILES_SEEN - 1)
    shell("drop", "counts_large")
    shell("promote", "counts_small")
    until(lambda: shell.json("show", "counts")["summary"]["state"] == "running", what="counts does not run", every=1)
    for job in ("counts", "counts_small"):
        shell.stop(job)


def make_others(shell: Shell) -> tuple[str, str]:
    """RocksDB in each of its ways, each other kind of sink, and a job without files; savepoints of the first and the last."""
    shell.run(BUILD / "jobs" / "stores.py", "stores", "--input", str(INPUT), "--output", "{output}")
    shell.run(BUILD / "jobs" / "sinks.py", "sinks", "--input", str(INPUT), "--output", "{output}")
    for job in ("stores", "sinks"):
        shell.await_end(job)
    shell.savepoint("sinks", "--label", "every sink")
    saved = shell.savepoint("stores", "--label", "every way of RocksDB")
    shell.run(BUILD / "jobs" / "clock.py", "clock")
    shell.await_batch("clock", 3)
    proved = shell.savepoint("clock", "--label", "proved")
    shell.stop("clock", "--no-savepoint")
    assert shell.json("verify", proved, "--level", "proved")["reached"] == "proved"
    return saved, proved


def make_attached(shell: Shell) -> str:
    """A job that runs elsewhere, and its savepoint: a golden checkpoint of RocksDB in format 2."""
    shutil.copytree(HERE / "rocksdb_format2" / "checkpoint", BUILD / "elsewhere")
    shell("attach", "elsewhere", BUILD / "elsewhere", "--query", "counts", "--code", BUILD / "jobs" / "counts.py")
    return shell.savepoint("elsewhere", "--batch", "12", "--label", "of a job that runs elsewhere")


def make_exports(shell: Shell, archived: str, plain: str) -> None:
    shell("export", archived, BUILD / "exported" / "counts.tar.zst")
    shell("export", plain, BUILD / "exported" / "elsewhere")


def make_workspace() -> None:
    """Everything under `BUILD`: `workspace`, `exported`, `expected.json`, `named.json`."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    make_inputs()
    write(BUILD / "expected.json", make_expected())
    shell = Shell(BUILD / "workspace")
    saved = make_counts(shell)
    make_forks(shell, saved)
    (stores, proved), elsewhere = make_others(shell), make_attached(shell)
    for savepoint in (saved, stores):
        assert shell.json("verify", savepoint)["reached"] == "intact"
    make_exports(shell, saved, elsewhere)
    named = {"counts": (saved, SAVED_BATCH + 1), "stores": (stores, FILES_SEEN), "clock": (proved, 0), "elsewhere": (elsewhere, 0)}
    write(BUILD / "named.json", {job: {"savepoint": savepoint, "files": files} for job, (savepoint, files) in named.items()})
    shell("state", saved)
    assert not [run for job in shell.json("list") for run in [job["run"]] if run["state"] in ("running", "starting", "stopping")]


def write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def freeze(target: Path) -> None:
    """Copies what was made to `target`: the catalog compressed (mostly air), no empty folder (git keeps none), no word on this machine."""
    target.mkdir(parents=True)
    for name in ("workspace", "exported"):
        shutil.copytree(BUILD / name, target / name)
    shutil.copytree(ALL_INPUT, target / "input")
    for file in BUILD.glob("*.json"):
        shutil.copy(file, target)
    catalog = target / "workspace" / "catalog.duckdb"
    (target / "catalog.duckdb.gz").write_bytes(gzip.compress(catalog.read_bytes(), mtime=0))
    catalog.unlink()
    for lease in target.glob("workspace/jobs/*/checkpoints/*/.leases/*.json"):
        lease.write_text(json.dumps({**json.loads(lease.read_text()), "host": "localhost"}))
    for folder in sorted((path for path in target.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    refuse_traces(target)


def refuse_traces(folder: Path) -> None:
    """Fails where a frozen file names this machine, this clone or this Python."""
    traces = [trace.encode() for trace in (f'"{socket.gethostname()}"', str(ROOT), sys.prefix, str(Path.home()) + "/")]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if any(trace in path.read_bytes() for trace in traces)] == []


def answer(target: Path) -> None:
    """Freezes what the commands answer about a copy of it, as the tests will ask."""
    with tempfile.TemporaryDirectory() as folder:
        copy = frozen.copied(target.name, Path(folder) / "moved")
        write(target / "answers.json", frozen.answers(copy))
        write(target / "tables.json", frozen.tables(copy))
        write(target / "state.json", frozen.state(copy, frozen.named(target.name, "counts")))


if __name__ == "__main__":
    made = HERE / "workspace" / NUMBER
    assert not made.exists(), f"{made} is kept for good: count NUMBER up"
    make_workspace()
    freeze(made)
    answer(made)
    shutil.rmtree(BUILD)
