"""Replays: changed code over what a job read between two savepoints, in a what-if fork that is out of the way.

The order: (1) the fork is begun, and runs the batches in between; (2) what it wrote and its state are compared; (3) it is removed where
all is equal, or nothing came of it; (4) `replays/<id>.json` is written: from here the replay is listed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

from pipelines.domain import replays
from pipelines.domain.errors import NotFound, Unsupported
from pipelines.domain.ids import JobName, QueryName, ReplayId
from pipelines.domain.replays import Outcome, Replay
from pipelines.verbs.fork import Variant
from pipelines.verbs.replay import ListReplays, ReplayPlan, RunReplay, ShowReplay
from pipelines.verbs.revision import Revision
from pipelines.workspace import events, forks, replay_parts, savepoints, versions, what_ifs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.files import readable
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.replay_parts import Span
from pipelines.workspace.tickets import Ticket

MOST_LISTED = 200
FRESH = {"*": "fresh"}


@dataclass(frozen=True)
class Asked:
    """A replay to run: what was read in between, the fork that reads it again, and what is shown of both."""

    span: Span
    fork: PlannedFork
    plan: ReplayPlan


@plans(RunReplay)
def plan(context: Context, change: RunReplay) -> Planned[Replay, ReplayPlan]:
    """Raises what a what-if fork raises (`lockstep.…`), Unsupported for queries that write elsewhere (`replay.writes_outside`) and where
    nothing can be compared (`replay.nothing`), Invalid for code with a syntax error."""
    span = Span(savepoints.manifest(context, change.savepoint), savepoints.manifest(context, change.end))
    name = JobName(context.new_id("replay"))
    revised = {part.name: getattr(change, part.name) for part in fields(Revision)}
    fork = forks.plan_variant(context, span.start, Variant(name=name, sinks=FRESH, until=span.end.id, **revised))
    versions.check(fork.version)
    able, unable = replay_parts.comparable(context, span)
    _refuse(span, able, change)
    following = fork.plan.lock_step
    began = {QueryName(query): batch for query, batch in following.began.items()} if following else {}
    until = {QueryName(query): batch for query, batch in following.ready.items()} if following else {}
    shown = ReplayPlan(span.job, began, until, able, unable, change.keep, fork.plan)
    return Planned(shown, lambda ticket: _replay(context, Asked(span, fork, shown), ticket))


def _refuse(span: Span, able: Sequence[str], change: RunReplay) -> None:
    outside = replay_parts.outside(span)
    if outside and not change.writes_outside:
        image = outside[0]
        message = f"Query {image.query} of {span.job} writes to {image.sink}: replayed, its code would write there a second time."
        hint = "Have the code write to a place of its own, and say so: --writes-outside. Its output is then not compared."
        raise Unsupported("replay.writes_outside", message, hint)
    if not able:
        message = f"{span.job} writes no files that can be compared, and keeps no state."
        raise Unsupported("replay.nothing", message, "Write to parquet, json or csv.")


def _replay(context: Context, asked: Asked, ticket: Ticket) -> Replay:
    began = time.monotonic()
    replay = ReplayId(context.new_id("rp"))
    try:
        ticket.step("beginning")
        what_ifs.begin(context, asked.fork, ticket)  # 1
        failure = what_ifs.ended(context, asked.fork.job, asked.plan.until, ticket, "replaying")
        parts = () if failure else tuple(replay_parts.compared(context, asked.span, asked.fork.job, ticket))  # 2
    except BaseException:
        what_ifs.remove(context, asked.fork.job)
        raise
    outcome = Outcome.FAILED if failure else replays.outcome(parts)
    kept = asked.plan.keep or outcome is not Outcome.EQUAL
    if not kept:
        what_ifs.remove(context, asked.fork.job)  # 3
    ended = Replay(
        replay,
        asked.span.job,
        asked.span.start.id,
        asked.span.end.id,
        asked.fork.version.id,
        asked.fork.job,
        kept,
        asked.plan.began,
        asked.plan.until,
        context.now_ms(),
        (time.monotonic() - began) * 1000,
        outcome,
        parts,
        failure,
    )
    context.files.write(context.layout.replay_file(replay), ended)  # 4
    events.say(context, "job.replayed", ended.job, replay, f"{ended.batches:,} batches of {ended.job} were replayed: {outcome.value}")
    return ended


@answers(ListReplays)
def newest_first(context: Context, question: ListReplays) -> Sequence[Replay]:
    """Those that can be read."""
    listed = readable(context.files.replay, context.files.replay_ids(), [])
    return sorted(listed, key=lambda replay: (replay.created_ms, replay.id), reverse=True)[:MOST_LISTED]


@answers(ShowReplay)
def show(context: Context, question: ShowReplay) -> Replay:
    """Raises NotFound (`replay.not_found`)."""
    if question.replay in context.files.replay_ids() and (replay := context.files.replay(ReplayId(question.replay))) is not None:
        return replay
    raise NotFound("replay.not_found", f"There is no replay {question.replay!r}", "List the replays to see their ids.")
