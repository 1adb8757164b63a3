"""Diagnoses as text, and as an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import Corrupt
from pipelines.verbs.diagnose import Diagnose
from pipelines.words import diagnoses, formats, trust


@shows(Diagnose)
def _examined(here: Here, change: Diagnose, diagnoses: Sequence[Diagnosis]) -> Shown:
    """Shows the diagnoses; ends with Corrupt where there is damage."""
    damaged = [diagnosis for diagnosis in diagnoses if not diagnosis.sound]
    return Shown(diagnoses, text(diagnoses), _damage(change.subject, damaged) if damaged else None)


def _damage(subject: str, damaged: Sequence[Diagnosis]) -> Corrupt:
    files = sum(len(diagnosis.findings) for diagnosis in damaged)
    return Corrupt("checkpoint.damaged", trust.damage(subject, files), damaged[0].advice)


def text(diagnoses: Sequence[Diagnosis]) -> str:
    """One part a query: what was checked, what is damaged and what needs it, what can be restored, what to do."""
    return "\n\n".join(map(_query, diagnoses))


def _query(diagnosis: Diagnosis) -> str:
    pairs = [
        ("subject", diagnosis.subject),
        ("query", diagnosis.query),
        ("checkpoint", diagnosis.checkpoint),
        ("damaged", formats.plural(len(diagnosis.findings), "file") if diagnosis.findings else "nothing"),
        *diagnoses.facts(diagnosis),
        ("advice", diagnosis.advice),
    ]
    findings = output.Table(tuple(map(str.upper, diagnoses.FINDINGS)), diagnoses.findings(diagnosis.findings))
    return "\n\n".join([output.details(pairs), *([findings.plain()] if findings.rows else [])])
