"""JVMs that outlive their driver: the next one has it, without anything of the one before; a driver that dies takes its JVM along."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.sandbox import environment, gateway
from pipelines.sandbox.requests import MARK
from tests.kept_jvms.keeper import Keeper
from tests.waiting import until

pytestmark = pytest.mark.spark

STREAMS = """
import os, signal
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.readStream.format("rate").load().writeStream.format("noop").start()
print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(tmp_path)
    with keeper.giving():
        yield keeper
    keeper.close()


def told(folder: Path, *confs: str, **does: Any) -> Mapping[str, Any]:
    """What a session sees in a process of its own."""
    folder.mkdir()
    (folder / "does.json").write_text(json.dumps(does))
    environ = {**os.environ, MARK: str(folder), gateway.SUBMIT: " ".join([*confs, gateway.END])}
    command = [*environment.command("", "tests.sandbox.told"), str(folder)]
    subprocess.run(command, cwd=environment.ROOT, env=environ, check=True, timeout=240, stdin=subprocess.DEVNULL)
    session: dict[str, Any] = json.loads((folder / "said.json").read_text())
    return session


def test_the_next_process_has_the_jvm_and_nothing_of_the_one_before(own: Keeper, tmp_path: Path) -> None:
    zone, memory = "spark.sql.session.timeZone", "--conf spark.driver.memory=500m"
    first = told(tmp_path / "1", f"--master local[2] --conf {zone}=Asia/Tokyo --name first", memory, conf={"spark.sql.x": "1"}, view="one")
    assert (first["hour"], first["conf"]["spark.sql.x"]) == (9, "1") and own.waiting == [first["jvm"]]
    second = told(tmp_path / "2", f"--master local[2] --conf {zone}=UTC", memory)
    assert second["jvm"] == first["jvm"] and (second["hour"], second["name"], second["views"]) == (0, "told", ["v"])
    assert "spark.sql.x" not in second["conf"] and second["environ"][MARK] == str(tmp_path / "2")
    other = told(tmp_path / "3", "--master local[2]")
    assert other["jvm"] != first["jvm"], "its memory is another"
    assert own.waiting == [first["jvm"], other["jvm"]]
    own.end_all()
    until(lambda: ended(first["jvm"], other["jvm"]))


def test_a_killed_driver_takes_its_jvm_along(own: Keeper, tmp_path: Path) -> None:
    """It is in the middle of a query."""
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "streams.py").write_text(STREAMS)
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{environment.ROOT}", gateway.SUBMIT: f"--master local[2] {gateway.END}"}
    command = [*environment.command("", "streams"), str(folder)]
    killed = subprocess.run(command, cwd=environment.ROOT, env=environ, stdout=subprocess.PIPE, text=True, timeout=240)
    until(lambda: ended(int(killed.stdout)))
    assert killed.returncode == -9 and own.waiting == []


def ended(*pids: int) -> bool:
    """Whether these are gone; one whose parent is, too, may wait for somebody to take notice."""
    alive = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return all(process.status() == psutil.STATUS_ZOMBIE for process in alive)
