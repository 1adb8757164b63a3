"""What the doctor says, as text, and as an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import formats, output
from pipelines.cli.following import answered
from pipelines.cli.session import Here
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.errors import Corrupt


def examine(here: Here, subject: str) -> None:
    """Prints the doctor's word on a job, or the checkpoint at a path or URL; Corrupt where it found damage."""
    found = answered(here, lambda: here.face.diagnose(subject), lambda one: one.kind == "diagnose" and subject in (one.job, one.subject))
    here.show(found, text(found))
    damaged = [one for one in found if not one.sound]
    if damaged:
        files = sum(len(one.findings) for one in damaged)
        raise Corrupt("checkpoint.damaged", f"{subject} has {formats.counted(files, 'damaged file')}", damaged[0].advice)


def text(found: Sequence[Diagnosis]) -> str:
    """One part a query: what was checked, what is damaged and what needs it, what can be restored, what to do."""
    return "\n\n".join(map(_one, found))


def _one(found: Diagnosis) -> str:
    newest = formats.count(found.restorable[-1]) if found.restorable else "none"
    pairs = [
        ("subject", found.subject),
        ("query", found.query),
        ("checkpoint", found.checkpoint),
        ("checked", f"{formats.counted(found.files, 'file')}, {formats.size(found.bytes)}"),
        ("damaged", formats.counted(len(found.findings), "file") if found.findings else "nothing"),
        ("newest committed batch", formats.count(found.newest_committed)),
        ("newest restorable batch", newest),
        ("restorable batches", formats.ranges(found.restorable)),
        ("advice", found.advice),
    ]
    rows = [
        (finding.part, finding.damage.kind, formats.ranges(finding.batches), finding.damage.path, finding.damage.message)
        for finding in found.findings
    ]
    findings = output.Table(("PART", "DAMAGE", "BATCHES THAT NEED IT", "FILE", "MESSAGE"), rows).plain() if rows else ""
    return "\n\n".join(filter(None, [output.details(pairs), findings]))
