"""Real HDFS and YARN for tests, from Hadoop's own jars: `hdfs` and `yarn` of `conftest.py` are one of each for a whole run.

Each is a process of its own with ports of its own, which ends with the one that started it (`Daemons.java`). `HADOOP_CONF_DIR` names the
settings of their clients, which `Hdfs.enter` puts into the environment of a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import psutil
import pytest

from pipelines.sandbox import classes
from tests import maven
from tests.compiled import compiled, java, spark_jars
from tests.waiting import until

JARS = "hadoop"
SOURCE = Path(__file__).with_name("Daemons.java")
OPENED = ("--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.net=ALL-UNNAMED")
SMALL = (*classes.BRIEF.split(), "-Xmx512m", "-Xss512k")
SECONDS = 120
HDFS = {
    "dfs.webhdfs.enabled": "true",
    "dfs.replication": "1",
    "dfs.namenode.handler.count": "4",
    "dfs.datanode.handler.count": "4",
    "dfs.namenode.fs-limits.min-block-size": "0",
    "dfs.datanode.du.reserved": "0",
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "5",
    "dfs.client.block.write.locateFollowingBlock.retries": "11",
}
"""The last two: a writer whose DataNode has not told the NameNode of the block yet asks again after that time, 400 ms by itself, and each
time after twice as long, for ten seconds on a busy machine."""
KEYS = "hadoop.security.key.provider.path"
"""Of an HDFS with folders whose files are encrypted: `jceks://file/…`."""
YARN = {
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.minicluster.yarn.nodemanager.resource.memory-mb": "6000",
    "yarn.nodemanager.resource.cpu-vcores": "8",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
}


def missing() -> str:
    """What was not fetched, and how to get it; empty where it is there."""
    return "" if maven.jars(JARS) else f"needs the jars of {JARS}, from Maven's repository; to get them: {maven.HOW}"


@dataclass(frozen=True)
class Hdfs:
    """A running HDFS: a NameNode and a DataNode in one process."""

    conf: Path
    """The folder of its clients' settings."""
    url: str
    """`hdfs://host:port`, as Spark names it."""
    web: str
    """`webhdfs://host:port`, as the server does."""
    process: subprocess.Popen[str]

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes the Hadoop clients of a process talk to it."""
        return {"HADOOP_CONF_DIR": str(self.conf)}

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Until the test is over, processes that are started have its settings."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def say(self, word: str) -> None:
        """`safe` (nothing can be written), `back`, or `zone FOLDER` (where `KEYS` of the settings names a file); it has come into
        effect when this returns."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == word


@dataclass(frozen=True)
class Yarn:
    """A running YARN on an HDFS: a ResourceManager and a NodeManager in one process."""

    hdfs: Hdfs
    resource_manager: str
    """`host:port`."""
    web: str
    """`http://host:port`: its REST and its pages."""
    process: subprocess.Popen[str]

    @property
    def conf(self) -> Path:
        """The folder of its clients' settings, and of its HDFS's."""
        return self.hdfs.conf

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Until the test is over, `--master yarn` of processes that are started is this one."""
        self.hdfs.enter(monkeypatch)


@contextmanager
def hdfs(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Hdfs]:
    """An HDFS that keeps its blocks in `folder`; it answers when the block begins, and is gone after it."""
    conf = folder / "conf"
    conf.mkdir()
    with _running("hdfs", folder / "hdfs", conf, {**HDFS, **(settings or {})}) as process:
        url = _setting(conf / "core-site.xml", "fs.defaultFS")
        yield Hdfs(conf, url, f"webhdfs://{_setting(conf / 'hdfs-site.xml', 'dfs.namenode.http-address')}", process)


@contextmanager
def yarn(hdfs: Hdfs, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Yarn]:
    """A YARN in `folder`, whose staging is on `hdfs`; applications can be submitted when the block begins, and it is gone after it."""
    asked = {"fs.defaultFS": hdfs.url, **YARN, **(settings or {})}
    with _running("yarn", folder / "yarn", hdfs.conf, asked) as process:
        site = hdfs.conf / "yarn-site.xml"
        address = _setting(site, "yarn.resourcemanager.address")
        yield Yarn(hdfs, address, f"http://{_setting(site, 'yarn.resourcemanager.webapp.address')}", process)


@dataclass(frozen=True)
class Node:
    """A NodeManager in a process of its own."""

    process: subprocess.Popen[str]

    def has(self, pid: int) -> bool:
        """Whether the process `pid` is in one of its containers."""
        return any(parent.pid == self.process.pid for parent in psutil.Process(pid).parents())

    def kill(self) -> None:
        """SIGKILL; what is in its containers lives on."""
        self.process.kill()
        self.process.wait()


@contextmanager
def node(yarn: Yarn, folder: Path) -> Iterator[Node]:
    """One NodeManager more, which the ResourceManager knows when the block begins; after it nothing of its containers runs."""
    known = len(nodes(yarn))
    memory = {"yarn.nodemanager.resource.memory-mb": YARN["yarn.minicluster.yarn.nodemanager.resource.memory-mb"]}
    try:
        with _running("node", folder, yarn.conf, {"fs.defaultFS": yarn.hdfs.url, **YARN, **memory}) as process:
            until(lambda: len(nodes(yarn)) > known, SECONDS, what="the NodeManager did not come")
            yield Node(process)
    finally:
        for left in psutil.process_iter(["cmdline"]):
            if any(f"{folder}/" in word for word in left.info["cmdline"] or ()):
                left.kill()


def nodes(yarn: Yarn) -> list[str]:
    """The NodeManagers that the ResourceManager counts on."""
    with urlopen(f"{yarn.web}/ws/v1/cluster/nodes", timeout=60) as answer:
        listed = json.load(answer)["nodes"] or {"node": []}
    return [seen["id"] for seen in listed["node"] if seen["state"] == "RUNNING"]


@contextmanager
def _running(daemon: str, folder: Path, conf: Path, settings: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    if lacks := missing():
        pytest.skip(lacks)
    folder.mkdir()
    options = [f"{name}={value}" for name, value in settings.items()]
    command = [*_java([compiled(SOURCE, _jars()), *_jars()]), "Daemons", daemon, str(folder), str(conf), *options]
    log = folder / "daemons.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True)
    try:
        assert process.stdout is not None
        assert _is_ready(process.stdout), log.read_text()[-10_000:]
        yield process
    finally:
        _end(process, gently=daemon != "hdfs")


def _is_ready(output: IO[str]) -> bool:
    """Waits for the daemon's word; False where it ended without it."""
    return any(line.strip() == "ready" for line in iter(output.readline, ""))


def _end(process: subprocess.Popen[str], *, gently: bool) -> None:
    """By the end of its input where it has containers, which one that is killed leaves."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        if gently:
            process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _java(class_path: Sequence[Path]) -> list[str]:
    return [java(), *OPENED, *SMALL, "-cp", os.pathsep.join(map(str, class_path))]


def _jars() -> list[Path]:
    return [*maven.jars(JARS), *spark_jars()]


def _setting(file: Path, name: str) -> str:
    values = {entry.findtext("name"): entry.findtext("value") for entry in ET.parse(file).iter("property")}
    return values[name] or ""
