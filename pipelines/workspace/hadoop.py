"""Hadoop's configuration of this machine, which the Sparks of jobs have: where YARN is, and where a path without a scheme lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipelines.domain import hadoop_conf, yarn
from pipelines.domain.masters import YARN, is_afar, without_deploy_mode
from pipelines.domain.versions import Version


def check(version: Version) -> None:
    """Raises what `hadoop_conf.refuse_without_yarn` raises for a version that runs on YARN, Invalid (`hadoop.conf`) for any."""
    if version.master == YARN:
        hadoop_conf.refuse_without_yarn(version.conf, os.environ, os.path.isfile)
    if version.master == YARN and is_afar(version.master, version.conf):
        yarn.addresses(hadoop_conf.settings(version.conf, os.environ, _read, (hadoop_conf.CORE_SITE, hadoop_conf.YARN_SITE)))
    default_fs(version.conf)


def default_fs(conf: Mapping[str, str]) -> str:
    """Where the Spark of a job with `conf` looks for a path without a scheme."""
    return hadoop_conf.default_fs(conf, os.environ, _read)


def told(place: str, conf: Mapping[str, str]) -> str:
    """What a script is told of a folder, so that its Spark finds it: a path, or a URL where Hadoop's default is not this machine."""
    return place.replace("/", hadoop_conf.LOCAL, 1) if hadoop_conf.located(place, default_fs(conf)) != place else place


def here(conf: Mapping[str, str]) -> Mapping[str, str]:
    """`conf` of a Spark on this machine that works on its files alone, whatever Hadoop's default is."""
    mine = without_deploy_mode(conf)
    return mine if hadoop_conf.is_local(default_fs(conf)) else {**mine, **hadoop_conf.LOCAL_CONF}


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if os.path.isfile(path) else None
