"""Decides what happens to a query's sink after a restore; refuses where rows would be lost or doubled."""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pipelines.domain import kafka
from pipelines.domain.errors import Conflict, Invalid, TidemarkError
from pipelines.domain.ids import QueryName
from pipelines.domain.restores import SinkPlan
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint.sink_words import EVERY_SINK_TO_FORK, EVERY_SINK_TO_RESUME, OWN_TOPIC, UNKNOWN_TO_FORK, UNKNOWN_TO_RESUME

FILE_SINKS = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml"})
TABLE_SINKS = frozenset({"delta", "iceberg", "hudi"})
OUTPUT = "{output}"
"""The folder of a job that holds its own tables, beside `output`."""
JOB = "{job}"
"""The job's name, for what is no directory: a schema, a table."""
EVERY = "*"
"""In a request's sinks: every query that is not named."""


class Choice(enum.StrEnum):
    """What a fork's file sink begins with: the parent's rows up to the savepoint, or none."""

    CONTINUE = "continue"
    FRESH = "fresh"


@dataclass(frozen=True)
class Decision:
    """A sink's plan; `refusal` is raised instead of restoring where its action is `refuse`."""

    plan: SinkPlan
    refusal: TidemarkError | None = None


@dataclass(frozen=True)
class Arguments:
    """How the parent and the fork are told where to write; `output` is the directory that `{output}` meant for the parent."""

    parent: Sequence[str]
    fork: Sequence[str]
    output: str
    as_before: bool = True
    """Whether the fork runs its parent's code with its parent's arguments."""


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
    if image.sink.lower() in TABLE_SINKS:
        return _forked_table(image, arguments)
    if image.sink.lower() == kafka.KAFKA and image.sink_table:
        return _forked_topic(image, arguments)
    return Decision(plan(image, "none", EVERY_SINK_TO_FORK.get(image.sink, UNKNOWN_TO_FORK) + _own_place(image, arguments.fork)))


def for_resume(image: QueryImage) -> Decision:
    """The decision for a resume: the same query goes on, so its sink goes back to the savepoint's batch where it can."""
    if image.sink.lower() in FILE_SINKS:
        message = (
            f"The query had committed nothing: the sink's log in {image.sink_path} begins anew, and files that were written since are no "
            "longer part of the output."
            if not image.begun
            else f"The sink's log in {image.sink_path} goes back to batch {image.batch}; later batches are done again, and the files "
            "that they had written are no longer part of the output."
        )
        return Decision(plan(image, "cut", message))
    if image.sink.lower() in TABLE_SINKS:
        message = (
            f"{image.sink} remembers (query id, batch id) and skips the batches after the savepoint that it has already: "
            "restore the table to the same moment, or fork instead."
        )
        return Decision(plan(image, "none", message))
    return Decision(plan(image, "none", EVERY_SINK_TO_RESUME.get(image.sink, UNKNOWN_TO_RESUME)))


def refusal(decided: Iterable[Decision]) -> TidemarkError | None:
    """The refusal of the first sink that has one."""
    return next((decision.refusal for decision in decided if decision.refusal is not None), None)


def refused(image: QueryImage, code: str, message: str, hint: str) -> Decision:
    return Decision(plan(image, "refuse", f"{message} {hint}"), Conflict(code, message, hint))


def plan(image: QueryImage, action: str, message: str) -> SinkPlan:
    return SinkPlan(image.query, image.sink, image.sink_table or image.sink_path, action, message)


def _no_choice(message: str) -> Invalid:
    return Invalid("fork.sink_choice", message, "Say QUERY=continue or QUERY=fresh, with '*' for every query that is not named.")


def _own_place(image: QueryImage, fork: Sequence[str]) -> str:
    """What the arguments say of where code of its own writes."""
    if image.sink not in ("foreach", "foreachBatch"):
        return ""
    own = [word for word in fork if OUTPUT in word or JOB in word]
    if own:
        return f" Of its arguments, {' and '.join(own)} {'are' if len(own) > 1 else 'is'} the fork's own."
    return f" No argument gives it a place of its own: {OUTPUT} becomes the fork's own directory, {JOB} its name, as for a schema."


