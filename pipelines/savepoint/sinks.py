"""Decides what happens to a query's sink after a restore; refuses where rows would be lost or doubled."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.domain import kafka
from pipelines.domain.delta import DELTA
from pipelines.domain.errors import Conflict, Invalid, TidemarkError
from pipelines.domain.iceberg import ICEBERG
from pipelines.domain.ids import QueryName
from pipelines.domain.placeholders import JOB, OUTPUT
from pipelines.domain.restores import SHARED, SinkPlan
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.sinks import FILE_SINKS
from pipelines.savepoint.sink_places import Arguments, moves, moves_table, table_folder
from pipelines.savepoint.sink_words import (
    EVERY_SINK_TO_FORK,
    EVERY_SINK_TO_RESUME,
    NO_PLACE,
    OWN_TOPICS,
    UNKNOWN_TO_FORK,
    UNKNOWN_TO_RESUME,
    own_topic,
)

TABLE_SINKS = frozenset({DELTA, ICEBERG, "hudi"})
EVERY = "*"
"""In a request's sinks: every query that is not named."""


BACK_HINTS = {
    DELTA: "Fork instead. --force goes back all the same: the table then lacks what those batches wrote, also where you have restored it "
    "by hand, for it keeps their numbers.",
    ICEBERG: "Fork instead; or roll the table back to the snapshot of the same batch (rollback_to_snapshot), and say --force: Iceberg "
    "looks for the batches that it has among the ancestors of its present snapshot alone.",
}
OTHER_HINT = "Fork instead; or restore the table to the same moment first, and say --force."
HINDERED = "It cannot be taken back here: "
OTHERWISE = "Promote it on its present state (--state present), or from the savepoint (--state savepoint)."
ROWLESS = frozenset({"console", "memory", "noop"})
"""Sinks that keep nothing which the next run would lack."""
FRESH = "Fork with its sink fresh: the output then holds only what the fork writes itself."


class Choice(enum.StrEnum):
    """What a fork's file sink begins with: the parent's rows up to the savepoint, or none."""

    CONTINUE = "continue"
    FRESH = "fresh"


@dataclass(frozen=True)
class Decision:
    """A sink's plan; `refusal` is raised instead of restoring where its action is `refuse`."""

    plan: SinkPlan
    refusal: TidemarkError | None = None


def is_table(image: QueryImage) -> bool:
    """Whether the sink is a Delta table in a folder."""
    return bool(table_folder(image))


def choices(queries: Iterable[QueryName], words: Mapping[str, str]) -> dict[QueryName, Choice]:
    """The choice for every query; Invalid (`fork.sink_choice`) for an unknown query or an unknown word."""
    names = list(queries)
    for query, word in words.items():
        if query != EVERY and query not in names:
            raise _no_choice(f"The savepoint has no query {query!r}: it has {', '.join(names)}")
        if word not in list(Choice):
            raise _no_choice(f"{word!r} is not what a sink can do ({query})")
    return {query: Choice(words.get(query, words.get(EVERY, Choice.CONTINUE))) for query in names}


def for_fork(image: QueryImage, arguments: Arguments, choice: Choice = Choice.CONTINUE) -> Decision:
    """The decision for a fork, as far as its arguments tell it."""
    if image.sink.lower() in FILE_SINKS:
        return _forked_files(image, arguments, choice)
    if is_table(image):
        return _forked_delta(image, arguments, choice)
    if image.sink.lower() in TABLE_SINKS:
        return _forked_table(image, moved=not image.sink_table or moves(image, arguments))
    if image.sink.lower() == kafka.KAFKA:
        return Decision(plan(image, "own", OWN_TOPICS if image.sink_table in ("", kafka.BY_ROW) else own_topic(image.sink_table)))
    message, own = EVERY_SINK_TO_FORK.get(image.sink, UNKNOWN_TO_FORK), _own_place(arguments.fork)
    if image.sink.lower() in ROWLESS:
        return Decision(plan(image, "none", message))
    is_shared = not own and tuple(arguments.fork) == tuple(arguments.parent)
    return Decision(plan(image, SHARED if is_shared else "none", f"{message} {own or NO_PLACE}"))


def for_resume(image: QueryImage, hindrance: str = "") -> Decision:
    """The decision for a resume: the same query goes on, so its sink goes back to the savepoint's batch where it can. `hindrance`: why its
    Delta table in a folder cannot."""
    if image.sink.lower() in FILE_SINKS:
        message = (
            f"The query had committed nothing: the sink's log in {image.sink_path} begins anew, and files that were written since are no "
            "longer part of the output."
            if not image.begun
            else f"The sink's log in {image.sink_path} goes back to batch {image.batch}; later batches are done again, and the files "
            "that they had written are no longer part of the output."
        )
        return Decision(plan(image, "cut", message))
    if is_table(image) and image.table is not None and not hindrance:
        message = (
            f"The table in {table_folder(image)} goes back to its version {image.table.version} by one commit, after which it has batches "
            f"up to {image.batch} of the query: what was written later is cut, and done again. Queries that read it as a stream end there: "
            "they take no commit that removes rows (skipChangeCommits passes over it)."
        )
        return Decision(plan(image, "cut", message))
    if image.sink.lower() in TABLE_SINKS:
        why = f" {HINDERED}{hindrance}." if hindrance else ""
        message = f"{image.sink} remembers (query id, batch id) and skips the batches after the savepoint that it has already.{why}"
        return Decision(plan(image, "none", message))
    return Decision(plan(image, "none", EVERY_SINK_TO_RESUME.get(image.sink, UNKNOWN_TO_RESUME)))


