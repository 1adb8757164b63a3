"""Runtimes, storage and server of the workspace, read at each call."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines import __version__
from pipelines.catalog import migrations, versions
from pipelines.catalog import rebuild as catalog_rebuild
from pipelines.domain import masters
from pipelines.domain.about import About, Disk, Server, ServerRole, Storage
from pipelines.domain.about import Runtime as ListedRuntime
from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.json_text import read_json
from pipelines.domain.runs import LOG_FILE
from pipelines.domain.runtimes import OWN, Runtime, problems
from pipelines.sandbox import environment, holding, installed, sparks
from pipelines.sandbox.java import JavaHome
from pipelines.storage import capabilities, disks, hosts, users
from pipelines.verbs.system import ShowAbout
from pipelines.workspace import connectors, runtimes, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

ROOT = Path(__file__).resolve().parents[2]
S3_SETTINGS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL")
DRIVER_LOGS = f"jobs/JOB/runs/RUN/{LOG_FILE}"


@answers(ShowAbout)
def about(context: Context, question: ShowAbout) -> About:
    """Runtimes, storage and server as of now; the version of a Java is read once."""
    warm = context.sparks.processes()
    return About(
        *(_runtimes(context), masters.DEFAULT, _storage(context), _server(context)),
        *(warm, sum(process.memory_bytes for process in warm), context.sparks.most_bytes, tuple(context.pushes.values())),
    )


def _runtimes(context: Context) -> tuple[ListedRuntime, ...]:
    """The server's own first, then those that versions name."""
    with context.catalog.reading() as reader:
        used = Counter(_known(version_of_run.runtime) for version_of_run in versions.listed(reader))
    others = sorted((runtime for runtime in used if runtime != OWN), key=lambda runtime: (runtime.python, runtime.java_home))
    return tuple(_runtime(runtime, used[runtime]) for runtime in (OWN, *others))


def _known(runtime: Runtime) -> Runtime:
    return Runtime("", runtime.java_home) if runtime.python == sys.executable else runtime


def _runtime(runtime: Runtime, count: int) -> ListedRuntime:
    """1. Its Spark; 2. the Java that this gets; 3. the Python itself. The first problem is said."""
    spark = sparks.of(runtime.python)  # 1
    java, java_problem = _java(runtime)  # 2
    python = platform.python_version() if not runtime.python else _python_version(runtime)  # 3
    program = runtime.python or sys.executable
    there = [] if shutil.which(program) else [runtimes.no_interpreter(program)]
    problem = next((each for each in (*there, *problems(program, python, spark), java_problem) if each is not None), None)
    version = spark.version if spark else ""
    return ListedRuntime(
        python=program,
        python_version=python,
        spark_version=version,
        java=str(java.path) if java else runtime.java_home,
        java_version=java.version if java else "",
        java_packaged=java is not None and java.packaged,
        versions=count,
        connectors=connectors.of_runtime(runtime, version, {}) if version else (),
        problem=problem.message if problem else "",
        hint=problem.hint if problem else "",
        java_named=bool(runtime.java_home),
    )


def _java(runtime: Runtime) -> tuple[JavaHome | None, TidemarkError | None]:
    try:
        return environment.java_of(runtime), None
    except Unavailable as problem:
        return None, problem


def _python_version(runtime: Runtime) -> str:
    """What the interpreter says of itself; empty where it does not answer, or cannot be asked without a Java."""
    try:
        stands = installed.of(runtime)
    except Unavailable:
        return ""
    return stands.python if stands else ""


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
    kind, total, free = disks.disk_of(root)
    can = capabilities.abilities(root)
    return Disk(kind, total, free, can.hard_links, can.reflinks)


def _server(context: Context) -> Server:
    """The server of this process, as it has announced itself."""
    document = dict(context.announced) if context.is_standby else _document(context.layout.server_file)
    if (document.get("pid"), document.get("host")) != (os.getpid(), asdict(hosts.here())):
        document = {}
    url, encryption = str(document.get("address") or document.get("url", "")), str(document.get("encryption", ""))
    role = ServerRole.STANDBY if context.is_standby else ServerRole.ACTIVE
    is_here, provider = not document.get("open", False), str(document.get("provider", ""))
    whose = users.name(), users.other() is not None
    return Server(
        url, is_here, __version__, _commit(ROOT), os.getpid(), DRIVER_LOGS, encryption, role, provider, *whose, holds=holding.means()
    )


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
