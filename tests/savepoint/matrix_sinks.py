"""Where the matrix's queries put their rows, and how these are read back: one entry for each sink that PySpark can write to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.runs import EVENTS_FILE

FILES = ("parquet", "json")
PATIENCE_S = 120


@dataclass(frozen=True)
class Gate:
    """Holds one batch of a foreachBatch until it is released: what is planned, written and not committed stays so."""

    batch: int
    reached: threading.Event
    released: threading.Event

    def pass_through(self, batch: int) -> None:
        if batch == self.batch:
            self.reached.set()
            assert self.released.wait(PATIENCE_S), "nobody released the batch"


def text(row: Any) -> str:
    return json.dumps(row.asDict(recursive=True), default=str, sort_keys=True)


def write_rows(output: Path, batch: int, rows: list[str], part: str = "") -> None:
    """One file a batch, put in place whole: a batch that is done again replaces its rows."""
    output.mkdir(parents=True, exist_ok=True)
    aside = output / f".{batch}{part}.tmp"
    aside.write_text("\n".join(rows))
    aside.replace(output / f"{batch}{part}.rows")


def _each_batch(writer: Any, output: Path, job: str, gate: Gate | None) -> Any:
    def write(frame: Any, batch: int) -> None:
        rows = [text(row) for row in frame.collect()]
        if gate is not None:
            gate.pass_through(batch)
        write_rows(output, batch, rows)

    return writer.foreachBatch(write).start()


def _each_batch_once(computes: bool) -> Callable[[Any, Path, str, Gate | None], Any]:
    """A writer that remembers the batches it has, as tables do; it may compute what it skips."""

    def start(writer: Any, output: Path, job: str, gate: Gate | None) -> Any:
        def write(frame: Any, batch: int) -> None:
            if not (output / f"{batch}.rows").exists():
                write_rows(output, batch, [text(row) for row in frame.collect()])
            elif computes:
                frame.write.format("noop").mode("overwrite").save()

        return writer.foreachBatch(write).start()

    return start


def _each_row(writer: Any, output: Path, job: str, gate: Gate | None) -> Any:
    class Write:
        """Runs in Python workers, which may not find this module: it brings what it needs."""

        def open(self, partition: int, batch: int) -> bool:
            self.part, self.batch, self.rows = partition, batch, []
            return True

        def process(self, row: Any) -> None:
            import json

            self.rows.append(json.dumps(row.asDict(recursive=True), default=str, sort_keys=True))

        def close(self, error: Any) -> None:
            from pathlib import Path

            if error is None:
                Path(folder).mkdir(parents=True, exist_ok=True)
                Path(folder, f"{self.batch}-{self.part}.rows").write_text("\n".join(self.rows))

    folder = str(output)
    return writer.foreach(Write()).start()


def _files(format: str) -> Callable[[Any, Path, str, Gate | None], Any]:
    return lambda writer, output, job, gate: writer.format(format).start(str(output))


def _memory(writer: Any, output: Path, job: str, gate: Gate | None) -> Any:
    return writer.format("memory").queryName(table(job)).start()


SINKS: dict[str, Callable[[Any, Path, str, Gate | None], Any]] = {
    "foreachBatch": _each_batch,
    "remembering": _each_batch_once(computes=True),
    "skipping": _each_batch_once(computes=False),
    "foreach": _each_row,
    "parquet": _files("parquet"),
    "json": _files("json"),
    "memory": _memory,
    "noop": lambda writer, output, job, gate: writer.format("noop").start(),
    "console": lambda writer, output, job, gate: writer.format("console").start(),
}


def table(job: str) -> str:
    return "rows_" + job.replace("-", "_")


def read(sink: str, spark: Any, output: Path, job: str) -> Counter[tuple[int, str]]:
    """(batch, row) -> how often. Files and tables do not say which batch a row is of."""
    if sink in FILES:
        return Counter((-1, text(row)) for row in spark.read.format(sink).load(str(output)).collect())
    if sink == "memory":
        return Counter((-1, text(row)) for row in spark.table(table(job)).collect())
    rows: Counter[tuple[int, str]] = Counter()
    for file in output.glob("[0-9]*.rows"):
        batch = int(file.stem.partition("-")[0])
        rows.update((batch, line) for line in file.read_text().splitlines())
    return rows


def events(folder: Path) -> list[str]:
    """The kinds of what a driver recorded in its run folder."""
    file = folder / EVENTS_FILE
    return [json.loads(line)["kind"] for line in file.read_text().splitlines()] if file.exists() else []
