"""Probations in words: for how long changed code is watched, which way back there is, and what became of it. Pure."""

from __future__ import annotations

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobDetail
from pipelines.domain.probations import Probation, Stand, Terms, Way
from pipelines.domain.restarts import RestartDecision
from pipelines.words import formats

WAYS = {
    Way.SAVEPOINT: "to the savepoint before it, and what it wrote is cut from the output",
    Way.NEWEST: "on from its newest batch, and what it wrote stays",
}


def terms(terms: Terms) -> str:
    """`its first 3 batches or 10m 00s, no batch longer than 30.0 s`."""
    spans = [
        *([formats.plural(terms.batches, "batch", "batches")] if terms.batches is not None else []),
        *([formats.duration(terms.time_ms)] if terms.time_ms is not None else []),
    ]
    longest = f", no batch longer than {formats.duration(terms.longest_batch_ms)}" if terms.longest_batch_ms is not None else ""
    limits = "".join(f", never {limit}" for limit in terms.limits)
    return f"its first {' or '.join(spans)}{longest}{limits}"


def plan(probation: Probation) -> list[tuple[str, str]]:
    """For how long it is watched, and where the job goes if it fails."""
    return [("on probation", terms(probation.terms)), ("goes back", f"to version {probation.version}, {WAYS[probation.way]}")]


def went_back(job: JobName, probation: Probation) -> str:
    """`counts went back to version v-1 from savepoint sp-1 because batch 7 of counts failed: [DIVIDE_BY_ZERO] Division by zero`."""
    origin = f"savepoint {probation.savepoint}" if probation.way is Way.SAVEPOINT else "its newest batch"
    return f"{job} went back to version {probation.version}, on from {origin}, because {probation.why}"


def decision(decision: RestartDecision, *, goes_on: bool) -> str:
    """What became of a run that failed in its probation: `went back to version v-1: batch 7 failed: [DIVIDE_BY_ZERO] Division by zero`."""
    if decision.at_ms is None:
        return f"did not go back to version {decision.back}: {decision.why}"
    return f"{'goes' if goes_on else 'went'} back to version {decision.back}: {decision.why}"


def stand(probation: Probation) -> str:
    """How the probation of a run stands."""
    if probation.stand is Stand.WATCHED:
        return f"goes back to version {probation.version} where it fails in {terms(probation.terms)}: {WAYS[probation.way]}"
    if probation.stand is Stand.PASSED:
        return f"passed: {terms(probation.terms)}"
    return f"failed: {probation.why}" if probation.stand is Stand.BACK else f"not over: {probation.why}"


def notice(detail: JobDetail) -> tuple[str, str] | None:
    """What a job's page says at its head, as title and text: that it is on probation, or that it went back; None for any other job."""
    newest, before = (*detail.runs[:2], None, None)[:2]
    if newest is None:
        return None
    if newest.state.live and detail.probation is not None and detail.probation.stand is Stand.WATCHED:
        return f"Version {newest.version} is on probation", f"The job {stand(detail.probation)}."
    back = before.restart if before is not None else None
    if back is None or back.back is None or back.at_ms is None or newest.version != back.back or before is None:
        return None
    return f"Went back to version {newest.version}", f"Version {before.version} was on probation, and {back.why}."
