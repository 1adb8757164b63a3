"""Warm processes: what a task leaves behind is gone before the next one, and a process ends with its task, its server, or by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.resources import MIB
from pipelines.domain.runtimes import OWN
from pipelines.sandbox import classes, gateway, states
from pipelines.sandbox.counts import TASK_FORMAT, CountTask, Store
from pipelines.sandbox.environment import ROOT
from pipelines.sandbox.members import LOG
from pipelines.sandbox.pool import EXPECTED_BYTES, MOST_VARIABLE, Pool, Work
from tests import java, warm
from tests.waiting import until

GOLDEN = Path(__file__).parents[1] / "golden"
PATIENCE_S = 400.0


class Asked:
    """A pool, asked for one task after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pool = Pool()
        self.pool.open(folder / "sandbox", warm.USUAL)
        self._numbers = count()

    def new_folder(self) -> Path:
        warm.one_environment()
        folder = self.folder / f"task-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def told(self, is_last: bool = False, **does: Any) -> Mapping[str, Any]:
        """What a session sees; nothing where its process died."""
        folder = self.new_folder()
        (folder / "does.json").write_text(json.dumps(does))
        work = Work("tests.sandbox.told", OWN, "local[2]", {}, is_last, ())
        self.pool.run(work, folder, "told.log", lambda: None, PATIENCE_S)
        path = folder / "said.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def rows(self, store: Store, **conf: str) -> list[Any]:
        task = CountTask(TASK_FORMAT, "test", "local[2]", {"spark.log.level": "ERROR", **conf}, (store,))
        counted = states.count(self.pool, self.new_folder(), task, OWN, lambda done: None)
        return [(store_rows.rows, store_rows.damaged) for store_rows in counted.rows]

    def pids(self) -> list[int]:
        return [process.pid for process in self.pool.processes()]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    asked = Asked(tmp_path_factory.mktemp("pool"))
    yield asked
    asked.pool.close()
    assert not list((asked.folder / "sandbox").iterdir())


def limit(checkpoint: Path) -> Store:
    return Store("q", str(checkpoint), 6, "rocksdb", 2, 0, "globalLimit", "default")


@pytest.mark.parametrize(
    ("arguments", "conf"),
    [
        ("pyspark-shell", {}),
        ("--master 'local[2]' --name n --conf a=b=c pyspark-shell", {"spark.master": "local[2]", "spark.app.name": "n", "a": "b=c"}),
        ("--packages a:b:1 pyspark-shell", None),
        ("--conf a pyspark-shell", None),
        ("--supervise pyspark-shell", None),
    ],
)
def test_arguments_that_say_more_than_confs_are_not_understood(arguments: str, conf: Mapping[str, str] | None) -> None:
    assert gateway._parsed(arguments) == conf


def test_what_holds_for_a_whole_jvm_is_told_from_what_a_session_takes() -> None:
    whole = {"spark.driver.memory": "1g", "spark.jars": "a.jar", "spark.sql.extensions": "E", "spark.hadoop.fs.s3a.endpoint": "e"}
    session = {
        "spark.sql.session.timeZone": "UTC",
        "spark.app.name": "n",
        "spark.sql.shuffle.partitions": "1",
        "spark.eventLog.dir": "file:/a",
    }
    assert gateway.launch_conf(whole | session) == whole


def test_a_closed_pool_keeps_nothing(tmp_path: Path) -> None:
    pool = Pool()
    pool.expect(OWN, "local[2]", {})
    assert pool.processes() == ()


@pytest.mark.spark
def test_a_process_of_its_own_for_a_brief_work_compiles_no_further_and_the_users_options_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(classes.SUBMIT_OPTIONS, "-Dmine=kept")
    (tmp_path / "does.json").write_text("{}")
    work = Work("tests.sandbox.told", OWN, "local[2]", {}, is_last=True, hidden=(), is_brief=True)
    assert Pool().run(work, tmp_path, "told.log", lambda: None, PATIENCE_S) == 0
    options = json.loads((tmp_path / "said.json").read_text())["environ"][classes.SUBMIT_OPTIONS]
    assert classes.UNPOLISHED in options and options.endswith(" -Dmine=kept"), "what comes last holds"


def test_a_process_that_nobody_asks_for_ends(tmp_path: Path) -> None:
    pool = Pool(idle_s=0.3)
    pool.open(tmp_path, warm.ONE)
    pool.expect(OWN, "local[2]", {})
    (process,) = pool.processes()
    until(lambda: not pool.processes())
    assert not psutil.pid_exists(process.pid) and not list(tmp_path.iterdir())
    pool.close()


def test_together_they_take_no_more_memory_than_the_bound(tmp_path: Path) -> None:
    """One that has just begun counts as what it is going to take, and gives way to one of another kind; what takes more ends."""
    pool = Pool()
    pool.open(tmp_path, 2 * EXPECTED_BYTES)
    pool.expect(OWN, "local[2]", {}, most=3)
    first, second = pool.processes()
    pool.expect(OWN, "local[2]", {"spark.driver.memory": "700m"})
    assert first.pid not in (pids := [process.pid for process in pool.processes()]) and pids[0] == second.pid and len(pids) == 2
    pool.keep_within()
    assert len(pool.processes()) == 2
    until(lambda: all(process.memory_bytes > 20 * MIB for process in pool.processes()))
    pool.most_bytes = 25 * MIB
    pool.keep_within()
    assert len(pool.processes()) <= 1
    pool.most_bytes = 1
    pool.keep_within()
    assert not pool.processes() and not list(tmp_path.iterdir())
    pool.expect(OWN, "local[2]", {})
    assert not pool.processes(), "there is no room for one"
    pool.close()


