"""Runtimes, storage and server of the workspace, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.descriptions import describes
from pipelines.domain.about import About, Runtime, Server, Storage
from pipelines.words import code_rights, connectors, formats, pushes, resources


@describes(About)
def about_text(about: About, now_ms: int) -> str:
    """Runtimes, storage and server, a line each."""
    pairs = [pair for runtime in about.runtimes for pair in _runtime(runtime)]
    pushed = [("metrics go to", pushes.line(push, now_ms)) for push in about.pushes] or [("metrics go to", pushes.NOWHERE)]
    return output.details(
        [*pairs, ("master of a new job", about.default_master), *_storage(about.storage), *_server(about.server), *pushed]
    )


def _runtime(runtime: Runtime) -> list[tuple[str, str]]:
    used = f"used by {formats.plural(runtime.versions, 'version')}"
    java = f"{runtime.java_version}, {runtime.java}" if runtime.java_version else "none that fits"
    return [
        ("Python", f"{f'{runtime.python_version}, ' if runtime.python_version else ''}{runtime.python}, {used}"),
        ("Spark", runtime.spark_version or "not installed"),
        ("Java", java),
        *([("does not fit", f"{runtime.problem}. {runtime.hint}")] if runtime.problem else []),
        *((connector.system, connectors.need(connector)) for connector in runtime.connectors),
    ]


def _storage(storage: Storage) -> list[tuple[str, str]]:
    disk = storage.disk
    can = [name for name, does in (("hard links", disk.hard_links), ("reflinks", disk.reflinks)) if does]
    settings = [name for name, is_there in storage.s3.items() if is_there]
    return [
        ("workspace", f"{storage.workspace} ({storage.workspace_id or 'no id'}, format {storage.workspace_format})"),
        (
            "catalog",
            f"{formats.size(storage.catalog_bytes)}, format {storage.catalog_format}, {formats.plural(sum(storage.rows.values()), 'row')}",
        ),
        ("savepoints", f"{formats.count(storage.savepoints)}, {formats.size(storage.savepoint_bytes)} on disk"),
        ("disk", f"{disk.file_system}, {formats.size(disk.free_bytes)} free of {formats.size(disk.total_bytes)}"),
        ("it can", ", ".join(can) or "copy only"),
        ("S3 settings", ", ".join(settings) or "none"),
    ]


def _server(server: Server) -> list[tuple[str, str]]:
    return [
        ("server", server.url or "none runs"),
        ("role", server.role),
        ("Tidemark", f"{server.version}{f', commit {server.commit[:12]}' if server.commit else ''}"),
        ("drivers' logs", server.driver_logs),
        ("jobs' code runs as", code_rights.short(server)),
        ("limits of jobs are held", resources.CAN[server.holds]),
    ]
