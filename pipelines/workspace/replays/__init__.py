"""Replays: changed code over what a job read between two savepoints, in a what-if fork that is out of the way.

The order: (1) the fork is begun, and runs the batches in between; (2) what it wrote and its state are compared; (3) `replays/<id>.json`
is written: from here the replay is listed; (4) the fork is removed where all is equal. A server that ends before (3) leaves a fork that
says what it is for (`what_ifs`): the next opening lists the replay as failed, and completes (4).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from pipelines.domain import lockstep, replays
from pipelines.domain.errors import NotFound, Unsupported
from pipelines.domain.ids import JobName, QueryName, ReplayId
from pipelines.domain.replays import Outcome, Replay
from pipelines.domain.what_ifs import WhatIf
from pipelines.verbs.fork import Variant
from pipelines.verbs.replay import ListReplays, ReplayPlan, RunReplay, ShowReplay
from pipelines.verbs.revision import Revision
from pipelines.workspace import events, forks, savepoints, versions, what_ifs
from pipelines.workspace.compare import varying
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.files import readable
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.replays import parts as replay_parts
from pipelines.workspace.replays.parts import Span
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
    fork = forks.without_drop(forks.plan_variant(context, span.start, Variant(name=name, sinks=FRESH, until=span.end.id, **revised)))
    versions.check_to_try(fork.version)
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
    began, fork = time.monotonic(), asked.fork
    unended = _unended(context, asked)
    try:
        ticket.step("beginning")
        what_ifs.begin(context, fork, WhatIf(unended.id, unended), ticket)  # 1
        failure = what_ifs.ended(context, fork.job, asked.plan.until, ticket, "replaying")
        parts = () if failure else tuple(replay_parts.compared(context, asked.span, fork.job, ticket))  # 2
        varies = _varies(context, asked)
    except BaseException:
        what_ifs.remove(context, fork.job)
        raise
    outcome = Outcome.FAILED if failure else replays.outcome(parts)
    kept = asked.plan.keep or outcome is not Outcome.EQUAL
    took_ms = (time.monotonic() - began) * 1000
    ended = replace(unended, kept=kept, created_ms=context.now_ms(), took_ms=took_ms, outcome=outcome, parts=parts, failure=failure)
    ended = replace(ended, varies=varies)
    context.files.write(context.layout.replay_file(ended.id), ended)  # 3
    events.say(context, "job.replayed", ended.job, ended.id, f"{ended.batches:,} batches of {ended.job} were replayed: {outcome.value}")
    if kept:
        what_ifs.keep(context, fork.job)  # 4
    else:
        what_ifs.remove(context, fork.job)
    return ended


def _varies(context: Context, asked: Asked) -> tuple[str, ...]:
    """As the drivers of both noted it, and as the code was judged, where it was."""
    noted, verdict = varying.of_jobs(context, asked.span.job, asked.fork.job), asked.fork.plan.verdict
    return tuple(dict.fromkeys((*noted, *lockstep.varying(verdict.varies if verdict else ()))))


def _unended(context: Context, asked: Asked) -> Replay:
    """The replay before anything has come of it."""
    span, plan = asked.span, asked.plan
    return Replay(
        ReplayId(context.new_id("rp")),
        span.job,
        span.start.id,
        span.end.id,
        asked.fork.version.id,
        asked.fork.job,
        False,
        plan.began,
        plan.until,
        context.now_ms(),
        0.0,
        Outcome.FAILED,
    )


@answers(ListReplays)
def newest_first(context: Context, question: ListReplays) -> Sequence[Replay]:
    """Those that can be read."""
    listed = readable(context.files.replay, context.files.replay_ids(), [])
    newest = sorted(listed, key=lambda replay: (replay.created_ms, replay.id), reverse=True)[:MOST_LISTED]
    return [_as_it_is(context, replay) for replay in newest]


@answers(ShowReplay)
def show(context: Context, question: ShowReplay) -> Replay:
    """Raises NotFound (`replay.not_found`)."""
    if question.replay in context.files.replay_ids() and (replay := context.files.replay(ReplayId(question.replay))) is not None:
        return _as_it_is(context, replay)
    raise NotFound("replay.not_found", f"There is no replay {question.replay!r}", "List the replays to see their ids.")


def _as_it_is(context: Context, replay: Replay) -> Replay:
    """Without the fork that was forgotten since."""
    return replace(replay, kept=replay.kept and context.files.has_begun(replay.fork))
