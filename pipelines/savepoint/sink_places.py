"""Where a query of a parent wrote, and whether its fork writes elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from pipelines.domain.delta import DELTA
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.savepoints import QueryImage


@dataclass(frozen=True)
class Arguments:
    """How the parent and the fork are told where to write; `output` is the directory that `{output}` meant for the parent."""

    parent: Sequence[str]
    fork: Sequence[str]
    output: str
    own: str = ""
    """What `{output}` means for the fork; empty where nobody needs it."""
    job: str = ""
    """The fork's name."""
    warehouse: str = ""
    """The folder of the fork's own tables; empty where nobody needs it."""


def moves(image: QueryImage, arguments: Arguments) -> bool:
    """Whether the fork writes elsewhere than the parent did.

    By itself where the parent wrote to a table of its own warehouse, or to a relative path, which is in its output: the fork has both, too.
    Through `{output}`, where that is how the parent's path came about or the parent had no `{output}`; or because the arguments that named
    the parent's path or table are gone. Never while an argument still names it.
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
    was_given = _was_given(image.sink_path, arguments.output)
    if had_output:
        return has_output and was_given
    is_relative = was_given and plain(image.sink_path) != plain(arguments.output)  # of an attached job the output is the sink's directory
    return has_output or is_relative


def delta_folder(sink: str, sink_path: str, sink_table: str) -> str:
    """The local folder of the Delta table that a query writes to; empty for another sink, a table by name, or one elsewhere."""
    path = sink_table or sink_path
    folder = plain(path) if path and sink.lower() == DELTA else ""
    return folder if folder.startswith("/") else ""


def table_folder(image: QueryImage) -> str:
    """As `delta_folder`, of a query in a savepoint."""
    return delta_folder(image.sink, image.sink_path, image.sink_table)


def moves_table(image: QueryImage, arguments: Arguments) -> bool:
    """As `moves`, of a Delta table in a folder."""
    return moves(replace(image, sink_path=table_folder(image), sink_table=""), arguments)


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
    return _path_named(image, args) or (bool(image.sink_table) and _table(image.sink_table) in map(_table, values(args)))


def _path_named(image: QueryImage, args: Iterable[str]) -> bool:
    return any("/" in value and any(inside(path, value) for path in (image.sink_path, image.sink_table)) for value in values(args))


def values(args: Iterable[str]) -> list[str]:
    """The arguments, of those with a name (`--out=/a/b`) what they say."""
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
