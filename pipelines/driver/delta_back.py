"""Makes a Delta table what the savepoint's is, in one commit of its log: rows that came later are cut, and its query may write again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pipelines.domain import delta_commits
from pipelines.domain.delta import LOG
from pipelines.domain.delta_commits import BACK_FORMAT, Action, Back, Table
from pipelines.domain.errors import Conflict, Corrupt, Unsupported
from pipelines.domain.sinks import BACK
from pipelines.driver.history import bring

TRIES = 5
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")
HINT = "Fork the savepoint: its fork has a table of its own."


def asked(folder: Path) -> Back | None:
    """What the restored `folder` says that its table goes back to."""
    path = folder / BACK
    if not path.exists():
        return None
    raw = json.loads(path.read_text())
    if raw["format"] > BACK_FORMAT:
        raise Unsupported("delta.back_format", f"{path} has format {raw['format']}, this driver reads {BACK_FORMAT}", "Update Tidemark.")
    return Back(**raw)


def go_back(spark: Any, image: Path, sink: Path, back: Back, now_ms: int) -> int | None:
    """Commits it; answers with the version that it made, None where the table is so already. Done again after a crash it ends the same.

    1. Refuse where others have changed rows since. 2. Bring the files that the table has no more. 3. Write the commit, unless somebody has
    written one of that number meanwhile: then look again.
    """
    saved_table = _replayed(spark, image / LOG)
    for _ in range(TRIES):
        newest, now = _newest(sink / LOG), _replayed(spark, sink / LOG)
        if delta_commits.is_there(now, saved_table, back):
            return None
        _refuse(sink, now, saved_table, back, newest)  # 1
        for path in map(unquote, delta_commits.added_paths(now, saved_table)):  # 2
            if not bring(image / path, sink / path):
                raise Corrupt("delta.file_gone", f"{image / path} is gone, which the savepoint's table had", "Verify the savepoint.")
        if _write(sink / LOG, newest + 1, delta_commits.commit(now, saved_table, back, now_ms)):  # 3
            return newest + 1
    raise Conflict("sink.busy", f"Others write to {sink} all the time", "Stop them, then resume the job.")


def newest_batch(sink: Path, query_id: str) -> int:
    """The newest batch of the query that the commits of the table's log tell of; -1 where they tell of none, or there is no table."""
    log = sink / LOG
    for version in range(_newest(log), -1, -1) if log.is_dir() else ():
        lines = _lines(_commit(log, version)) if _commit(log, version).exists() else []
        if batches := [line["txn"]["version"] for line in lines if line.get("txn", {}).get("appId") == query_id]:
            return int(batches[-1])
    return -1


def _refuse(sink: Path, now: Table, target: Table, back: Back, newest: int) -> None:
    why = delta_commits.hindrance(now, target) or _written_by_others(sink / LOG, range(back.since + 1, newest + 1), back.query_id)
    if why:
        raise Conflict("sink.others", f"The Delta table {sink} cannot go back to what it was after batch {back.batch}: {why}.", HINT)


def _written_by_others(log: Path, versions: range, query_id: str) -> str:
    for version in versions:
        if not _commit(log, version).exists():
            return f"its log does not say any more who wrote version {version}"
        if delta_commits.is_of_others(_lines(_commit(log, version)), query_id):
            return f"others changed its rows at version {version}"
    return ""


def _write(log: Path, version: int, actions: list[Action]) -> bool:
    """Whether the commit is there, whole; False where that number is taken."""
    target, aside = _commit(log, version), log / f".{version:020d}.json.{os.getpid()}.tmp"
    with aside.open("w") as file:
        file.write("".join(f"{json.dumps(action, separators=(',', ':'))}\n" for action in actions))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(aside, target)
    except FileExistsError:
        return False
    finally:
        aside.unlink()
    return True


def _replayed(spark: Any, log: Path) -> Table:
    """The newest version, from the newest whole checkpoint and the commits after it."""
    newest, checkpoints = _newest(log), _checkpoints(log)
    base = max((version for version in checkpoints if version <= newest), default=-1)
    gone = next((number for number in range(base + 1, newest + 1) if not _commit(log, number).exists()), None)
    if gone is not None:
        raise Unsupported("delta.not_supported", f"{log} has no {_commit(log, gone).name}, nor a checkpoint that is known", HINT)
    after = (line for number in range(base + 1, newest + 1) for line in _lines(_commit(log, number)))
    return delta_commits.replayed((*_rows(spark, checkpoints.get(base, [])), *after))


def _rows(spark: Any, files: list[Path]) -> Iterator[Action]:
    """The actions of a checkpoint; Spark reads it, for there may be no other reader of Parquet here."""
    for file in files:
        frame = spark.read.parquet(file.as_uri())
        columns = [name for name in ("add", "metaData", "protocol", "txn") if name in frame.columns]
        lines = frame.selectExpr(f"to_json(struct({', '.join(columns)})) AS line").collect()
        yield from (json.loads(row["line"]) for row in lines)


def _lines(commit: Path) -> list[Action]:
    return [json.loads(line) for line in commit.read_text().splitlines() if line]


def _newest(log: Path) -> int:
    return max((int(match[1]) for path in log.iterdir() if (match := _COMMIT.fullmatch(path.name))), default=-1)


def _checkpoints(log: Path) -> dict[int, list[Path]]:
    parts: dict[tuple[int, int], list[Path]] = {}
    for path in log.iterdir():
        if match := _CHECKPOINT.fullmatch(path.name):
            parts.setdefault((int(match[1]), int(match[2] or 1)), []).append(path)
    return {version: sorted(paths) for (version, count), paths in parts.items() if len(paths) == count}


def _commit(log: Path, version: int) -> Path:
    return log / f"{version:020d}.json"