def _forked_files(image: QueryImage, arguments: Arguments, choice: Choice) -> Decision:
    if not _moves(image, arguments):
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


def _forked_table(image: QueryImage, arguments: Arguments) -> Decision:
    if image.sink_table and not _moves(image, arguments):
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


def _forked_topic(image: QueryImage, arguments: Arguments) -> Decision:
    if image.sink_table != kafka.BY_ROW:
        return Decision(plan(image, "own", OWN_TOPIC.format(topic=image.sink_table)))
    if arguments.as_before:
        return refused(
            image,
            "restore.topics_shared",
            "Each row names the Kafka topic that it goes to (column `topic`), so the fork would write to its parent's topics: their "
            "readers would see every row after the savepoint twice.",
            "Let its arguments or its code name other topics, or set the sink's option `topic`: all rows then go to a topic of its own.",
        )
    return Decision(plan(image, "none", EVERY_SINK_TO_FORK[kafka.KAFKA]))


def _table_hint() -> str:
    return "Name the table in the job's arguments, and give the fork another one there."


def _moves(image: QueryImage, arguments: Arguments) -> bool:
    """Whether the fork writes elsewhere than the parent did.

    By itself where the parent wrote to a table of its own warehouse, since the fork has one, too. Through `{output}`, where that is how
    the parent's path came about or the parent had no `{output}`; or because the arguments that named the parent's path or table are
    gone. Never while an argument still names it.
    """
    if _path_named(image, arguments.fork):
        return False
    if _in_own_warehouse(image, arguments.output):
        return True
    if _named(image, arguments.fork):
        return False
    if _named(image, arguments.parent):
        return True
    has_output, had_output = (any(OUTPUT in arg for arg in args) for args in (arguments.fork, arguments.parent))
    return has_output and (_was_given(image.sink_path, arguments.output) or not had_output)


def _in_own_warehouse(image: QueryImage, output: str) -> bool:
    """Whether the query wrote to a table in its job's own folder (the one with `{output}`), wherever the workspace was then."""
    job_folder = "/".join(plain(output).split("/")[-3:-1])
    return bool(image.sink_table) and f"/{job_folder}/" in f"{plain(image.sink_path)}/"


def _was_given(sink_path: str, output: str) -> bool:
    """Whether the parent's path is in the directory that `{output}` meant (`…/jobs/<job>/output`), wherever the workspace was then."""
    of_the_job = "/".join(plain(output).split("/")[-3:])
    return inside(sink_path, output) or f"/{of_the_job}/" in f"{plain(sink_path)}/"


def _named(image: QueryImage, args: Iterable[str]) -> bool:
    """Whether an argument (`/a/b` or `--out=/a/b`) is the sink's directory or one above it, or its table."""
    return _path_named(image, args) or (bool(image.sink_table) and _table(image.sink_table) in map(_table, _values(args)))


def _path_named(image: QueryImage, args: Iterable[str]) -> bool:
    return any("/" in value and any(inside(path, value) for path in (image.sink_path, image.sink_table)) for value in _values(args))


def _values(args: Iterable[str]) -> list[str]:
    return [arg.rpartition("=")[2] for arg in args]


def _table(name: str) -> str:
    """A table's own name, without catalog and database; Spark does not distinguish letters' case."""
    return name.replace("`", "").rpartition(".")[2].casefold()


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or below it; `file:` URLs and plain paths are compared alike."""
    if not folder or not path:
        return False
    own, parent = plain(path), plain(folder)
    return own == parent or own.startswith(parent.rstrip("/") + "/")


def plain(path: str) -> str:
    """A `file:` URL as the path it means, anything else without a slash at its end."""
    parts = urlsplit(path)
    if parts.scheme == "file":
        return posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return path.rstrip("/") if parts.scheme else posixpath.normpath(path)
