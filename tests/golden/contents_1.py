"""What golden workspace 1 has: every kind of sink and of state store, savepoints of every reason, forks, an experiment, a job elsewhere."""

from __future__ import annotations

import shutil
from typing import Any

from tests.golden import frozen
from tests.golden.shell import ALL_INPUT, BUILD, FILES_SEEN, HERE, INPUT, Shell
from tests.waiting import until

SAVED_BATCH = 2
"""Batch of the savepoint of `counts`: the files up to this one are in it."""
CHANGES = {"counts_even.py": "n % 2 = 0", "counts_large.py": "n >= 20", "counts_small.py": "n < 50"}
"""Changed code: the job's own, with another condition."""


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


def make(shell: Shell) -> dict[str, tuple[str, int]]:
    """All of it; job -> the savepoint that tests name, and how many files of the input are in it."""
    code = (HERE / "jobs" / "counts.py").read_text()
    for name, condition in CHANGES.items():
        (BUILD / "jobs" / name).write_text(code.replace('"true"', f'"{condition}"'))
    saved = make_counts(shell)
    make_forks(shell, saved)
    (stores, proved), elsewhere = make_others(shell), make_attached(shell)
    for savepoint in (saved, stores):
        assert shell.json("verify", savepoint)["reached"] == "intact"
    make_exports(shell, saved, elsewhere)
    shell("state", saved)
    return {"counts": (saved, SAVED_BATCH + 1), "stores": (stores, FILES_SEEN), "clock": (proved, 0), "elsewhere": (elsewhere, 0)}
