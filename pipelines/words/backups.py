"""Backups in words: what one would copy, and what restoring it would read."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.backups import BackupCheckPlan, BackupPlan, BackupRestorePlan, ListedBackup
from pipelines.words import formats
from pipelines.words.formats import Facts

STILL = "No job runs afterwards: resume each one, and it goes on where its backup was taken."


def plan(plan: BackupPlan) -> Facts:
    """What is in it, and what of that is copied."""
    return [
        ("to", plan.url),
        ("jobs", formats.count(len(plan.jobs))),
        ("savepoints", formats.count(plan.savepoints)),
        ("in all", formats.files(plan.files, plan.bytes)),
        ("copied at most", formats.files(plan.new_files, plan.new_bytes)),
        *_left(plan.left),
    ]


def check(plan: BackupCheckPlan, now_ms: float) -> Facts:
    """Which backup, and what is read."""
    return [
        ("backup", f"{plan.backup} of {plan.url}"),
        ("made", formats.when(plan.created_ms, now_ms, None)),
        ("files", formats.count(plan.files)),
        ("reads", formats.files(plan.contents, plan.bytes)),
    ]


def restore(plan: BackupRestorePlan, now_ms: int) -> Facts:
    """Which backup, and what is read."""
    return [
        ("backup", f"{plan.backup} of {plan.url}"),
        ("made", formats.when(plan.created_ms, now_ms, None)),
        ("jobs", ", ".join(plan.jobs) or formats.MISSING),
        ("savepoints", formats.count(plan.savepoints)),
        ("reads", formats.files(plan.files, plan.bytes)),
        *_left(plan.left),
    ]


def row(backup: ListedBackup, now_ms: float) -> tuple[str, str, str, str, str, str]:
    """Id, when, jobs, savepoints, files with their size, what it added; of one that cannot be read the damage in place of its files."""
    if backup.damage:
        return (backup.id, *(formats.MISSING,) * 3, f"cannot be read: {backup.damage}", formats.MISSING)
    return (
        backup.id,
        formats.when(backup.created_ms, now_ms, None),
        formats.count(len(backup.jobs)),
        formats.count(len(backup.savepoints)),
        formats.files(backup.files, backup.bytes),
        formats.size(backup.new_bytes),
    )


def _left(left: Mapping[str, str]) -> Facts:
    return [("left out", f"{name}: {why}") for name, why in left.items()]
