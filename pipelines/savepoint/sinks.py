"""What happens to a query's sink when it begins again from a savepoint: said before, and refused where rows would be lost or doubled."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlsplit

from pipelines.domain.errors import Conflict
from pipelines.domain.savepoints import QueryImage, SinkPlan

FILE_SINKS = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml"})
TABLE_SINKS = frozenset({"delta", "iceberg", "hudi"})
OUTPUT = "{output}"

FORK_MESSAGES = {
    "memory": "Kept in the driver's memory: the fork begins with an empty table.",
    "console": "Printed to the driver's log; nothing to carry.",
    "noop": "Writes nowhere; nothing to carry.",
    "foreach": "Your code writes row by row: make sure that the fork's writes go to a place of their own.",
    "foreachBatch": "Your code decides where it writes. The fork has a new query id, so a writer that remembers (query id, batch id) "
    "writes anew; one that remembers the batch id alone would skip the fork's batches.",
}
RESUME_MESSAGES = {
    "memory": "Kept in the driver's memory: the table begins empty, with the rows of the batches from here on.",
    "console": "Printed to the driver's log; nothing to carry.",
    "noop": "Writes nowhere; nothing to carry.",
    "foreach": "Batches after the savepoint are done again, and your code writes their rows a second time unless it recognizes them.",
    "foreachBatch": "Batches after the savepoint are done again with the same query id and batch ids: a writer that remembers them "
    "skips what it wrote already, any other writes those rows a second time.",
}
UNKNOWN_TO_FORK = "Tidemark does not know this sink: make sure that the fork writes to a place of its own."
UNKNOWN_TO_RESUME = "Tidemark does not know this sink: batches after the savepoint are written again."


def for_fork(image: QueryImage, parent_args: Sequence[str], args: Sequence[str], parent_output: str) -> SinkPlan:
    """The plan for a fork that runs with `args`; `parent_output` is the directory that `{output}` meant for the parent."""
    if image.sink.lower() in FILE_SINKS:
        return _forked_files(image, parent_args, args, parent_output)
    if image.sink.lower() in TABLE_SINKS:
        return _plan(
            image,
            "none",
            f"The fork has a new query id, so {image.sink} takes its writes as another query's: give it a table of its own, "
            "or its rows are added to the parent's.",
        )
    return _plan(image, "none", FORK_MESSAGES.get(image.sink, UNKNOWN_TO_FORK))


def for_resume(image: QueryImage) -> SinkPlan:
    """The plan for a resume: the same query goes on, so its sink goes back to the savepoint's batch where it can."""
    if image.sink.lower() in FILE_SINKS:
        return _plan(
            image,
            "cut",
            f"The sink's log in {image.sink_path} goes back to batch {image.batch}; later batches are done again, and the files "
            "that they had written are no longer part of the output.",
        )
    if image.sink.lower() in TABLE_SINKS:
        return _plan(
            image,
            "none",
            f"{image.sink} remembers (query id, batch id) and skips the batches after the savepoint that it has already: "
            "restore the table to the same moment, or fork instead.",
        )
    return _plan(image, "none", RESUME_MESSAGES.get(image.sink, UNKNOWN_TO_RESUME))


def refuse(plans: Sequence[SinkPlan]) -> None:
    """Raises Conflict (`restore.sink_shared`) for the first sink that the plan refuses."""
    for plan in plans:
        if plan.action == "refuse":
            hint = f"Give the output directory as {OUTPUT} in the arguments: it becomes the fork's own."
            raise Conflict("restore.sink_shared", plan.message, hint)


def _forked_files(image: QueryImage, parent_args: Sequence[str], args: Sequence[str], parent_output: str) -> SinkPlan:
    if _moves(image.sink_path, parent_args, args, parent_output):
        return _plan(
            image,
            "carry",
            f"The fork's output continues the parent's: the files with the rows up to batch {image.batch} are linked into its own "
            "directory, where its new rows go.",
        )
    return _plan(
        image,
        "refuse",
        f"The fork would write to {image.sink_path}, where its parent writes. Two jobs on one file sink silently drop each "
        f"other's rows. Use {OUTPUT} in the arguments for the output directory.",
    )


def _moves(sink_path: str, parent_args: Sequence[str], args: Sequence[str], parent_output: str) -> bool:
    """Whether the fork writes elsewhere than the parent did.

    Through `{output}`, where that is how the parent's path came about or the parent had no `{output}`; or because the
    arguments that named the parent's path are gone. Never while an argument still names it.
    """
    if _named(sink_path, args):
        return False
    if _named(sink_path, parent_args):
        return True
    given, given_before = (any(OUTPUT in arg for arg in some) for some in (args, parent_args))
    return given and (inside(sink_path, parent_output) or not given_before)


def _named(path: str, args: Iterable[str]) -> bool:
    """Whether an argument (`/a/b` or `--out=/a/b`) is the directory `path` or one above it."""
    return any("/" in value and inside(path, value) for value in (arg.rpartition("=")[2] for arg in args))


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or below it; `file:` URLs and plain paths are compared alike."""
    if not folder:
        return False
    mine, theirs = _plain(path), _plain(folder)
    return mine == theirs or mine.startswith(theirs.rstrip("/") + "/")


def _plain(path: str) -> str:
    parts = urlsplit(path)
    if parts.scheme == "file":
        return posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return path.rstrip("/") if parts.scheme else posixpath.normpath(path)


def _plan(image: QueryImage, action: str, message: str) -> SinkPlan:
    return SinkPlan(image.query, image.sink, image.sink_path, action, message)
