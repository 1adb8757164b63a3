"""Answers a process without a JVM what pods are, and deletes them, by the client that Spark makes of a version's confs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from pipelines.domain.masters import KUBERNETES
from pipelines.domain.texts import first_line
from pipelines.driver.run import read_spec

CONFS, NAMESPACE = "spark.kubernetes.", "spark.kubernetes.namespace"
SIGNING_IN = "spark.kubernetes.authenticate.submission"
FACTORY = "org.apache.spark.deploy.k8s.SparkKubernetesClientFactory"
GRACE_S = 1
"""Of a driver whose pod is deleted; it is asked to stop in other ways."""
OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -Dkubernetes.request.retry.backoffLimit=2"
"""An API server that does not answer is asked three times, not eleven, before that is said; it is asked again all the same."""
JVM = f"--master local --driver-memory 96m --driver-java-options '{OPTIONS}' pyspark-shell"


def serve(folder: Path, environment: MutableMapping[str, str]) -> int:
    """Reads a JSON a line, `{"pod": name}` or `{"delete": name}`, and answers each with a line: `{"pod": the document, or null}` or
    `{"error": text}`; until its input ends."""
    from py4j.protocol import Py4JJavaError

    spec, answers = read_spec(folder), _own_output()
    environment["PYSPARK_SUBMIT_ARGS"] = JVM
    jvm, client = None, None
    for line in sys.stdin:
        try:
            jvm = jvm or _jvm()
            client = client or _client(jvm, spec.master, spec.conf)
            answer = {"pod": _done(jvm, client, json.loads(line))}
        except Py4JJavaError as error:
            answer = {"error": first_line(error.java_exception.toString())}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def _done(jvm: Any, client: Any, question: Mapping[str, str]) -> Any:
    if "delete" in question:
        client.pods().withName(question["delete"]).withGracePeriod(GRACE_S).delete()
        return None
    pod = client.pods().withName(question["pod"]).get()
    return None if pod is None else json.loads(jvm.io.fabric8.kubernetes.client.utils.Serialization.asJson(pod))


def _client(jvm: Any, master: str, conf: Mapping[str, str]) -> Any:
    """As spark-submit makes its own (`KubernetesClientApplication`), with what Spark's defaults on this machine say."""
    confs = jvm.org.apache.spark.SparkConf(True)
    for key, value in conf.items():
        if key.startswith(CONFS):
            confs.set(key, value)
    kinds = jvm.java.lang.Class.forName(f"{FACTORY}$ClientType$").getField("MODULE$").get(None)
    address = jvm.org.apache.spark.util.Utils.checkAndGetK8sMasterUrl(master).removeprefix(KUBERNETES)
    option = jvm.scala.Option
    namespace = option.apply(confs.get(NAMESPACE, "default"))
    factory = jvm.org.apache.spark.deploy.k8s.SparkKubernetesClientFactory
    return factory.createKubernetesClient(address, namespace, SIGNING_IN, kinds.Submission(), confs, option.apply(None))


def _jvm() -> Any:
    from pyspark.java_gateway import launch_gateway

    return launch_gateway().jvm


def _own_output() -> Any:
    """This process's output, for answers alone: what it and its JVM print otherwise goes where errors go."""
    own = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own
