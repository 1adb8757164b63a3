"""The audit on the shell."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import Shown, defaults, group, plans, shows
from pipelines.cli.session import Here
from pipelines.domain.audit import AuditLine, AuditPrunePlan, Removed, Verified
from pipelines.domain.errors import Corrupt
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from pipelines.words import formats

WHAT_NEXT = (
    "Somebody edited audit.jsonl, in the workspace's folder, by other means than Tidemark. Leave the file as it is, restore a backup into "
    "another folder (backup restore) to see what stood there, and look who can write to the workspace."
)
KEEP = (
    "A chain cannot show by itself that its newest entries were changed or cut off. Keep the last hash somewhere else: "
    "`audit verify --last HASH` finds that."
)

group("audit", "Who changed what, from where, with what result.")
defaults(ListAudit, limit=50)


@shows(ListAudit)
def _listed(here: Here, question: ListAudit, lines: Sequence[AuditLine]) -> str | output.Table:
    output.tell_more(lines, question.limit, question.sort)
    rows = [_row(line, here.session.now_ms) for line in lines]
    return output.Table(("NUMBER>", "AT", "BY", "FROM", "VERB", "SUBJECT", "RESULT"), rows) if rows else ""


def _row(line: AuditLine, now_ms: int) -> tuple[str, ...]:
    result = " ".join(filter(None, (line.result, line.code, line.operation)))
    return (str(line.number), formats.when(line.at_ms, now_ms, None), line.by, line.origin, line.verb, line.subject, result)


@shows(VerifyAudit)
def _verified(here: Here, question: VerifyAudit, verified: Verified) -> Shown:
    """Ends as damage does where the chain is broken; a whole one prints what to keep elsewhere."""
    if verified.findings:
        lines = [finding.text for finding in verified.findings]
        error = Corrupt("audit.broken", f"the audit was changed: {lines[0]}", WHAT_NEXT)
        return Shown(verified, "\n".join(lines), error)
    if not question.last:
        output.tell(KEEP)
    facts = [("chain", "whole"), ("lines", formats.count(verified.lines)), ("number", str(verified.number)), ("last", verified.last)]
    facts += [("removed", _removed(removed, here.session.now_ms)) for removed in verified.removed]
    return Shown(verified, output.details(facts))


def _removed(removed: Removed, now_ms: int) -> str:
    return f"{removed.first} to {removed.last}, by {removed.by or 'the owner'}, {formats.when(removed.at_ms, now_ms, None)}"


@plans(PruneAudit)
@shows(PruneAudit)
def _pruned(here: Here, change: PruneAudit, plan: AuditPrunePlan) -> output.Table:
    rows = [(each.path, str(each.first), str(each.last), formats.size(each.bytes)) for each in plan.files]
    return output.Table(("FILE", "FIRST>", "LAST>", "SIZE>"), rows)
