"""The number of a cluster's executors is noted when it changes, and that none is left is an event."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines.domain.masters import CLUSTER_FILE, Cluster
from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver import executors
from pipelines.driver.executors import Executors
from pipelines.driver.records import Records
from tests.waiting import until

URL = "spark://a:7077"


class Spark:
    """What is asked of a session, its context and the JVM's: PySpark's names."""

    def __init__(self, master: str, alive: int) -> None:
        self._master, self.alive, self.is_stopped = master, alive, False
        self.sparkContext = self._jsc = self

    def sc(self) -> Any:
        return self

    def master(self) -> str:
        return self._master

    def applicationId(self) -> str:
        return "app-1"

    def isStopped(self) -> bool:
        return self.is_stopped

    def conf(self) -> Any:
        return {}

    def deployMode(self) -> str:
        return "client"

    def getExecutorIds(self) -> Any:
        return self

    def size(self) -> int:
        return self.alive


def noted(folder: Path) -> Any:
    return json.loads((folder / CLUSTER_FILE).read_text())


def test_each_change_is_noted_until_the_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(executors, "POLL_S", 0.01)
    spark, watching = Spark(URL, 2), Executors(Records(tmp_path, lambda: 1))
    watching.watch(spark)
    watching.watch(Spark("local[2]", 0))
    assert noted(tmp_path) == asdict(Cluster(URL, "client", "app-1", 2))
    spark.alive = 0
    until(lambda: (tmp_path / EVENTS_FILE).is_file() and noted(tmp_path)["executors"] == 0)
    spark.alive = 1
    until(lambda: noted(tmp_path)["executors"] == 1)
    watching.close()
    assert [json.loads(line)["kind"] for line in (tmp_path / EVENTS_FILE).read_text().splitlines()] == ["executors.none"]


def test_a_context_that_was_stopped_is_let_go(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(executors, "POLL_S", 0.01)
    spark, watching = Spark(URL, 1), Executors(Records(tmp_path, lambda: 1))
    watching.watch(spark)
    spark.is_stopped = True
    until(lambda: not watching.is_watching)
    watching.close()


def test_a_local_master_has_none_to_watch(tmp_path: Path) -> None:
    watching = Executors(Records(tmp_path, lambda: 1))
    watching.watch(Spark("local[2]", 5))
    watching.close()
    assert noted(tmp_path) == asdict(Cluster("local[2]", "client", "app-1", 0))
