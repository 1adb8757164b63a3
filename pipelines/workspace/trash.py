"""The trash: what the opening cleans away is moved there first, and stays a week. What a person disposes of is freed at once."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipelines.domain.moments import DAY_MS
from pipelines.workspace.context import Context

KEPT_MS = 7 * DAY_MS


def put(context: Context, folder: Path) -> None:
    """Moves `folder` into the trash, under a name that says when; nothing where it is not there."""
    if folder.exists():
        folder.rename(place(context, folder))


def place(context: Context, folder: Path) -> Path:
    """Where `folder` would be in the trash, which is there."""
    context.layout.trash.mkdir(exist_ok=True)
    return context.layout.trash / f"{context.now_ms()}-{folder.name}"


def clean(context: Context) -> None:
    """Deletes what was moved there more than a week ago."""
    for folder in context.layout.trash.glob("*-*"):
        since_ms = folder.name.partition("-")[0]
        if since_ms.isdecimal() and context.now_ms() - int(since_ms) > KEPT_MS:
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
