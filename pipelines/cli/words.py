"""Parameters of several commands, and the readers of typed words: how they become the value of a field."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import Field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.domain.errors import Invalid
from pipelines.domain.moments import best_before_ms, duration_ms, moment_ms, spelt_duration
from pipelines.domain.resources import size_bytes
from pipelines.storage.disks import in_the_way
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Shell, Spelling, spelling

EMPTY = "it is empty"


def file_or_folder(text: str) -> Path:
    """The path of what is there; a usage error for an empty one, which would be the present folder, and for what cannot be read."""
    path = _path(text)
    if not path.exists():
        raise typer.BadParameter(f"path {text!r} does not exist.")
    if not os.access(path, os.R_OK):
        raise typer.BadParameter(f"path {text!r} is not readable.")
    return path


def file(text: str) -> Path:
    """The path of a file; a usage error for what is none."""
    path = file_or_folder(text)
    if path.is_dir():
        raise typer.BadParameter(f"file {text!r} is a directory.")
    return path


def folder(text: str) -> Path:
    """The path of a folder, which need not be there; a usage error for a file, and for what would lie below one."""
    path = _path(text)
    file = in_the_way(path)
    if file is not None:
        raise typer.BadParameter(f"{str(file)!r} is a file, and a folder is needed. Name one; it need not be there.")
    return path


def _path(text: str) -> Path:
    if not text:
        raise typer.BadParameter(EMPTY)
    return Path(text)


Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIRECTORY",
        envvar="TIDEMARK_WORKSPACE",
        parser=folder,
        help="Directory that holds jobs and savepoints; data/workspace by default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print data as JSON on stdout, errors as JSON on stderr.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan that would run, and change nothing.")]
JobNamed = Annotated[str, typer.Argument(metavar="JOB", help="Name of a job.", show_default=False)]
SavepointNamed = Annotated[
    str, typer.Argument(metavar="SAVEPOINT", help="Id of a savepoint, a unique beginning of it, or its path.", show_default=False)
]

NAMED = {Reads.SAVEPOINT, Reads.CHECKPOINT}
NONE = "none"
"""What takes a date away."""
USUAL = "usual"
"""What takes a limit away."""


def value_of(part: Field[Any], typed: Any, now: datetime) -> Any:
    """The value of a typed field; a usage error, Invalid or NotFound for a word that it cannot have."""
    spelt = spelling(part)
    _refuse_empty(part.name, spelt, typed)
    if isinstance(typed, float) and not math.isfinite(typed):
        raise typer.BadParameter(f"'{typed}' is no number", param_hint=spelt.flag or f"--{part.name.replace('_', '-')}")
    if spelt.reads is Reads.PAIRS:
        return pairs(typed, spelt.metavar, spelt.flag or f"--{part.name}")
    if spelt.reads is Reads.KEY:
        return key(typed, spelt.metavar)
    if spelt.reads is Reads.SINKS:
        return sinks(typed)
    if spelt.reads is Reads.FILES:
        return files(typed)
    if spelt.reads is Reads.BATCHES:
        return batches(typed, spelt.flag or f"--{part.name}", spelt.least or 0)
    if isinstance(typed, list):
        return tuple(_read(spelt.reads, text, now) for text in typed)
    value = _read(spelt.reads, typed, now)
    if spelt.reads is Reads.DURATION:
        _refuse_beyond(spelt, typed, value)
    return value


def _refuse_beyond(spelt: Spelling, typed: str, value: int) -> None:
    """Invalid (`duration.invalid`) for a time beyond what the option takes."""
    if value < (spelt.least or 0) or (spelt.most is not None and value > spelt.most):
        at_most = f" of at most {spelt_duration(spelt.most)}" if spelt.most is not None else ""
        raise Invalid("duration.invalid", f"{spelt.flag} does not take {typed!r}", f"Give a time{at_most}: 90s, 10m, 1h30m or 7d.")


def _refuse_empty(name: str, spelt: Spelling, typed: Any) -> None:
    """A usage error for an empty place, and for an option that names a savepoint and is empty: a script's variable that was never set."""
    if typed == "" and (spelt.reads is Reads.PLACE or (spelt.reads in NAMED and spelt.shell is Shell.OPTION)):
        option = spelt.shell is Shell.OPTION
        raise typer.BadParameter(EMPTY, param_hint=spelt.flag or f"--{name.replace('_', '-')}" if option else name.upper())


