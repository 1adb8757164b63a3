"""The golden workspaces: what an older Tidemark wrote, and what the commands must still answer about it.

`workspace/<number>/` holds

- `workspace/`: a workspace whose jobs have all ended, and `catalog.duckdb.gz`, which belongs into it;
- `exported/`: savepoints of it, as an archive or a directory;
- `input/`: all the input of its jobs, a file a batch;
- `named.json`: the savepoints that tests name, job -> id and how many files of the input are in it;
- `answers.json`: what the commands answered about the workspace;
- `tables.json`: the tables of state of each savepoint; `state.json`: the rows of one;
- `expected.json`: the rows of runs over all the input that were never interrupted, job -> query or table -> rows.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

FOLDER = Path(__file__).parent / "workspace"
WATCHED = "elsewhere"
"""The attached job. A copy of the workspace does not see what it is attached to, and says so."""
OF_WATCHING = {"state", "ended_ms", "exit"}
PASSING = {"latency", "batch_ms_p50", "batch_ms_p99", "recent_restarts", "checkpoint_bytes_before"}
"""What depends on the time of asking, or is a sample."""
AFTERWARDS = {"watch.lost"}
"""Kinds of events that come of the asking."""
EPOCH_S = 1_767_225_600


@dataclass(frozen=True)
class Tidemark:
    """The command line on one workspace, in this process."""

    workspace: Path

    @property
    def catalog(self) -> Path:
        return self.workspace / "catalog.duckdb"

    def __call__(self, *words: str | Path) -> Result:
        from pipelines.cli.start import app_of

        typed = [*map(str, words), "--workspace", str(self.workspace)]
        return CliRunner().invoke(app_of(typed), typed)

    def json(self, *words: str | Path) -> Any:
        """What it prints with --json, with `{workspace}` for the place of the workspace."""
        done = self(*words, "--json")
        assert done.exit_code == 0, (words, done.output, done.exception)
        return json.loads(done.stdout.replace(str(self.workspace), "{workspace}"))


def copied(number: str, target: Path) -> Tidemark:
    """The command line on a copy of a golden workspace."""
    tidemark = Tidemark(Path(shutil.copytree(FOLDER / number / "workspace", target)))
    tidemark.catalog.write_bytes(gzip.decompress((FOLDER / number / "catalog.duckdb.gz").read_bytes()))
    return tidemark


def named(number: str, job: str) -> str:
    """The savepoint of `job` that tests use."""
    return str(read(number, "named.json")[job]["savepoint"])


def with_state(number: str) -> str:
    """The savepoint whose rows of state were kept."""
    return named(number, {"1": "counts", "2": "minutes"}[number])


def read(number: str, name: str) -> Any:
    return json.loads((FOLDER / number / name).read_text())


def answers(tidemark: Tidemark) -> dict[str, Any]:
    """Command -> what it answers about everything that the workspace has."""
    events = tidemark.json("events", "--limit", "1000")
    summaries = sorted(tidemark.json("list"), key=lambda summary: str(summary["job"]["name"]))
    savepoints = tidemark.json("savepoints")
    asked = [("experiments",), ("versions",)]
    asked += [(verb, summary["job"]["name"]) for verb in ("show", "batches", "operators") for summary in summaries]
    asked += [("show", savepoint["id"]) for savepoint in savepoints]
    lists = {"events": [event for event in events if event["kind"] not in AFTERWARDS], "list": summaries, "savepoints": savepoints}
    return {name: lasting(answer) for name, answer in (lists | {" ".join(words): tidemark.json(*words) for words in asked}).items()}


def tables(tidemark: Tidemark) -> dict[str, Any]:
    """Savepoint -> its tables of state."""
    return {savepoint["id"]: tidemark.json("state", savepoint["id"], "--tables") for savepoint in tidemark.json("savepoints")}


def state(tidemark: Tidemark, savepoint: str) -> dict[str, Any]:
    """The columns and the rows, sorted, of the one table of state that the savepoint has."""
    answer = tidemark.json("state", savepoint)
    return {"columns": answer["columns"], "rows": sorted(answer["rows"])}


def lasting(answer: Any) -> Any:
    """The part of an answer that is the same at any time and place."""
    match answer:
        case dict():
            passing = PASSING | (OF_WATCHING if _is_of_watched(answer) else set())
            return {key: lasting(value) for key, value in answer.items() if key not in passing}
        case list():
            return [lasting(value) for value in answer]
    return answer


def _is_of_watched(answer: dict[str, Any]) -> bool:
    """Whether it is a run or the summary of the attached job."""
    job = answer.get("job")
    return WATCHED in (job, job.get("name") if isinstance(job, dict) else None)


def lay_rest(number: str, job: str, target: Path) -> Path:
    """The input that is not in the savepoint of `job` yet, in Spark's order: modification times a second apart, which git does not keep."""
    target.mkdir(parents=True)
    files = sorted((FOLDER / number / "input").glob("*.json"))
    for index in range(read(number, "named.json")[job]["files"], len(files)):
        os.utime(shutil.copy(files[index], target), (EPOCH_S + index, EPOCH_S + index))
    return target


def place(job: Path, name: str) -> Path:
    """Where a job put what is called so: into its output, or into a table of its warehouse."""
    output = job / "output" / name
    return output if output.is_dir() else job / "warehouse" / "tables" / name


def rows(output: Path) -> list[list[Any]]:
    """What a query with a file sink put out, sorted; read as Spark does, by the sink's log."""
    import pyarrow.parquet as pq

    logs = [file for file in (output / "_spark_metadata").iterdir() if not file.name.startswith(".")]
    names = {Path(json.loads(line)["path"]).name for log in logs for line in log.read_text().splitlines()[1:]}
    read = [row for name in names for row in pq.read_table(output / name).to_pylist()]
    return sorted([str(row["start"]), row["key"], row["sum"]] for row in read)


def missing(frozen: Any, answered: Any, at: str = "") -> Iterator[str]:
    """Where `answered` lacks what is frozen: it may say more, with another field, and nothing else."""
    match frozen, answered:
        case dict(), dict():
            for key, value in frozen.items():
                yield from missing(value, answered.get(key, "nothing"), f"{at}.{key}")
        case list(), list() if len(frozen) == len(answered):
            for index, (mine, theirs) in enumerate(zip(frozen, answered, strict=True)):
                yield from missing(mine, theirs, f"{at}[{index}]")
        case _ if frozen != answered:
            yield f"{at}: {frozen!r} is now {answered!r}"
