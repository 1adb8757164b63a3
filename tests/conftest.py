"""What every test may use: a real Spark, a real browser's path; and what holds for all: in CI nothing is skipped."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psutil
import pytest

from pipelines.domain.workspace_leases import PERIOD_VARIABLE
from tests import cluster as cluster_
from tests import emulators, hadoop, java, local_files, warm
from tests.kept_jvms.keeper import Keeper
from tests.running import budgets, workers
from tests.storage import s3_server as s3_server_

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = "needs Chromium, and there is none in PATH; to get it: apt-get install chromium (Debian), dnf install chromium (Fedora)"
DISKS = ("/dev/shm", "/var/tmp")
BY_HAND = ("bench", "long")
"""Marks that are also folders."""


def in_ci() -> bool:
    """Whether this is a CI machine, which has everything and may skip nothing."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def browser() -> str | None:
    """Path of a browser that Playwright can drive, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def pytest_configure(config: pytest.Config) -> None:
    budgets.register(config)
    if not _is_by_hand(config):
        warm.none_unasked()
        os.environ.setdefault(PERIOD_VARIABLE, "3600")  # a renewal gives a file another name, while tests compare what is there


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Iterator[int]:
    """A whole run has more workers than there are cores, where nobody says how many."""
    cores: int = yield
    told = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not budgets.is_whole(config)
    return cores if told else workers.of_whole_run(cores, psutil.virtual_memory().available)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is run by hand (benchmarks, long tests) runs only when it is asked for; several workers begin with the longest files.

    In CI a browser's test that fails is tried once more, because a page that a busy machine draws late loses a click; the summary names it
    (RERUN). No other test is: what Spark and the engine do must be right at the first time.
    """
    unknown = budgets.mark_by_hand(items, budgets.read().by_hand)
    if unknown and budgets.is_whole(config):
        raise pytest.UsageError(f"{budgets.FILE.name} names tests that are not there: {', '.join(unknown)}")
    for item in items:
        if in_ci() and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    by_hand = [item for item in items for mark in BY_HAND if item.get_closest_marker(mark) and not _is_asked_for(config, mark)]
    config.hook.pytest_deselected(items=by_hand)
    items[:] = [item for item in items if item not in by_hand]
    if hasattr(config, "workerinput"):
        items[:] = budgets.longest_first(items, budgets.read().seconds)


def _is_by_hand(config: pytest.Config) -> bool:
    return any(_is_asked_for(config, mark) for mark in BY_HAND)


def _is_asked_for(config: pytest.Config, mark: str) -> bool:
    """By its mark, or by its folder."""
    return mark in config.option.markexpr or any(mark in Path(argument.partition("::")[0]).parts for argument in config.args)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Gives what starts Spark its Java, as the supervisor does, and its files; skips what needs a browser where there is none."""
    if item.get_closest_marker("spark"):
        local_files.prepare()
        java.prepare(compiles=_is_by_hand(item.config))
    if item.get_closest_marker("browser") and browser() is None:
        pytest.skip(NO_BROWSER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """In CI a skipped test is a failed one. An expected failure (xfail) is none."""
    report: pytest.TestReport = yield
    return _unless_ci(report) if not hasattr(report, "wasxfail") else report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """In CI a skipped module is a failed one."""
    report: pytest.CollectReport = yield
    return _unless_ci(report)


def _unless_ci(report: Any) -> Any:
    if report.skipped and in_ci():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"In CI nothing may be skipped. {reason}"
    return report


@pytest.fixture(scope="session")
def s3_server() -> Iterator[s3_server_.S3Server]:
    """A real S3 server process for all tests of the run."""
    with s3_server_.serving() as server:
        yield server


@pytest.fixture
def s3_url(s3_server: s3_server_.S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of one's own on it (`s3://bucket/prefix`); the environment has what S3 clients of this process and its children need."""
    s3_server.enter(monkeypatch)
    return f"s3://{s3_server_.BUCKET}/{uuid4().hex}"


@pytest.fixture(scope="session")
def google() -> Iterator[emulators.Emulator]:
    with emulators.google() as emulator:
        yield emulator


@pytest.fixture(scope="session")
def azure() -> Iterator[emulators.Emulator]:
    with emulators.azure() as emulator:
        yield emulator


@pytest.fixture
def google_url(google: emulators.Emulator, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of one's own in an emulator of Google's store; for what is run by hand, as it is fetched."""
    google.enter(monkeypatch)
    return f"{google.url}/{uuid4().hex}"


@pytest.fixture
def azure_url(azure: emulators.Emulator, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same of Azure's."""
    azure.enter(monkeypatch)
    return f"{azure.url}/{uuid4().hex}"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster_.Cluster]:
    """A Spark standalone cluster of two workers for all tests of the run; who kills a worker adds another one."""
    with cluster_.standing(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hadoop.Hdfs]:
    """A real HDFS for all tests of the run."""
    with hadoop.hdfs(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture
def hdfs_url(hdfs: hadoop.Hdfs, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of one's own on it (`hdfs://host:port/prefix`); `HADOOP_CONF_DIR` names the settings of its clients."""
    hdfs.enter(monkeypatch)
    return f"{hdfs.url}/{uuid4().hex}"


@pytest.fixture(scope="session")
def yarn(hdfs: hadoop.Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hadoop.Yarn]:
    """A real YARN on `hdfs` for all tests of the run; `yarn.enter(monkeypatch)` makes it the `--master yarn` of a test."""
    with hadoop.yarn(hdfs, tmp_path_factory.mktemp("yarn")) as cluster:
        yield cluster


@pytest.fixture
def disk_url(tmp_path: Path) -> Iterator[str]:
    """A folder of one's own on another disk than pytest's, where this machine has one that may be written to."""
    apart = [disk for disk in DISKS if os.access(disk, os.W_OK) and os.stat(disk).st_dev != tmp_path.stat().st_dev]
    with tempfile.TemporaryDirectory(prefix="tidemark-disk-", dir=next(iter(apart), tmp_path)) as folder:
        Path(folder).chmod(0o755)
        yield folder


@pytest.fixture
def other_disk(tmp_path: Path, disk_url: str) -> Path:
    """A folder on another file system than `tmp_path`: between the two nothing can be linked."""
    if Path(disk_url).stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system at /dev/shm; mount one: mount -t tmpfs tmpfs /dev/shm")
    return Path(disk_url)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; skips where there is none."""
    return browser() or pytest.skip(NO_BROWSER)


@pytest.fixture(scope="session")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    keeper = Keeper(tmp_path_factory.mktemp("jvms"))
    yield keeper
    keeper.close()


@pytest.fixture(scope="module")
def kept_jvms(keeper: Keeper, pytestconfig: pytest.Config) -> Iterator[None]:
    """Drivers and sandboxes of the file's tests have JVMs that outlive them (`tests.kept_jvms`)."""
    local_files.prepare()
    java.prepare(compiles=_is_by_hand(pytestconfig))
    with keeper.giving():
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[SparkSession]:
    """One small, quiet, real Spark for all tests of the run, whose JVM is gone when they are done."""
    from pyspark.sql import SparkSession

    local_files.prepare()
    java.prepare(compiles=_is_by_hand(pytestconfig))
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in _confs(folder).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    _end_jvm()


def _confs(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": os.environ.get("TIDEMARK_BENCH_MEMORY", "1g"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _end_jvm() -> None:
    """Ends the JVM behind PySpark and closes its pipes, which PySpark itself leaves to the end of the interpreter."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None
