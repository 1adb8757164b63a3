"""Edges of the tree of versions in words: what became of the state that a run went on with."""

from __future__ import annotations

from pipelines.domain.edges import Edge
from pipelines.domain.jobs import Job, Run
from pipelines.words import migrations, verdicts

NOT_CHECKED = "not checked"
NOT_CHECKED_HINT = "Nobody had its code checked against the state that it went on with."
REWRITTEN = "rewritten"


def briefly(edge: Edge | None) -> str:
    """`changed meaning`, `needs rewriting, rewritten`, `not checked`; empty for a run that has none."""
    if edge is None:
        return ""
    rewritten = [REWRITTEN] if edge.migration is not None and edge.migration.operators else []
    dropped = [f"without {', '.join(edge.dropped)}"] if edge.dropped else []
    return ", ".join([edge.outcome or NOT_CHECKED, *rewritten, *dropped])


def origin(run: Run, job: Job) -> str:
    """`Forked from sp-1 of counts`, `Went on from sp-1`, `Went on from its checkpoint`."""
    if job.origin is not None and run.from_savepoint == job.origin.savepoint:
        return f"Forked from {job.origin.savepoint} of {job.origin.job}"
    return f"Went on from {run.from_savepoint or 'its checkpoint'}"


def lines(edge: Edge) -> list[str]:
    """Why, operator by operator, and what was done with the state."""
    parts = [(part, "" if part.outcome is edge.outcome else f"{part.outcome}: ") for part in edge.parts]
    told = [f"{verdicts.subject(part)}: {outcome}{'; '.join(part.reasons).removesuffix('.')}." for part, outcome in parts]
    return [*told, *(migrations.lines(edge.migration) if edge.migration is not None else [])]


def told(edge: Edge) -> str:
    """The whole: `changed meaning: counts, operator 0 (aggregation): computes: sum(n) before, sum(2 * n) now.`"""
    return ": ".join(filter(None, (briefly(edge), " ".join(lines(edge)))))
