"""Real Spark goes on from a closure as if nothing had happened: the rows are those of the run that was never interrupted.

`tests/savepoint/test_exactness_matrix.py` has the same operators and stores go on from savepoints, which are made of closures, every time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import sink_log
from pipelines.checkpoint.closure import closure
from pipelines.storage.local import LocalStorage
from tests.checkpoint.materialise import carry_sink_log, materialise
from tests.golden import make

pytestmark = [pytest.mark.long, pytest.mark.spark]

FORKED_AT = 2
"""Before the fourth batch, whose logs are compacted: the fork has to cross it."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "4", "spark.sql.streaming.fileSink.log.compactInterval": "4"}
STATEFUL = ["hdfs", "limit", "limit_format2", "rocksdb", "rocksdb_changelog", "rocksdb_format2", "join", "named", "transform"]
COMMITS_AT_LEAST = 6


def rows(spark: Any, output: Path) -> list[Any]:
    """What the sink log says is written: a fork's names the files that its parent wrote, too."""
    log = LocalStorage(output / "_spark_metadata")
    whole = sink_log.whole(log)
    files = sink_log.live_files(whole, whole.batches[-1].id)
    return sorted(tuple(row) for row in spark.read.parquet(*(file.path for file in files)).collect())


@pytest.mark.parametrize("name", ["stateless", *STATEFUL])
def test_a_restart_from_a_past_batch_equals_the_uninterrupted_run(spark: Any, tmp_path: Path, name: str) -> None:
    golden = make.GOLDENS[name]
    for seed, folder in enumerate(golden.inputs):
        make.write_input(tmp_path / folder, batches=COMMITS_AT_LEAST, seed=seed)
    session = make.configured(spark.newSession(), golden.conf | COMPACTED)
    make.run(session, golden, tmp_path, tmp_path / "checkpoint", tmp_path / "output")
    expected = rows(session, tmp_path / "output")

    source = LocalStorage(tmp_path / "checkpoint")
    batch_closure = closure(source, FORKED_AT)
    materialise(batch_closure, source, LocalStorage(tmp_path / "fork"))
    carry_sink_log(LocalStorage(tmp_path / "output/_spark_metadata"), LocalStorage(tmp_path / "fork-output/_spark_metadata"), FORKED_AT)
    # Spark's maintenance may still write a snapshot into it, so it cannot be deleted reliably: out of the fork's reach is enough.
    (tmp_path / "checkpoint").rename(tmp_path / "out-of-reach")

    session = make.configured(spark.newSession(), golden.conf | COMPACTED)
    make.run(session, golden, tmp_path, tmp_path / "fork", tmp_path / "fork-output")
    assert expected
    assert rows(session, tmp_path / "fork-output") == expected
    assert len(list((tmp_path / "fork/commits").glob("[0-9]*"))) >= COMMITS_AT_LEAST - FORKED_AT
