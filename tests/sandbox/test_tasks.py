"""A task is read as it was written, with all that it has in it."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain.conversions import Shape
from pipelines.domain.state_variables import Family
from pipelines.sandbox.cluster_copies import CopyTask
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.key_examples import SAVED, ExampleTask, Points
from pipelines.sandbox.migrations import MigrationTask, Placing, Target
from pipelines.storage.carrying import Move

STORE = Store("q", "/c", 3, "rocksdb", 2, 0, "stateStoreSave", "default")
SHAPE = Shape(2, '{"type":"struct"}', "{}", 0, "lz4")
STRUCT = {"type": "struct", "fields": [{"name": "a"}]}


def test_tasks(tmp_path: Path) -> None:
    of_all = (TASK_FORMAT, "test", "local[1]", {"k": "v"})
    family = Family("old", "new", (STRUCT, STRUCT), (STRUCT, {}), places=(0, None))
    target = Target(SHAPE, "/contract", ("a + 1",), (0,), copies=(("a", "b"),), families=(family, Family("", "x", ({}, {}), ({}, {}))))
    placing = Placing("/c", 3, "/contract", ((0, 1), (2, 0)), (STORE,), (SHAPE,))
    for task in (
        MigrationTask(*of_all, (STORE,), (target,), "f", "def f(): ...", (placing,), (("/a", "/b"),)),
        ExampleTask(*of_all, (Points({SAVED: STORE}, "count"),), 2.5),
        CopyTask(*of_all, (Move("s3://a/1", "s3://b/1", 7),)),
    ):
        task.write(tmp_path)
        assert type(task).read(tmp_path) == task
