"""Backups as fakes know them: one, its plan, and the plan of its restore."""

from __future__ import annotations

from typing import Any

from pipelines.domain.backups import BACKUP_FORMAT, BackupCheckPlan, BackupPlan, BackupRestorePlan, ListedBackup
from pipelines.domain.ids import BackupId, JobName, SavepointId
from pipelines.verbs.backups import CheckBackup, CreateBackup, RestoreBackup

JOB = JobName("post_engagement")
BACKUP = ListedBackup(
    *(BACKUP_FORMAT, BackupId("b-00000000000a"), "w-1", 1_799_996_400_000, 4_200, (JOB,), (SavepointId("sp-000000000002"),)),
    *(320, 48_000_000, 1_200_000, "0" * 64, {"post_events": "No streaming query of job post_events has started"}),
)
PLANS: dict[Any, Any] = {
    CreateBackup: lambda face, it: BackupPlan(it.url, (JOB,), 1, 320, 48_000_000, 12, 1_200_000, BACKUP.left),
    CheckBackup: lambda face, it: BackupCheckPlan(it.url, BACKUP.id, BACKUP.created_ms, BACKUP.files, 300, BACKUP.bytes),
    RestoreBackup: lambda face, it: BackupRestorePlan(
        it.url, BACKUP.id, BACKUP.created_ms, BACKUP.jobs, 1, BACKUP.files, BACKUP.bytes, BACKUP.left
    ),
}
