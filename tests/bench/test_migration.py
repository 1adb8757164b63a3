"""Seconds and memory that it takes to have a function rewrite the state of a million keys: the whole of the sandbox's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench import keyed_state
from tests.bench.keyed_state import COUNTED, JOINED, KEYS, MILLIONS, PARTITIONS, VALUED, Kind, Steps
from tests.bench.peak import Peak
from tests.savepoint.matrix import FORMAT_2, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

FUNCTION = "def again(rows, schema, name):\n    return rows.select('key', 'value')\n"


@keyed_state.named(COUNTED, JOINED, VALUED)
def test_migration(spark: Any, tmp_path: Path, kind: Kind) -> None:
    session = configured(spark, FORMAT_2 | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    made = keyed_state.made(session, tmp_path, kind)
    peak, steps = Peak(), Steps()
    with peak:
        done = keyed_state.by_function(made, kind, tmp_path / "contract", "again", FUNCTION, steps)
    spent = str(steps)
    assert all(store.given == store.after and store.given.rows == store.rows == KEYS for store in done.stores)
    print(f"{kind.query.__name__}, {MILLIONS:g} million keys, by a function: {spent}, {peak}")
