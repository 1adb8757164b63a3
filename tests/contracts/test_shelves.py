"""Savepoints lie in the workspace or at a home: who has a savepoint's id asks for its shelf, and not for the workspace's own library."""

from __future__ import annotations

from pathlib import Path

WORKSPACE = Path(__file__).parents[2] / "pipelines" / "workspace"
OF_THE_LIBRARY = {"backups/making", "backups/parts", "cleanup", "disposals", "exports", "large_files", "rebuild", "repairs", "savepoints"}
"""They list it, put savepoints into it, or ask for those that have no note of a home."""


def test_only_these_ask_for_the_library() -> None:
    asking = [path.relative_to(WORKSPACE).with_suffix("") for path in WORKSPACE.rglob("*.py") if "context.library" in path.read_text()]
    assert {path.as_posix() for path in asking} == OF_THE_LIBRARY
