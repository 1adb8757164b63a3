"""What a script asks of packages that Python does not hear is named, but for what its sinks alone ask."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.driver import natives

JOBS = Path(__file__).parents[2] / "pipelines" / "jobs"
BEGIN = """
import atexit, threading
from functools import partial
import duckdb, pandas as pd, psycopg
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
frame = SparkSession.builder.getOrCreate().readStream.load()
"""
MODULES = {
    "upserts": """
import psycopg, sqlalchemy

class Upserts:
    def open(self, partition, epoch):
        self.connection = psycopg.connect("a")
        return True

    def process(self, row):
        sqlalchemy.create_engine("b")
""",
    "upserting": """
from contextlib import contextmanager
import psycopg

def upserting(url):
    def write(rows, batch):
        with transaction(url) as connection:
            connection.execute("INSERT")
    return write

@contextmanager
def transaction(url):
    yield connected(url)

def connected(url):
    return psycopg.connect(url)
""",
}


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("rules = duckdb.connect('secret.db').sql('SELECT 1').fetchall()", ["duckdb.connect"]),
        ("frame.where(f'v < {limits()}')\ndef limits(): return pd.read_parquet('limits')", ["pandas.read_parquet"]),
        ("threading.Thread(target=load).start()\ndef load(): duckdb.connect('a')", ["duckdb.connect"]),
        ("import geoip2.database\ncountries = geoip2.database.Reader('a')", ["geoip2.database.Reader"]),
        ("from tokenizers import Tokenizer\nwords = Tokenizer.from_file('a')", ["tokenizers.Tokenizer.from_file"]),
        ("def unused(): duckdb.connect('a')", ["duckdb.connect"]),
        ("def write(rows, batch): psycopg.connect('a')\nframe.writeStream.foreachBatch(write).start()", []),
        (
            "def write(rows, batch): psycopg.connect('a')\nframe.writeStream.foreachBatch(write).start()\nwrite(None, 0)",
            ["psycopg.connect"],
        ),
        ("frame.writeStream.foreachBatch(lambda rows, batch: pq.read_table('a')).start()", []),
        ("from upserts import Upserts\nframe.writeStream.foreach(Upserts()).start()", []),
        ("import upserts\nsink = upserts.Upserts()\nframe.writeStream.foreach(sink).start()", []),
        ("from upserting import upserting\nwrite = upserting('a')\nframe.writeStream.foreachBatch(write).start()", []),
        ("frame.writeStream.foreachBatch(partial(save, 1)).start()\ndef save(n, rows, batch): duckdb.connect('a')", []),
        ("from upserting import connected, upserting\nframe.writeStream.foreachBatch(upserting('a'))\nconnected('a')", ["psycopg.connect"]),
        (
            "def both(): return pq.read_table('a')\nframe.writeStream.foreachBatch(partial(print, both())).start()\nframe.where(both())",
            ["pyarrow.parquet.read_table"],
        ),
        ("@atexit.register\ndef write(rows, batch): duckdb.connect('a')\nframe.writeStream.foreachBatch(write)", ["duckdb.connect"]),
    ],
)
def test_only_what_the_sinks_alone_ask_is_left_out(tmp_path: Path, script: str, asked: list[str]) -> None:
    (tmp_path / "job.py").write_text(f"{BEGIN}{script}\n")
    for name, code in MODULES.items():
        if name in script:
            (tmp_path / f"{name}.py").write_text(code)
    assert list(natives.of(tmp_path)) == asked


def test_the_shipped_job_that_writes_to_a_database_asks_none_for_its_plan(tmp_path: Path) -> None:
    for name in ("engagement_to_database.py", "exactly_once.py"):
        shutil.copy(JOBS / name, tmp_path)
    assert list(natives.of(tmp_path)) == []


def test_methods_may_be_chained_by_the_hundred(tmp_path: Path) -> None:
    chained = "".join(f".withColumn('c{at}', lit({at}))" for at in range(900))
    (tmp_path / "job.py").write_text(f"{BEGIN}duckdb.connect('a')\nframe{chained}.writeStream.foreachBatch(print).start()\n")
    assert list(natives.of(tmp_path)) == ["duckdb.connect"]
