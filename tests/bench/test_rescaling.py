"""Seconds and memory that rescaling takes a million keys: the whole of the sandbox's process, with its counting before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.sandbox import states
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.rewrites import RewriteTask
from tests.bench import keyed_state
from tests.bench.keyed_state import COUNTED, JOINED, KEYS, MILLIONS, PARTITIONS, VALUED, Kind, Steps
from tests.bench.peak import Peak
from tests.savepoint.matrix import FORMAT_2, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]


@keyed_state.named(COUNTED, JOINED, VALUED)
def test_rescaling(spark: Any, tmp_path: Path, kind: Kind) -> None:
    session = configured(spark, FORMAT_2 | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    made = keyed_state.made(session, tmp_path, kind)
    task = RewriteTask(TASK_FORMAT, "bench", "local[2]", {}, keyed_state.stores(made, kind), 2 * PARTITIONS)
    peak, steps = Peak(), Steps()
    with peak:
        done = states.rewrite(Pool(), made.home, task, OWN, steps)
    spent = str(steps)
    assert all(read.before == read.after for read in done.stores) and done.stores[0].before.rows == KEYS
    print(f"{kind.query.__name__}, {MILLIONS:g} million keys, {PARTITIONS} → {2 * PARTITIONS} partitions: {spent}, {peak}")