def _read(reads: Reads, typed: Any, now: datetime) -> Any:
    readers: dict[Reads, Callable[[Any], Any]] = {
        Reads.MOMENT: lambda text: moment_ms(text, now),
        Reads.LAST_DAY: lambda text: 0 if text == NONE else best_before_ms(text, now),
        Reads.DURATION: lambda text: 0 if text == USUAL else duration_ms(text),
        Reads.SIZE: lambda text: 0 if text == NONE else size_bytes(text),
        Reads.PLACE: place,
        Reads.SAVEPOINT: savepoint_name,
        Reads.CHECKPOINT: checkpoint_name,
        Reads.FILE: _code,
        Reads.FUNCTION: function,
        Reads.SCRIPT: lambda path: path.name,
    }
    return readers[reads](typed) if reads in readers else typed


def _code(path: Path) -> str:
    from pipelines.client.scripts import read_code

    return read_code(path)


def pairs(texts: list[str] | None, shape: str, option: str) -> dict[str, str]:
    """Texts with a `=` as a mapping; a usage error that says the `shape` for one without."""
    split = [text.partition("=") for text in texts or ()]
    for key, equals, _ in split:
        if not key or not equals:
            raise typer.BadParameter(f"{key!r} is not {shape}", param_hint=option)
    return {key: value for key, _, value in split}


def key(texts: list[str] | None, shape: str) -> dict[str, str | None]:
    """The columns of a key with their values, None for a column alone; a usage error that says the `shape` for one without a name."""
    split = [text.partition("=") for text in texts or ()]
    if not all(column for column, *_ in split):
        raise typer.BadParameter(f"there is no column in {'='!r}: write {shape}", param_hint="--key")
    return {column: value if equals else None for column, equals, value in split}


def sinks(texts: list[str] | None) -> dict[str, str]:
    """`fresh` and `QUERY=fresh` as query -> what its sink does (`*`: every other); a usage error for another word."""
    choices = pairs([text if "=" in text else f"*={text}" for text in texts or ()], "QUERY=fresh or QUERY=continue", "--sink")
    for does in choices.values():
        if does not in ("fresh", "continue"):
            raise typer.BadParameter(f"{does!r} is neither fresh nor continue", param_hint="--sink")
    return choices


def files(texts: list[str] | None) -> dict[str, str | None]:
    """`NAME=PATH` and `PATH` (called as the file is) as name -> content; `NAME=` as name -> None."""
    split = [text.partition("=") if "=" in text else (Path(text).name, "=", text) for text in texts or ()]
    if not all(name for name, _, _ in split):
        raise typer.BadParameter(EMPTY, param_hint="--file")
    from pipelines.client.scripts import read_file

    return {name: read_file(Path(path)) if path else None for name, _, path in split}


def function(text: str) -> dict[str, str]:
    """`FILE:function` as the function's name -> the text of its file; `columns` as that word -> nothing."""
    from pipelines.domain.migrations import COLUMNS

    if text == COLUMNS:
        return {text: ""}
    path, _, name = text.rpartition(":")
    if not path or not name:
        raise typer.BadParameter(f"{text!r} is neither FILE:function nor columns", param_hint="--migrate")
    return {name: _code(Path(path).expanduser())}


def batches(texts: list[str], option: str, least: int) -> int | dict[str, int]:
    """`7` as the number, `QUERY=7` again and again as query -> batch; a usage error for anything else, and for both."""
    split = [text.rpartition("=") for text in texts]
    for query, equals, number in split:
        if not number.isascii() or not number.isdigit() or int(number) < least or bool(equals) != bool(query):
            raise typer.BadParameter(f"{query}{equals}{number} is neither N nor QUERY=N", param_hint=option)
    if all(query for query, _, _ in split):
        return {query: int(number) for query, _, number in split}
    if len(split) > 1:
        raise typer.BadParameter("more than one batch was given: name the query of each (QUERY=N)", param_hint=option)
    return int(split[0][2])


def at_most_one(**options: object) -> None:
    """A usage error where more than one of these options is given (not None, not empty)."""
    names = [f"--{name.replace('_', '-').strip('-')}" for name, value in options.items() if value not in (None, "")]
    if len(names) > 1:
        raise typer.BadParameter(f"give only one of {', '.join(names)}", param_hint=names[-1])


def place(text: str) -> str:
    """A path as an absolute one (a server has another working directory), a URL as it is."""
    return text if "://" in text or not text else str(Path(text).expanduser().absolute())


def checkpoint_name(text: str) -> str:
    """A job, a savepoint, or a checkpoint as the workspace knows it: a path that is one, or looks like one, becomes absolute."""
    return place(text) if "/" in text or (text and Path(text).expanduser().is_dir()) else text


def savepoint_name(text: str) -> str:
    """A savepoint as the workspace knows it: a folder that exists from here becomes its absolute path."""
    path = Path(text).expanduser()
    return str(path.resolve()) if text and path.is_dir() else text