def test_the_bound_is_one_of_memory_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(MOST_VARIABLE, "2048")
    pool = Pool()
    pool.open(tmp_path)
    assert pool.most_bytes == 2 * 1024**3


SERVER = """
import sys, time
from pathlib import Path
from pipelines.domain.runtimes import OWN
from pipelines.sandbox.pool import Pool
pool = Pool()
pool.open(Path(sys.argv[1]), int(sys.argv[2]))
pool.expect(OWN, "local[2]", {})
print(pool.processes()[0].pid, flush=True)
time.sleep(600)
"""


@pytest.mark.spark
def test_it_ends_by_itself_when_the_server_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path), str(warm.ONE)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        try:
            assert server.stdout is not None
            process = psutil.Process(int(server.stdout.readline()))
            until(lambda: java.jvms(process), seconds=PATIENCE_S)
            every = [process, *process.children(recursive=True)]
        finally:
            server.kill()
    _, left = psutil.wait_procs(every, timeout=60)
    assert left == []


@pytest.mark.spark
def test_a_warm_process_counts_another_store_each_time_and_finds_damage_where_there_was_none(asked: Asked) -> None:
    """The same folder, sound and then damaged, with another store between: nothing is remembered of it."""
    warm.one_environment()
    asked.pool.expect(OWN, "local[2]", {})
    until(lambda: asked.pool.processes()[0].is_warm, seconds=PATIENCE_S)
    (log,) = (asked.folder / "sandbox").glob(f"*/{LOG}")
    assert (told := log.read_text()) and "Traceback" not in told and "[tidemark]" not in told, told
    (pid,) = asked.pids()
    checkpoint = asked.folder / "checkpoint"
    shutil.copytree(GOLDEN / "limit_format2" / "checkpoint", checkpoint)
    hdfs = Store("q", str(GOLDEN / "limit" / "checkpoint"), 12, "hdfs", 1, 0, "globalLimit", "default")
    assert asked.rows(limit(checkpoint)) == [(1, False)]
    assert asked.rows(hdfs, **{"spark.sql.session.timeZone": "Asia/Tokyo"}) == [(1, False)]
    assert asked.pids() == [pid]
    for path in (checkpoint / "state" / "0" / "0").glob("*.changelog"):
        path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    assert asked.rows(limit(checkpoint)) == [(0, True)]
    assert asked.pids() == []  # what could not be read may have left its Spark in any state


@pytest.mark.spark
def test_no_session_sees_another_ones(asked: Asked) -> None:
    tokyo = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": "3"}
    first = asked.told(conf=tokyo | {"spark.master": "local[1]"}, name="first", view="first", environ={"PYTHONPATH": "/nowhere"})
    (pid,) = asked.pids()
    second = asked.told(conf={"spark.sql.session.timeZone": "UTC"}, name="second", view="second")
    third = asked.told(view="third")
    assert asked.pids() == [pid] and first["jvm"] == second["jvm"] == third["jvm"]
    assert [session["hour"] for session in (first, second)] == [9, 0]
    assert tokyo.items() <= first["conf"].items()
    assert [session["views"] for session in (first, second, third)] == [["first"], ["second"], ["third"]]
    assert (first["name"], second["name"], third["name"]) == ("first", "second", "told")
    assert second["conf"].keys() - {"spark.sql.session.timeZone"} == third["conf"].keys()
    assert not tokyo.keys() & third["conf"].keys()
    assert third["environ"].get("PYTHONPATH") != "/nowhere"
    assert [session["stdin"] for session in (first, second, third)] == [""] * 3


@pytest.mark.spark
def test_a_session_that_needs_another_jvm_gets_one_and_a_users_process_is_given_nothing_else(asked: Asked) -> None:
    asked.told()
    (pid,) = asked.pids()
    other = asked.told(is_last=True, conf={"spark.driver.memory": "600m"})
    assert other["heap"] < 640 * 1024**2
    until(lambda: not psutil.pid_exists(pid) and not psutil.pid_exists(other["jvm"]))
    assert asked.pids() != [pid]


@pytest.mark.spark
def test_a_task_that_dies_or_is_cancelled_ends_its_process_and_no_other(asked: Asked) -> None:
    warm.one_environment()
    (pid,) = asked.pids()
    other = Work("tests.sandbox.told", OWN, "local[1]", {"spark.driver.memory": "700m"}, is_last=False, hidden=())
    asked.pool.expect(other.runtime, other.master, other.conf)
    assert asked.told(dies=True) == {}
    assert pid not in asked.pids() and len(asked.pids()) == 1

    class Cancelled(Exception):
        pass

    def cancel() -> None:
        asked.pool.most_bytes = 1
        asked.pool.keep_within()
        assert asked.pids() == [pid], "it does something"
        raise Cancelled

    (pid,) = asked.pids()
    folder = asked.new_folder()
    (folder / "does.json").write_text("{}")
    with pytest.raises(Cancelled):
        asked.pool.run(other, folder, "told.log", cancel, PATIENCE_S)
    assert asked.pids() == [] and not psutil.pid_exists(pid)