def for_swap(image: QueryImage, folder: str, hindrance: str) -> Decision:
    """The decision for a parent that goes on with its variant's `image`: the parent's Delta table in `folder` becomes the variant's.
    `hindrance`: why it cannot."""
    if image.sink.lower() in ROWLESS:
        return Decision(plan(image, "none", EVERY_SINK_TO_RESUME[image.sink.lower()]))
    if not is_table(image):
        message = (
            f"Query {image.query} writes to {image.sink}: the parent's output would lack what its variant wrote to a place of its own."
        )
        return refused(image, "promote.sink", message, OTHERWISE)
    if hindrance:
        message = f"The Delta table {folder or table_folder(image)} cannot become its variant's: {hindrance}."
        return refused(image, "promote.table", message, OTHERWISE)
    message = (
        f"The table in {folder} becomes what its variant's is after batch {image.batch}, by one commit: rows that only the parent wrote "
        "are cut, the variant's files are linked, and the query goes on with the next batch. Queries that read it as a stream end there."
    )
    return Decision(replace(plan(image, "swap", message), path=folder))


def refused_going_back(sinks: Iterable[SinkPlan]) -> Conflict | None:
    """The refusal of going back in time where a table would pass over the batches that are done again, without a word."""
    kept = next((sink for sink in sinks if sink.sink.lower() in TABLE_SINKS and sink.action == "none"), None)
    if kept is None:
        return None
    message = f"{kept.sink} would skip batches that query {kept.query} does again: {kept.path} remembers that it has them"
    _, hindered, why = kept.message.partition(HINDERED)
    return Conflict(
        "sink.remembers", f"{message}. {hindered}{why.rstrip('.')}" if hindered else message, BACK_HINTS.get(kept.sink.lower(), OTHER_HINT)
    )


def uncut(sinks: Iterable[SinkPlan]) -> list[str]:
    """The sinks that keep what is written after a savepoint when their job goes back to it, in words."""
    return [f"the {sink.sink or 'sink'} of {sink.query}" for sink in sinks if sink.action != "cut" and sink.sink.lower() not in ROWLESS]


def refusal(decided: Iterable[Decision]) -> TidemarkError | None:
    """The refusal of the first sink that has one."""
    return next((decision.refusal for decision in decided if decision.refusal is not None), None)


def refused(image: QueryImage, code: str, message: str, hint: str) -> Decision:
    return Decision(plan(image, "refuse", f"{message} {hint}"), Conflict(code, message, hint))


def plan(image: QueryImage, action: str, message: str) -> SinkPlan:
    return SinkPlan(image.query, image.sink, image.sink_table or image.sink_path, action, message)


def _no_choice(message: str) -> Invalid:
    return Invalid("fork.sink_choice", message, "Say QUERY=continue or QUERY=fresh, with '*' for every query that is not named.")


def _own_place(fork: Sequence[str]) -> str:
    """What the arguments say of where code of its own writes; empty where they say nothing."""
    own = [word for word in fork if OUTPUT in word or JOB in word]
    return f"Of its arguments, {' and '.join(own)} {'are' if len(own) > 1 else 'is'} the fork's own." if own else ""


def _forked_files(image: QueryImage, arguments: Arguments, choice: Choice) -> Decision:
    if not moves(image, arguments):
        where = f"table {image.sink_table}" if image.sink_table else image.sink_path
        return refused(
            image,
            "restore.sink_shared",
            f"The fork would write to {where}, where its parent writes. Two jobs on one file sink silently drop each other's rows.",
            _table_hint() if image.sink_table else f"Give the output directory as {OUTPUT} in the arguments: it becomes the fork's own.",
        )
    place = f"table {image.sink_table}" if image.sink_table else "directory"
    if choice is Choice.FRESH:
        since = f"after batch {image.batch}" if image.begun else "from its start"
        message = f"The fork's output begins empty: it will hold what the fork writes {since}, nothing of its parent's."
        return Decision(plan(image, "fresh", message))
    message = (
        f"The fork's output continues the parent's: the files with the rows up to batch {image.batch} are linked into its own "
        f"{place}, where its new rows go."
    )
    return Decision(plan(image, "continue", message))


def _forked_table(image: QueryImage, *, moved: bool) -> Decision:
    if not moved:
        return refused(
            image,
            "restore.table_shared",
            f"The fork would write to {image.sink} table {image.sink_table}, where its parent writes. With its new query id "
            "the table takes the fork's rows as another query's, so every row after the savepoint would be there twice.",
            _table_hint(),
        )
    message = (
        f"The fork has a new query id, so {image.sink} takes its writes as another query's: give it a table of its own, "
        "or its rows are added to the parent's. A table of its own begins without the history."
    )
    return Decision(plan(image, "none", message))


def _forked_delta(image: QueryImage, arguments: Arguments, choice: Choice) -> Decision:
    """A Delta table in a folder: the fork has one of its own, whether its arguments name it or its driver does."""
    own = "a table of its own in its output, whatever folder its code names"
    whose = "the table that its arguments name" if moves_table(image, arguments) else own
    if choice is Choice.FRESH:
        return Decision(plan(image, "fresh", f"The fork writes to {whose}. It begins empty, without its parent's rows."))
    if image.table is None and moves_table(image, arguments):
        return _forked_table(image, moved=True)
    if image.table is None or image.table.left:
        why = f": {image.table.left}" if image.table else ""
        message = f"The savepoint does not hold the Delta table {table_folder(image)}{why}."
        return refused(image, "restore.history_gone", message, FRESH)
    message = f"The fork writes to {whose}. It begins with version {image.table.version}, which has the rows up to batch {image.batch}."
    return Decision(plan(image, "continue", message))


def _table_hint() -> str:
    return "Name the table in the job's arguments, and give the fork another one there."
