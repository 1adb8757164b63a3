"""A query of a job of the collection, as its own script builds it, on the bench of the matrix, with its own sink and input."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.driver.sql_script import Script
from tests.jobs.loading import JOBS, script
from tests.savepoint import matrix_sinks
from tests.savepoint.matrix import Bench, Rows
from tests.savepoint.matrix_sinks import text

FILES = 8
"""One a batch, twenty seconds of event time each."""
ROWS = 50
"""Of a batch, at most, where the source is none of files."""
START = ("--fast", "--start", "2026-01-01T00:00:00Z", "--interval", "20")


def make_inputs(folder: Path, files: int = FILES) -> Path:
    """What both generators make; of the social network's events with few and long files."""
    start = (*START, "--files", str(files))
    subprocess.run([sys.executable, JOBS / "streams.py", "--out", folder, *start], check=True)
    subprocess.run([sys.executable, JOBS / "post_events.py", "--out", folder / "events", *start, "--rate", "2", "--posts", "5"], check=True)
    return folder


@dataclass
class JobBench(Bench):
    """One query of a job: `name` is the script's, `at` its place among the job's queries."""

    name: str = ""
    at: int = 0
    inputs: Path = field(default_factory=Path)
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Of the inputs that are served, by the job's argument."""

    def writer(self, job: str, name: str = "") -> Any:
        """What the script's own `queries` gives for `job`; None where the other version has fewer."""
        places = {stream.name: str(stream) for stream in self.inputs.iterdir()} | dict(self.addresses)
        out = self.folder / "output" / job
        args = argparse.Namespace(**places, output=str(out), database=f"sqlite:{out / 'job.sqlite'}", schema="main", rows=ROWS)
        sql = JOBS / f"{name or self.name}.sql"
        queries = self._of_sql(sql, places, out) if sql.exists() else script(name or self.name)["queries"](self.session, args)
        return queries[self.at] if self.at < len(queries) else None

    def _of_sql(self, file: Path, places: dict[str, str], out: Path) -> list[Any]:
        """The writers of a SQL job; its views leave the session, which has those of the next job."""
        values = tuple(f"--{name}={place}" for name, place in places.items())
        writers = list(Script(self.session, file.name, file.read_text(), str(out)).sinks(values))
        for view in ("views", "pages"):
            self.session.catalog.dropTempView(view)
        return writers

    def output(self, job: str) -> Path:
        """Where the query's file sink writes: the script names it as the query."""
        return self.folder / "output" / job / QUERIES.get(self.name, ("",))[self.at]

    def start(self, job: str) -> Any:
        return self._writer(job).queryName(f"{job}-{self.at}").trigger(availableNow=True).start()

    def _writer(self, job: str) -> Any:
        return self.writer(job).option("checkpointLocation", str(self.checkpoint(job)))

    def rows(self, job: str, first: int = 0, last: int | None = None) -> Rows:
        if self.line.sink == "parquet":
            return matrix_sinks.read("parquet", self.session, self.output(job), job)
        counts = self._table(job) if self.line.sink == "sqlite" else self._folders(job)
        return Counter({(batch, row): n for (batch, row), n in counts.items() if batch >= first})

    def _folders(self, job: str) -> Rows:
        rows = self.session.read.parquet(str(self.output(job))).collect()
        return Counter((row["batch"], text(row)) for row in rows)

    def _table(self, job: str) -> Rows:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(self.folder / "output" / job / "job.sqlite")) as database:
            return Counter((row[-1], str(row)) for row in database.execute("SELECT * FROM engagement"))


QUERIES = {
    "sliding_windows": ("popularity",),
    "session_windows": ("visits",),
    "count_windows": ("means",),
    "silent_sensors": ("silences",),
    "card_fraud": ("alarms",),
    "impressions_and_clicks": ("outcomes",),
    "views_by_author": ("reading_time",),
    "views_by_author_sql": ("reading_time",),
    "deduplication": ("views",),
    "top_pages": ("top",),
    "online_model": ("scores",),
    "clean_views": ("clean",),
    "several_queries": ("by_page", "by_reader"),
    "engagement_to_database": ("engagement",),
    "views_over_http": ("reading",),
    "author_lookups": ("authored",),
    "views_from_kinesis": ("popularity",),
}
"""The queries of each job; a file sink writes to a folder of that name."""
SINKS = {"top_pages": "folders", "engagement_to_database": "sqlite"}
"""Of those whose sink is a foreachBatch; all others write Parquet."""
