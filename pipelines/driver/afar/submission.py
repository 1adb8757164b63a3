"""Gives a run to YARN with `spark-submit --deploy-mode cluster`, and returns when YARN has it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pipelines.domain.job_places import is_remote
from pipelines.domain.masters import CLUSTER_MODE, DEPLOY_MODE, refuse_afar
from pipelines.domain.runs import RunSpec
from pipelines.domain.yarn import tag
from pipelines.driver import outside, submit
from pipelines.driver.afar import packing
from pipelines.driver.run import read_spec
from pipelines.driver.s3_conf import s3_conf

ENTRY = "tidemark_driver.py"
ENTRY_CODE = f"""\
import sys, time
sys.path.insert(0, "{packing.UNPACKED}")
from pipelines.driver.afar.entry import main
sys.exit(main(lambda: time.time_ns() // 1_000_000))
"""
OURS = {
    "spark.yarn.submit.waitAppCompletion": "false",
    "spark.yarn.maxAppAttempts": "1",
    DEPLOY_MODE: CLUSTER_MODE,
}
"""A driver that failed is started again by the job's restart strategy, as a run of its own, and never by YARN."""
TAGS, ARCHIVES = "spark.yarn.tags", "spark.yarn.dist.archives"


def submit_run(folder: Path, environment: Mapping[str, str]) -> int:
    """The exit code of spark-submit; raises what `outside.check` raises."""
    spec = read_spec(folder)
    outside.check(spec.outside)
    if not is_remote(spec.checkpoints):
        raise refuse_afar("its checkpoint cannot lie here", "Fork the job with --home s3://bucket/folder.")
    entry, archive = folder / ENTRY, packing.pack(spec, folder)
    entry.write_text(ENTRY_CODE)
    modules = [str(submit.pack(Path(spec.code), folder / submit.MODULES))] if spec.code else []
    conf = _conf(spec, environment, {ARCHIVES: f"{archive}#{packing.UNPACKED}", submit.PY_FILES: ",".join(modules)})
    words = [submitter(environment), "--master", spec.master, "--name", spec.conf.get("spark.app.name", spec.job)]
    for key, value in sorted(conf.items()):
        words += ["--conf", f"{key}={value}"]
    return subprocess.run([*words, str(entry)], env=dict(environment), cwd=folder, check=False).returncode


def submitter(environment: Mapping[str, str]) -> str:
    """Spark's own command: of SPARK_HOME, or of the PySpark that is installed here."""
    installed = find_spec("pyspark")
    home = environment.get("SPARK_HOME") or (os.path.dirname(installed.origin) if installed and installed.origin else "")
    return f"{home}/bin/spark-submit"


def _conf(spec: RunSpec, environment: Mapping[str, str], lists: Mapping[str, str]) -> dict[str, str]:
    """The version's, with ours; what is a list on both sides is that of both."""
    theirs = packing.without_log_of_here(spec.conf)
    tags = {TAGS: tag(spec.run), **lists}
    joined = {key: ",".join(filter(None, (theirs.get(key, ""), value))) for key, value in tags.items()}
    return {**submit.QUIET, **theirs, **s3_conf(spec, environment), **OURS, **{key: value for key, value in joined.items() if value}}
