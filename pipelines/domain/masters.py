"""Spark masters: on which machines a job's executors run, and what is refused before anything starts.

The kinds are those of `SparkContext.createTaskScheduler`. The driver is a process of Tidemark's machine (client mode), or one that YARN
or Kubernetes starts on the cluster (cluster mode), which shares no disk with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.bounds import Count
from pipelines.domain.errors import Invalid, Unsupported

DEFAULT = "local[2]"
"""Of a new job, and of one-off work on the state of a job whose executors run elsewhere."""
TRIES = 3
"""Of a task of one-off work."""
CLUSTER_FILE = "cluster.json"
"""In a run's folder."""
MASTER, DEPLOY_MODE = "spark.master", "spark.submit.deployMode"
CLUSTER_MODE = "cluster"
CONNECT = "connect"
"""Where the deploy mode of a run stands whose Spark is a Connect server, which others use, too."""
_LOCAL = re.compile(r"local(\[\s*(\d+|\*)\s*(,\s*\d+\s*)?\])?")
_CLUSTERS = {
    "spark": re.compile(r"spark://[^\s,/]+:\d+(,[^\s,/]+:\d+)*"),
    "yarn": re.compile(r"yarn"),
    "k8s": re.compile(r"k8s://\S+"),
    "local-cluster": re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"),
}
KINDS = "local[N], spark://host:port, yarn or k8s://https://host:port"
YARN, KUBERNETES = "yarn", "k8s://"
SHARED = (
    "executors on {master} read and write the job's checkpoint and files by the same paths as this machine: "
    "the folder of the workspace, the home of the job, and the folders of its input must be on a disk that all of them share"
)
UPLOADED = (
    "each start uploads Spark's jars to YARN (some 400 MB): put them where the cluster finds them, and name that in spark.yarn.jars or "
    "spark.yarn.archive"
)
JARS_OF_YARN = ("spark.yarn.jars", "spark.yarn.archive")


@dataclass(frozen=True)
class Cluster:
    """Where a run's Spark is, as its driver last saw it."""

    master: str
    deploy_mode: str
    """`client`: the driver is a process of this machine; `cluster`: one of the cluster; `connect`: it is a client of a Connect server, and
    `master` is that server."""
    application: str
    """Spark's id of it; a cluster's own pages know it by that. Of a Connect server the session's."""
    executors: Count
    """Alive; 0 on a local master, whose threads are the driver's own."""
    link: str = ""
    """The application's page at the cluster, which outlives the run; empty where the cluster has none."""


def is_local(master: str) -> bool:
    """Whether its Spark is the driver's JVM alone, with however many threads."""
    return _LOCAL.fullmatch(master.strip()) is not None


def threads(master: str) -> int | None:
    """How many threads a local Spark has for tasks, 0 for one for each processor of its machine; None for a cluster."""
    match = _LOCAL.fullmatch(master.strip())
    if match is None:
        return None
    return 0 if match[2] == "*" else int(match[2] or 1)


def beside(master: str) -> str:
    """The master of one-off work on the state of a job that runs on `master`: never a cluster, whose executors its jobs need, and which
    need not see scratch folders of this machine.

    A task has TRIES, where a local Spark gives it one (`SparkContext.MAX_LOCAL_TASK_FAILURES`): a busy machine may not have a new Python
    up within the 10 s that Spark gives it (`PythonWorkerFactory.createSimpleWorker`)."""
    if not master:
        return master
    here = master if is_local(master) else DEFAULT
    return here if "," in here else f"local[{threads(here) or '*'},{TRIES}]"


def check(master: str, conf: Mapping[str, str]) -> None:
    """Raises Invalid (`master.unknown`) for what no Spark understands, Unsupported (`master.deploy_mode`) for drivers on a cluster."""
    if master and not is_local(master) and not any(pattern.fullmatch(master) for pattern in _CLUSTERS.values()):
        raise Invalid("master.unknown", f"{master!r} is no Spark master that Tidemark knows", f"Name {KINDS}.")
    mode = conf.get(DEPLOY_MODE, "client")
    if mode != "client" and not is_afar(master, conf):
        why = " (which Spark cannot do with Python on a standalone cluster)" if master.startswith("spark://") else ""
        there = "Tidemark does that on YARN and Kubernetes, with mode cluster"
        message = f"{DEPLOY_MODE}={mode} would start the driver elsewhere{why}; {there}"
        raise Unsupported("master.deploy_mode", message, f"Leave {DEPLOY_MODE} out: executors run on the cluster all the same.")


def check_confs(master: str, conf: Mapping[str, str]) -> None:
    """Raises Invalid (`master.conf`) for confs with another master than the job's, which its driver passes over."""
    other = conf.get(MASTER, master)
    if master and other != master:
        message = f"The conf {MASTER}={other} would be passed over: the job's master is {master}"
        raise Invalid("master.conf", message, f"Leave it out of the confs, and name the master: --master {other!r}.")


def is_afar(master: str, conf: Mapping[str, str]) -> bool:
    """Whether the driver is started on the cluster."""
    return (master == YARN or is_kubernetes(master)) and conf.get(DEPLOY_MODE, "") == CLUSTER_MODE


def is_kubernetes(master: str) -> bool:
    return master.startswith(KUBERNETES)


def refuse_afar(what: str, hint: str) -> Unsupported:
    """What a driver on the cluster cannot do or have (`master.cluster_mode`)."""
    return Unsupported("master.cluster_mode", f"In cluster mode the driver shares no disk with this machine: {what}", hint)


def without_deploy_mode(conf: Mapping[str, str]) -> dict[str, str]:
    """`conf` of a Spark on this machine."""
    return {key: value for key, value in conf.items() if key != DEPLOY_MODE}


def remarks(master: str, conf: Mapping[str, str], *, at_home: bool = False) -> tuple[str, ...]:
    """What somebody should know who lets a job run on `master`, whose bytes lie in the workspace or at a home."""
    shared = [] if is_local(master) or not master or at_home else [SHARED.format(master=master)]
    uploaded = [UPLOADED] if master == YARN and not any(conf.get(key) for key in JARS_OF_YARN) else []
    return (*shared, *uploaded)
