"""Bisections: batches of a job judged in between a savepoint that is right and one that is wrong, each time the one in the middle.

The order: (1) both ends are judged; (2) batches whose rows are there without any run, the nearest to the middle first; (3) the others, run
again by a fork; (4) the keys: what the first wrong batch made otherwise; (5) what was made for it is removed; (6)
`bisections/<id>.json` is written: from here the bisection is listed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from pipelines.catalog import judging
from pipelines.catalog.output_files import FORMATS
from pipelines.checkpoint import offsets
from pipelines.domain import bisections, states
from pipelines.domain.bisections import Bisection, Input, Over
from pipelines.domain.errors import Conflict, Invalid, NotFound, Unsupported
from pipelines.domain.ids import BisectionId, QueryName, folder_of
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import StateTable
from pipelines.sandbox import secret_values
from pipelines.savepoint import leads
from pipelines.savepoint import states as state_tables
from pipelines.storage.addresses import open_storage
from pipelines.verbs.bisect import Bisect, BisectPlan, ListBisections, ShowBisection
from pipelines.verbs.jobs import ListRetained
from pipelines.workspace import attachments, compare, events, runs, savepoints, sources
from pipelines.workspace.bisections import changes, judges
from pipelines.workspace.bisections import points as bisect_points
from pipelines.workspace.bisections import stretches as bisect_stretches
from pipelines.workspace.bisections.forks import Forks
from pipelines.workspace.bisections.points import OutputPoints, Points, StatePoints
from pipelines.workspace.bisections.search import Search
from pipelines.workspace.bisections.stretches import Stretch
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.files import readable
from pipelines.workspace.tickets import Ticket

MOST_LISTED = 200


@dataclass(frozen=True)
class Asked:
    """A bisection to carry out."""

    id: BisectionId
    change: Bisect
    stretch: Stretch
    points: Points
    plan: BisectPlan


@plans(Bisect)
def plan(context: Context, change: Bisect) -> Planned[Bisection, BisectPlan]:
    """Raises Invalid for both or no judge (`bisect.judge`), a script or SQL that does not parse (`bisect.syntax`, `state.sql`), SQL that is
    no SELECT (`state.only_select`), savepoints of another job (`bisect.other_job`); Conflict where bad does not come after good
    (`bisect.order`); NotFound, Unsupported for a query that cannot be judged."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "bisected")
    _require_judge(change)
    good, bad = savepoints.manifest(context, change.good), savepoints.manifest(context, change.bad)
    for end in (good, bad):
        if end.job != name:
            raise Invalid("bisect.other_job", f"Savepoint {end.id} is of {end.job}, not of {name}.", f"Name savepoints of {name}.")
    table = _table(context, bad, change) if change.over is Over.STATE else None
    query = table.query if table else _query(bad, change.query)
    _require_order(good, bad, query)
    checkpoints = str(PurePath(sources.of_job(context, name).queries[0].checkpoint).parent)
    stretch = bisect_stretches.stretch(context, name, good, bad, query, checkpoints)
    bisection = BisectionId(context.new_id("bi"))
    points = _points(context, stretch, table, Forks(context, bisection, stretch))
    shown = _plan(stretch, points, change.over, table)
    return Planned(shown, lambda ticket: _bisect(context, Asked(bisection, change, stretch, points, shown), ticket))


def _require_judge(change: Bisect) -> None:
    if bool(change.sql) == bool(change.script):
        raise Invalid("bisect.judge", "Give either SQL or a script that judges", "--sql SELECT, or --script FILE.")
    if change.sql:
        judging.require_select(change.sql, change.over.value)
        return
    try:
        compile(change.script, "judge.py", "exec")
    except (SyntaxError, ValueError) as error:
        raise Invalid("bisect.syntax", f"The script does not parse: {error}", "Mend it, and try again.") from error


def _query(bad: Manifest, asked: str) -> QueryName:
    """The query whose output is judged; NotFound (`bisect.query`), Unsupported (`bisect.sink`)."""
    able = [image.query for image in bad.begun if image.sink.lower() in FORMATS]
    if asked and all(image.query != asked for image in bad.begun):
        raise NotFound(
            "bisect.query", f"Savepoint {bad.id} has no query {asked!r}", f"It has {', '.join(image.query for image in bad.begun)}."
        )
    if not able or (asked and asked not in able):
        message = f"The output of {asked or bad.job} cannot be judged: only files in {', '.join(FORMATS)} can"
        raise Unsupported("bisect.sink", message, "Judge its state: --over state.")
    return QueryName(asked) if asked else able[0]


def _table(context: Context, bad: Manifest, change: Bisect) -> StateTable:
    return states.chosen(state_tables.tables(context.shelf(bad.id), bad), change)


