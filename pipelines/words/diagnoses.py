"""A diagnosis in words: what was read, what can be restored, what is damaged and which batches need it."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.words import formats
from pipelines.words.formats import Facts
from pipelines.words.trust import DAMAGES

FINDINGS = ("Part", "Damage", "What", "Batches that need it", "File")
"""Titles of the damaged files."""


def facts(diagnosis: Diagnosis) -> Facts:
    """What was read, the newest committed batch, the batches that can be restored."""
    newest = f"batch {diagnosis.newest_committed:,}" if diagnosis.newest_committed is not None else "no batch"
    return [
        ("read", formats.files(diagnosis.files, diagnosis.bytes)),
        ("newest committed", newest),
        ("can be restored", _batches(diagnosis.restorable)),
    ]


def findings(found: Sequence[Finding]) -> list[tuple[str, str, str, str, str]]:
    """A row for each damaged file."""
    return [
        (
            finding.part,
            DAMAGES.get(finding.damage.kind, finding.damage.kind),
            finding.damage.message,
            formats.ranges(finding.batches),
            finding.damage.path,
        )
        for finding in found
    ]


def _batches(numbers: Sequence[int]) -> str:
    return f"{'batch' if len(numbers) == 1 else 'batches'} {formats.ranges(numbers)}" if numbers else "no batch"
