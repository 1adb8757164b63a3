"""Where a new job will lie: in the workspace, or at a home that is fit for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain import job_places, masters
from pipelines.domain.errors import Unsupported
from pipelines.domain.homes import USUAL, WORKSPACE, is_folder, is_untried
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.job_places import CONNECTOR, JARS
from pipelines.domain.versions import Version
from pipelines.sandbox import sparks
from pipelines.storage import capabilities, users
from pipelines.storage.addresses import HDFS_ADDRESSES, S3_ADDRESSES, STORE_ADDRESSES, open_storage
from pipelines.workspace import homes
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class AtHome:
    """Where a job's bytes lie that are not in the workspace: its folder at a home, and the home of its savepoints."""

    home: str = ""
    place: str = ""


HERE = AtHome()


def planned(context: Context, home: str, job: JobName, run: RunId, version: Version) -> AtHome:
    """Where the job will lie that `run` begins at `home`.

    Raises what `homes.checked` raises, Unsupported (`home.scheme`, `home.webhdfs`, `home.connector`), Conflict (`home.endpoint`,
    `home.credentials`), Invalid (`home.namenode`, `storage.namenode`), and Unavailable where the storage does not answer the server, or
    lets nobody write there, or is a disk that is not mounted (`home.away`).
    """
    home = context.files.usual_home().jobs if home in ("", USUAL) else home
    if home in ("", WORKSPACE):
        _refuse_afar(home, version)
        return AtHome(home)
    url = home if is_untried(home) else homes.checked(context, home)
    _refuse_afar(url, version)
    if url.startswith(S3_ADDRESSES):
        _refuse_s3(version)
    elif url.startswith(HDFS_ADDRESSES):
        _refuse_hdfs(url, version)
    refuse_scheme(url)
    homes.refuse_away(context, open_storage(url))
    place = job_places.at(url, job, run)
    storage = open_storage(place)
    next(iter(storage.list()), None)
    capabilities.refuse_unwritable(storage)
    return AtHome(url, place)


def _refuse_s3(version: Version) -> None:
    job_places.refuse_unlike(version.conf, os.environ)
    job_places.refuse_without_connector(version.conf, _hadoop_of(version), _has_jar(version, (CONNECTOR,)))
    _refuse_missing(version.conf)


def _refuse_hdfs(url: str, version: Version) -> None:
    job_places.refuse_unwritten(url)
    job_places.refuse_another_user(os.environ, users.name())
    job_places.refuse_without_hdfs(version.conf, os.environ, _has_jar(version, job_places.HDFS_CLIENTS))


def refuse_scheme(url: str) -> None:
    """Raises Unsupported (`home.scheme`) for a storage in which no job was run."""
    if not is_folder(url) and not url.startswith(STORE_ADDRESSES):
        hint = (
            "Give s3://bucket/folder, hdfs://host:8020/folder or a whole path, or leave --home out; savepoints can be kept at such a place "
            "(home set)."
        )
        raise Unsupported("home.scheme", f"Jobs were not run at {url} yet", hint)


def _refuse_afar(home: str, version: Version) -> None:
    """Raises Unsupported (`master.cluster_mode`) for a driver on the cluster that would need something of this machine."""
    if not masters.is_afar(version.master, version.conf):
        return
    if home in ("", WORKSPACE) or is_folder(home):
        raise masters.refuse_afar("its checkpoint cannot lie here", "Give the job a home that both reach: --home s3://bucket/folder.")
    if version.requirements:
        hint = f"Give it an environment with spark.archives, or leave {masters.DEPLOY_MODE} out."
        raise masters.refuse_afar("the environment that Tidemark makes of requirements is here", hint)


def _hadoop_of(version: Version) -> str:
    """The Hadoop of the version's Spark; empty where that is not known."""
    spark = sparks.of(version.python)
    return spark.hadoop if spark else ""


def _has_jar(version: Version, names: Sequence[str]) -> bool:
    """Whether one of these is among the jars of the version's Spark."""
    jars = sparks.jars(version.python)
    return jars is not None and any(True for name in names for _ in jars.glob(f"{name}-*.jar"))


def _refuse_missing(conf: Mapping[str, str]) -> None:
    """Raises Unsupported (`home.connector`) for a jar of this machine that is not there."""
    named = (path.strip().removeprefix("file://") for path in conf.get(JARS, "").split(","))
    missing = next((path for path in named if path.startswith("/") and "*" not in path and not Path(path).is_file()), "")
    if missing:
        raise Unsupported("home.connector", f"{JARS} names {missing}, which is not there", f"Fetch {job_places.ARTIFACT} again from Maven.")
