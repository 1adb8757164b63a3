"""Runtimes, storage and server of the workspace, read at each call."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections import Counter
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pipelines import __version__
from pipelines.catalog import migrations, versions
from pipelines.catalog import rebuild as catalog_rebuild
from pipelines.domain import connectors, masters
from pipelines.domain.about import About, Disk, Runtime, Server, Storage
from pipelines.domain.connectors import Connector
from pipelines.domain.errors import Unavailable
from pipelines.domain.json_text import read_json
from pipelines.domain.runs import LOG_FILE
from pipelines.sandbox.java import java_home
from pipelines.storage import capabilities
from pipelines.verbs.system import ShowAbout
from pipelines.workspace import savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

ROOT = Path(__file__).resolve().parents[2]
S3_SETTINGS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL")
DRIVER_LOGS = f"jobs/JOB/runs/RUN/{LOG_FILE}"


@answers(ShowAbout)
def about(context: Context, question: ShowAbout) -> About:
    """Runtimes, storage and server as of now; the version of Java is read once."""
    return About(_runtimes(context), masters.DEFAULT, _storage(context), _server(context), context.sparks.processes(), context.sparks.most)


def _runtimes(context: Context) -> tuple[Runtime, ...]:
    with context.catalog.reading() as reader:
        used = Counter(version_of_run.python or sys.executable for version_of_run in versions.listed(reader))
    other_runtimes = [Runtime(python, "", "", "", "", False, count) for python, count in sorted(used.items()) if python != sys.executable]
    java, version, packaged = _java()
    spark = _installed("pyspark")
    own = Runtime(sys.executable, platform.python_version(), spark, java, version, packaged, used[sys.executable], _connectors(spark))
    return (own, *other_runtimes)


def _connectors(spark_version: str) -> tuple[Connector, ...]:
    spec = importlib.util.find_spec("pyspark") if spark_version else None
    if spec is None or spec.origin is None:
        return ()
    jars = Path(os.environ.get("SPARK_HOME") or Path(spec.origin).parent) / "jars"
    return (connectors.kafka(spark_version, any(jars.glob(f"{connectors.KAFKA_JAR}*.jar"))),)


@cache
def _java() -> tuple[str, str, bool]:
    """JAVA_HOME, version, whether it is the packaged one; nothing where there is no Java."""
    try:
        java = java_home()
    except Unavailable:
        return "", "", False
    return str(java.path), java.version, java.packaged


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _storage(context: Context) -> Storage:
    with context.catalog.reading() as reader:
        rows, catalog_format = catalog_rebuild.counts(reader), migrations.format_of(reader)
    marker, space, layout = _document(context.layout.workspace_file), savepoints.space(context, ""), context.layout
    files = (layout.catalog_file, layout.catalog_file.with_name(f"{layout.catalog_file.name}.wal"))
    return Storage(
        workspace=str(layout.root),
        workspace_id=str(marker.get("id", "")),
        workspace_format=int(marker.get("format", 0)),
        catalog_format=catalog_format,
        catalog_bytes=sum(file.stat().st_size for file in files if file.exists()),
        rows=rows,
        savepoints=len(savepoints.newest_first(context, "")),
        savepoint_bytes=space.disk_bytes,
        disk=_disk(layout.root),
        s3={name: bool(os.environ.get(name)) for name in S3_SETTINGS},
    )


def _disk(root: Path) -> Disk:
    kind, total, free = capabilities.disk_of(root)
    can = capabilities.abilities(root)
    return Disk(kind, total, free, can.hard_links, can.reflinks)


def _server(context: Context) -> Server:
    """The server of this process, as it has announced itself."""
    document = _document(context.layout.server_file)
    if document.get("pid") != os.getpid():
        document = {}
    url, encryption = str(document.get("address") or document.get("url", "")), str(document.get("encryption", ""))
    return Server(url, not document.get("open", False), __version__, _commit(ROOT), os.getpid(), DRIVER_LOGS, encryption)


def _document(path: Path) -> dict[str, Any]:
    """A small JSON file; nothing where there is none."""
    return dict(read_json(path.read_bytes())) if path.exists() else {}


def _commit(root: Path) -> str:
    """The commit that git has checked out in `root`, from its files; empty where there is none."""
    place = root / ".git"
    if place.is_file():
        place = root / place.read_text().removeprefix("gitdir:").strip()
    head = _line(place / "HEAD")
    if not head.startswith("ref:"):
        return head
    name, shared = head.removeprefix("ref:").strip(), place / (_line(place / "commondir") or ".")
    return _line(place / name) or _line(shared / name) or _packed(shared / "packed-refs", name)


def _line(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""


def _packed(path: Path, name: str) -> str:
    pairs = (line.split(" ", 1) for line in _line(path).splitlines() if not line.startswith(("#", "^")))
    return next((commit for commit, ref in pairs if ref == name), "")
