"""A real Spark with a source that cleans up: what is said to be gone is what a run from the copy lacks, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.checkpoint.source_log import offset_of
from pipelines.domain.holdings import Usable
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import SourceOffset
from pipelines.savepoint import held_files
from pipelines.storage.local import LocalStorage
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BEFORE, AFTER = range(3), range(3, 6)


def run(spark: SparkSession, source: Path, checkpoint: Path, output: Path, clean: str) -> None:
    reader = spark.readStream.option("maxFilesPerTrigger", 1).option("cleanSource", clean)
    rows = reader.option("sourceArchiveDir", f"{source}-archived").text(str(source)).selectExpr("CAST(value AS LONG) AS id")
    writer = rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.foreachBatch(lambda rows, batch: rows.write.mode("overwrite").parquet(f"{output}/{batch}")).start().awaitTermination()


def lay(source: Path, ids: range) -> None:
    """Files that are read in the order of their numbers."""
    source.mkdir(exist_ok=True)
    for number in ids:
        file = source / f"{number}.txt"
        file.write_text(str(number))
        os.utime(file, (1_700_000_000 + number,) * 2)


def rows(spark: SparkSession, output: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(*map(str, output.iterdir())).collect()) if output.exists() else []


@pytest.mark.parametrize("clean", ["off", "archive"])
def test_what_is_gone_is_what_a_run_from_the_copy_lacks(spark: SparkSession, tmp_path: Path, clean: str) -> None:
    source, live, copy = tmp_path / "in", tmp_path / "live", tmp_path / "copy"
    lay(source, BEFORE)
    run(spark, source, live, tmp_path / "out", "off")
    shutil.copytree(live, copy)
    lay(source, AFTER)
    run(spark, source, live, tmp_path / "out", clean)
    left = range(len(BEFORE) + len(AFTER))[-1:] if clean == "archive" else range(len(BEFORE) + len(AFTER))
    until(lambda: {path.name for path in source.glob("*.txt")} <= {f"{number}.txt" for number in (*BEFORE, *left)})
    offset = SourceOffset("0", (copy / "offsets" / str(len(BEFORE) - 1)).read_text().splitlines()[-1])
    assert offset_of(offset.offset) == len(BEFORE) - 1
    held = held_files.holding(QueryName("q"), offset, LocalStorage(str(copy)), [LocalStorage(str(live))], held_files.Seen(), 0)
    run(spark, source, copy, tmp_path / "again", "off")
    lacking = sorted(set(AFTER) - set(rows(spark, tmp_path / "again")))
    assert held.usable is (Usable.NO if lacking else Usable.YES) and bool(lacking) is (clean == "archive")
    assert sorted(int(Path(path).stem) for path in held.gaps) == lacking and held.gone == len(lacking)
