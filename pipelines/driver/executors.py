"""The cluster that the driver's Spark runs on: its application, and how many executors are alive."""

from __future__ import annotations

import threading
from typing import Any

from pipelines.domain.masters import CLUSTER_MODE, YARN, Cluster, is_local
from pipelines.driver.records import Records

POLL_S = 2.0
"""Nobody tells a driver in Python that an executor came or went."""
IN_POD = "spark.kubernetes.submitInDriver"
NONE_ALIVE = "No executor is alive: batches wait until the cluster gives one. Its own page says what is free, and why executors ended."


class Executors:
    """Notes where the run's Spark is, and each change of the number of its executors."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._noted: Cluster | None = None
        self._link = ""

    def watch(self, spark: Any) -> None:
        """Notes the cluster of the first session that is given, from now on until `close` where executors come and go."""
        if self._noted is not None:
            return
        scala = spark.sparkContext._jsc.sc()
        self._link = _page(spark.sparkContext._jvm, scala) if scala.master() == YARN else ""
        self._note(scala)
        if not is_local(scala.master()):
            self._thread = threading.Thread(target=self._follow, args=(scala,), name="tidemark-executors", daemon=True)
            self._thread.start()

    @property
    def is_watching(self) -> bool:
        """Whether changes are noted still."""
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Returns when the JVM is no longer asked."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _follow(self, scala: Any) -> None:
        """Until the run is over, its context is stopped, or its JVM is gone, which its queries say."""
        from py4j.protocol import Py4JNetworkError

        try:
            while not self._over.wait(POLL_S) and not scala.isStopped():
                self._note(scala)
        except Py4JNetworkError:
            return

    def _note(self, scala: Any) -> None:
        master = scala.master()
        alive = 0 if is_local(master) else scala.getExecutorIds().size()
        before, self._noted = self._noted, Cluster(master, _deploy_mode(scala), scala.applicationId(), alive, self._link)
        if self._noted == before:
            return
        self._records.cluster(self._noted)
        if before is not None and before.executors and not alive:
            self._records.event("executors.none", NONE_ALIVE)


def _deploy_mode(scala: Any) -> str:
    """What was asked for: the container of a driver in cluster mode on Kubernetes starts it in client mode, with a conf that says so."""
    return CLUSTER_MODE if scala.conf().get(IN_POD, "false") == "true" else str(scala.deployMode())


def _page(jvm: Any, scala: Any) -> str:
    """The application's page at YARN's resource manager, which is there before it runs and after it ended."""
    conf = jvm.org.apache.hadoop.yarn.conf.YarnConfiguration(scala.hadoopConfiguration())
    manager = jvm.org.apache.hadoop.yarn.webapp.util.WebAppUtils.getResolvedRMWebAppURLWithScheme(conf)
    return f"{manager}/cluster/app/{scala.applicationId()}"
