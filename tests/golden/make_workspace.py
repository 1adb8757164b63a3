"""Makes a golden workspace with real Spark and the real command line: `python -m tests.golden.make_workspace`.

It is made under /tmp/tidemark-golden, because checkpoints and outputs name absolute paths, and then copied to `workspace/<number>`
(see `frozen.py` for how, `contents_<number>.py` for what is in it). Ids and times differ from one making to the next; rows do not.

A golden workspace is never made again: what an older Tidemark wrote is what must stay readable. When a format grows, count `NUMBER` of
`shell.py` up, say in a new `contents_<number>.py` what there is besides, and run this: the tests take each of them.
"""

from __future__ import annotations

import gzip
import importlib
import json
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden import frozen
from tests.golden.shell import ALL_INPUT, BUILD, FILES_SEEN, HERE, INPUT, NUMBER, ROOT, Shell
from tests.savepoint import queries

contents = importlib.import_module(f"tests.golden.contents_{NUMBER}")


def make_inputs() -> None:
    """All the input, and of it the files that the jobs of the workspace ever see."""
    queries.write_events(ALL_INPUT)
    queries.write_events(INPUT, files=FILES_SEEN)
    (BUILD / "jobs").mkdir()
    for script in (HERE / "jobs").glob("*.py"):
        shutil.copy(script, BUILD / "jobs")


def make_workspace() -> None:
    """Everything under `BUILD`: `workspace`, `exported`, `expected.json`, `named.json`."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    make_inputs()
    write(BUILD / "expected.json", contents.make_expected())
    shell = Shell(BUILD / "workspace")
    named = contents.make(shell)
    write(BUILD / "named.json", {job: {"savepoint": savepoint, "files": files} for job, (savepoint, files) in named.items()})
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
        write(target / "state.json", frozen.state(copy, frozen.with_state(target.name)))


if __name__ == "__main__":
    made = HERE / "workspace" / NUMBER
    assert not made.exists(), f"{made} is kept for good: count NUMBER up"
    make_workspace()
    freeze(made)
    answer(made)
    shutil.rmtree(BUILD)