def _require_order(good: Manifest, bad: Manifest, query: QueryName) -> None:
    at = {image.query: image for image in good.queries}
    end = next(image for image in bad.queries if image.query == query)
    begun = at.get(query)
    if begun is None:
        raise NotFound("bisect.query", f"Savepoint {good.id} has no query {query!r}", "Choose a later savepoint as the good one.")
    if end.batch <= begun.batch or end.batch_timestamp_ms < begun.batch_timestamp_ms:
        message = f"Savepoint {bad.id} (batch {end.batch} of {query}) does not come after {good.id} (batch {begun.batch})."
        raise Conflict("bisect.order", message, "--good is the earlier one, at which all was right.")


def _points(context: Context, stretch: Stretch, table: StateTable | None, forks: Forks) -> Points:
    if table is not None:
        kept = [batch.batch for batch in savepoints.retained(context, ListRetained(stretch.job)) if batch.query == stretch.query]
        between = range(stretch.batch(stretch.good) + 1, stretch.batch(stretch.bad))
        known = stretch.line.times_ms if stretch.line else {}
        return StatePoints(context, stretch, table, frozenset(batch for batch in kept if batch in between and batch in known), forks)
    seen = compare.queries(context, stretch.job).get(stretch.query)
    last = bisect_points.last_files(context, stretch)
    return OutputPoints(context, stretch, last, seen.sink_path if seen else "", forks, seen.sink_options if seen else None)


def _plan(stretch: Stretch, points: Points, over: Over, table: StateTable | None) -> BisectPlan:
    good, bad = stretch.batch(stretch.good), stretch.batch(stretch.bad)
    ready, between = len(points.ready()), bad - good - 1
    ways = f"{ready:,} of the {between:,} batches in between can be judged as they are"
    ways += ": nothing runs." if ready == between else "; the others are run again by a fork, where they are needed."
    title = table.title if table else ""
    return BisectPlan(stretch.job, stretch.query, over, title, good, bad, bisections.at_most(good, bad), ways)


def _hidden(stretch: Stretch) -> tuple[bytes, ...]:
    """The secrets of the code that wrote the rows: a script may say what is in them, and has the variables of the server."""
    version = stretch.bad.version
    return secret_values.hidden(version.conf, version.args)


def _bisect(context: Context, asked: Asked, ticket: Ticket) -> Bisection:
    began = time.monotonic()
    change, stretch = asked.change, asked.stretch
    judge = (
        judges.by_sql(context, change.sql, change.examples, ticket)
        if change.sql
        else judges.by_script(context, change.script, stretch.query, change.examples, _hidden(stretch), ticket)
    )
    try:
        search = Search(stretch, asked.points, judge, ticket)
        search.ends()  # 1
        search.narrow()  # 2, 3
        changed = changes.between(search.rows[search.right], search.rows[search.wrong], change.examples)  # 4
    finally:
        asked.points.forks.close()  # 5
    bisection = Bisection(
        asked.id,
        stretch.job,
        stretch.query,
        change.over,
        asked.plan.table,
        stretch.good.id,
        stretch.bad.id,
        asked.plan.good_batch,
        asked.plan.bad_batch,
        change.sql,
        tuple(search.steps),
        search.right,
        search.wrong,
        _inputs(stretch, search.right, search.wrong),
        search.verdict.columns,
        search.verdict.rows,
        search.verdict.more,
        context.now_ms(),
        (time.monotonic() - began) * 1000,
        changed,
        search.verdict.words,
    )
    context.files.write(context.layout.bisection_file(bisection.id), bisection)  # 6
    message = f"{bisection.job} was bisected: the first wrong batch of {bisection.query} is {bisection.wrong}"
    events.say(context, "job.bisected", bisection.job, bisection.id, message)
    return bisection


def _inputs(stretch: Stretch, right: int, wrong: int) -> tuple[Input, ...]:
    """What the batches after `right` up to `wrong` read, where Spark still keeps their offsets."""
    if stretch.line is None:
        return ()
    storage = open_storage(str(Path(stretch.checkpoints) / folder_of(stretch.query)))
    try:
        ends = offsets.read(storage, wrong).offsets
        starts = offsets.read(storage, right).offsets if right >= 0 else {}
    except NotFound:
        return ()
    return tuple(
        Input(source, starts.get(source) or "", end or "", leads.files_between(storage, source, starts.get(source), end))
        for source, end in ends.items()
    )


@answers(ListBisections)
def newest_first(context: Context, question: ListBisections) -> Sequence[Bisection]:
    """Those that can be read."""
    listed = readable(context.files.bisection, context.files.bisection_ids(), [])
    return sorted(listed, key=lambda bisection: (bisection.created_ms, bisection.id), reverse=True)[:MOST_LISTED]


@answers(ShowBisection)
def show(context: Context, question: ShowBisection) -> Bisection:
    """Raises NotFound (`bisection.not_found`)."""
    if question.bisection in context.files.bisection_ids():
        bisection = context.files.bisection(BisectionId(question.bisection))
        if bisection is not None:
            return bisection
    raise NotFound("bisection.not_found", f"There is no bisection {question.bisection!r}", "List the bisections to see their ids.")
