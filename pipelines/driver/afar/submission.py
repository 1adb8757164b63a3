"""Gives a run to a cluster with `spark-submit --deploy-mode cluster`, and returns when the cluster has it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pipelines.domain import kubernetes, segments, yarn
from pipelines.domain.job_places import is_remote, s3_conf
from pipelines.domain.masters import CLUSTER_MODE, DEPLOY_MODE, is_kubernetes, refuse_afar
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import outside, submit
from pipelines.driver.afar import packing
from pipelines.driver.catalog_conf import spark_home
from pipelines.driver.run import read_spec

ENTRY = "tidemark_driver.py"
ENTRY_CODE = f"""\
import sys, time
sys.path.insert(0, "{packing.UNPACKED}")
from pipelines.driver.afar.entry import main
sys.exit(main(lambda: time.time_ns() // 1_000_000))
"""
UPLOADS = "uploads"
"""Below what driver and server say to each other about the run, and removed with it: what the pods of Kubernetes fetch."""


def submit_run(folder: Path, environment: Mapping[str, str]) -> int:
    """The exit code of spark-submit, which inherits the open files that this process was given; raises what `outside.check` raises."""
    spec = read_spec(folder)
    outside.check(spec.outside)
    if not is_remote(spec.checkpoints):
        raise refuse_afar("its checkpoint cannot lie here", "Fork the job with --home s3://bucket/folder.")
    entry, archive = folder / ENTRY, packing.pack(spec, folder)
    entry.write_text(ENTRY_CODE)
    modules = [str(submit.pack(Path(spec.code), folder / submit.MODULES))] if spec.code else []
    conf = _conf(spec, environment, archive, ",".join(modules))
    words = [submitter(environment), "--master", spec.master, "--name", spec.conf.get("spark.app.name", spec.job)]
    for key, value in sorted(conf.items()):
        words += ["--conf", f"{key}={value}"]
    return subprocess.run([*words, str(entry)], env=dict(environment), cwd=folder, check=False, close_fds=False).returncode


def submitter(environment: Mapping[str, str]) -> str:
    """Spark's own command: of SPARK_HOME, or of the PySpark that is installed here."""
    return f"{spark_home(environment)}/bin/spark-submit"


def _conf(spec: RunSpec, environment: Mapping[str, str], archive: Path, modules: str) -> dict[str, str]:
    """The version's, with ours; what is a list on both sides is that of both."""
    theirs = packing.without_log_of_here(spec.conf)
    ours, lists = _of_kubernetes(spec, archive) if is_kubernetes(spec.master) else _of_yarn(spec, archive)
    joined = {key: ",".join(filter(None, (theirs.get(key, ""), value))) for key, value in {**lists, submit.PY_FILES: modules}.items()}
    ours = {**ours, DEPLOY_MODE: CLUSTER_MODE}
    return {
        **submit.QUIET,
        **theirs,
        **s3_conf(spec.checkpoints, spec.conf, environment),
        **ours,
        **{key: value for key, value in joined.items() if value},
    }


def _of_yarn(spec: RunSpec, archive: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Confs and lists. A driver that failed is started again by the job's restart strategy, as a run of its own, and never by YARN."""
    ours = {"spark.yarn.submit.waitAppCompletion": "false", "spark.yarn.maxAppAttempts": "1"}
    return ours, {"spark.yarn.tags": yarn.tag(spec.run), "spark.yarn.dist.archives": f"{archive}#{packing.UNPACKED}"}


def _of_kubernetes(spec: RunSpec, archive: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Confs and lists. Nothing starts a driver's pod again (`restartPolicy: Never`)."""
    ours = {
        "spark.kubernetes.submission.waitAppCompletion": "false",
        "spark.kubernetes.driver.pod.name": kubernetes.pod_name(spec.run),
        "spark.kubernetes.file.upload.path": f"{segments.folder(spec.checkpoints, spec.run)}/{UPLOADS}",
        **{f"spark.kubernetes.{role}.label.{kubernetes.LABEL}": spec.run for role in ("driver", "executor")},
    }
    return ours, {"spark.archives": f"{archive.as_uri()}#{packing.UNPACKED}"}
