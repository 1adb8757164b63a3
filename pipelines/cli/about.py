"""The verb that says what the workspace and its server stand on."""

from __future__ import annotations

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.session import opened
from pipelines.domain.about import About, Runtime, Server, Storage


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(about)


def about(ctx: typer.Context, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """Say what the workspace stands on. Runtimes, storage, the server; of credentials only whether they are there."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.about()
        here.show(found, _text(found))


def _text(found: About) -> str:
    pairs = [pair for one in found.runtimes for pair in _runtime(one)]
    return output.details([*pairs, ("master of a new job", found.default_master), *_storage(found.storage), *_server(found.server)])


def _runtime(one: Runtime) -> list[tuple[str, str]]:
    used = formats.counted(one.versions, "version")
    if not one.python_version:
        return [("another Python", f"{one.python}, {used}")]
    java = f"{one.java_version}, {one.java}" if one.java else "none found"
    return [("Python", f"{one.python_version}, {one.python}, {used}"), ("Spark", one.spark_version or "not installed"), ("Java", java)]


def _storage(one: Storage) -> list[tuple[str, str]]:
    disk = one.disk
    can = [name for name, does in (("hard links", disk.hard_links), ("reflinks", disk.reflinks)) if does]
    there = [name for name, is_there in one.s3.items() if is_there]
    return [
        ("workspace", f"{one.workspace} ({one.workspace_id or 'no id'}, format {one.workspace_format})"),
        ("catalog", f"{formats.size(one.catalog_bytes)}, format {one.catalog_format}, {formats.count(sum(one.rows.values()))} rows"),
        ("savepoints", f"{formats.count(one.savepoints)}, {formats.size(one.savepoint_bytes)} on disk"),
        ("disk", f"{disk.file_system}, {formats.size(disk.free_bytes)} free of {formats.size(disk.total_bytes)}"),
        ("it can", ", ".join(can) or "copy only"),
        ("S3 settings", ", ".join(there) or "none"),
    ]


def _server(one: Server) -> list[tuple[str, str]]:
    return [
        ("server", one.url or "none runs"),
        ("Tidemark", f"{one.version}{f', commit {one.commit[:12]}' if one.commit else ''}"),
        ("drivers' logs", one.driver_logs),
    ]
