"""Requests to the sandbox to count rows of state, and its answers: plain data, as JSON between two interpreters.

The folder of a task: `task.json` (a `CountTask`) is there before the start; the process appends a `StoreRows` a line to
`stores.jsonl` as it goes, and writes `result.json` or, if Spark itself fails, `error.json` as its last act. `sandbox.log` is its output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from pipelines.domain.plain_json import rebuilt

if TYPE_CHECKING:
    from pipelines.domain.savepoints import QueryImage

STORES_FILE = "stores.jsonl"
RESULT_FILE = "result.json"
ERROR_FILE = "error.json"
LOG_FILE = "sandbox.log"
TASK_FORMAT = 1


@dataclass(frozen=True)
class Store:
    """One state store of an operator, over all its partitions."""

    query: str
    checkpoint: str
    """Absolute path or URL."""
    batch: int
    provider: str
    """`hdfs` or `rocksdb`."""
    state_format: int
    operator: int
    operator_name: str
    """As Spark's metadata has it (`stateStoreSave`, `symmetricHashJoin`, …); empty where the checkpoint does not say."""
    store: str

    @classmethod
    def of(cls, image: QueryImage, checkpoint: str, operator: int, operator_name: str, store: str) -> Self:
        """One at the batch of an image, in a checkpoint of it."""
        return cls(image.query, checkpoint, image.batch, image.provider, image.state_format, operator, operator_name, store)

    @property
    def is_index(self) -> bool:
        """Whether it is one of a join's two indexes into its buffered rows: Spark counts each buffered row once
        (SymmetricHashJoinStateManager's metrics are those of keyWithIndexToValue)."""
        return self.store.endswith("-keyToNumValues")


@dataclass(frozen=True)
class Task:
    """What a Spark on `master` that has the confs of the job is asked; `FILE` of the task's folder says it."""

    FILE: ClassVar[str]
    format: int
    app: str
    master: str
    conf: Mapping[str, str]

    def write(self, folder: Path) -> None:
        (folder / self.FILE).write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Self:
        return rebuilt(cls, json.loads((folder / cls.FILE).read_text()))


@dataclass(frozen=True)
class CountTask(Task):
    """Count the rows of `stores`."""

    FILE = "task.json"
    stores: tuple[Store, ...]


@dataclass(frozen=True)
class StoreRows:
    """What Spark read of one store: `rows` as `numRowsTotal` counts them, or why they could not be read."""

    store: Store
    rows: int
    error_class: str = ""
    message: str = ""
    damaged: bool = False
    """Whether the state itself is at fault, and not this Spark, which cannot read such a state."""

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True)
class Counted:
    """The end of a count: `unread` stores have a `StoreRows` that says why."""

    spark_version: str
    unread: int


@dataclass(frozen=True)
class Refusal:
    """Why state could not be read. `damaged`: the state itself is at fault, and not this Spark or its confs."""

    error_class: str
    message: str
    damaged: bool


def read_rows(folder: Path) -> Iterator[StoreRows]:
    """The whole lines that the process has written so far."""
    path = folder / STORES_FILE
    lines = path.read_text().split("\n")[:-1] if path.is_file() else []
    return (rebuilt(StoreRows, json.loads(line)) for line in lines)
