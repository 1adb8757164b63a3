"""Parameters of several commands, and the readers of typed words: how they become the value of a field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.moments import best_before_ms, moment_ms
from pipelines.domain.texts import CODE
from pipelines.verbs.verb import Reads, spelling

Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        envvar="TIDEMARK_WORKSPACE",
        file_okay=False,
        help="Directory that holds jobs and savepoints; data/workspace by default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print data as JSON on stdout, errors as JSON on stderr.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan that would run, and change nothing.")]
JobNamed = Annotated[str, typer.Argument(metavar="JOB", help="Name of a job.", show_default=False)]
SavepointNamed = Annotated[
    str, typer.Argument(metavar="SAVEPOINT", help="Id of a savepoint, a unique beginning of it, or its path.", show_default=False)
]

NONE = "none"
"""What takes a date away."""


def value_of(part: Field[Any], typed: Any, now: datetime) -> Any:
    """The value of a typed field; a usage error, Invalid or NotFound for a word that it cannot have."""
    spelt = spelling(part)
    if spelt.reads is Reads.PAIRS:
        return pairs(typed, spelt.metavar, spelt.flag or f"--{part.name}")
    if spelt.reads is Reads.SINKS:
        return sinks(typed)
    if isinstance(typed, list):
        return tuple(_read(spelt.reads, text, now) for text in typed)
    return _read(spelt.reads, typed, now)


def _read(reads: Reads, typed: Any, now: datetime) -> Any:
    readers: dict[Reads, Callable[[Any], Any]] = {
        Reads.MOMENT: lambda text: moment_ms(text, now),
        Reads.LAST_DAY: lambda text: 0 if text == NONE else best_before_ms(text, now),
        Reads.PLACE: lambda text: place(text) if text else "",
        Reads.SAVEPOINT: lambda text: savepoint_name(text) if text else "",
        Reads.CHECKPOINT: checkpoint_name,
        Reads.FILE: read_code,
    }
    return readers[reads](typed) if reads in readers else typed


def pairs(texts: list[str] | None, shape: str, option: str) -> dict[str, str]:
    """Texts with a `=` as a mapping; a usage error that says the `shape` for one without."""
    split = [text.partition("=") for text in texts or ()]
    for key, equals, _ in split:
        if not key or not equals:
            raise typer.BadParameter(f"{key!r} is not {shape}", param_hint=option)
    return {key: value for key, _, value in split}


def sinks(texts: list[str] | None) -> dict[str, str]:
    """`fresh` and `QUERY=fresh` as query -> what its sink does (`*`: every other); a usage error for another word."""
    choices = pairs([text if "=" in text else f"*={text}" for text in texts or ()], "QUERY=fresh or QUERY=continue", "--sink")
    for does in choices.values():
        if does not in ("fresh", "continue"):
            raise typer.BadParameter(f"{does!r} is neither fresh nor continue", param_hint="--sink")
    return choices


def at_most_one(**options: object) -> None:
    """A usage error where more than one of these options is given (not None, not empty)."""
    names = [f"--{name.replace('_', '-').strip('-')}" for name, value in options.items() if value not in (None, "")]
    if len(names) > 1:
        raise typer.BadParameter(f"give only one of {', '.join(names)}", param_hint=names[-1])


def place(text: str) -> str:
    """A path as an absolute one (a server has another working directory), a URL as it is."""
    return text if "://" in text else str(Path(text).expanduser().absolute())


def checkpoint_name(text: str) -> str:
    """A job, a savepoint, or a checkpoint as the workspace knows it: a path that is one, or looks like one, becomes absolute."""
    return place(text) if "/" in text or Path(text).expanduser().is_dir() else text


def savepoint_name(text: str) -> str:
    """A savepoint as the workspace knows it: a folder that exists from here becomes its absolute path."""
    path = Path(text).expanduser()
    return str(path.resolve()) if path.is_dir() else text


def read_code(path: Path) -> str:
    """A script's text; NotFound and Invalid say which file."""
    try:
        with path.open(encoding="utf-8") as script:
            return script.read(CODE.most + 1)  # longer than a script may be: refused like every other text
    except OSError as error:
        raise NotFound("file.unreadable", f"{path} cannot be read: {error.strerror}", "Give the path of a Python script.") from error
    except UnicodeDecodeError as error:
        raise Invalid("file.not_text", f"{path} is not UTF-8 text", "Give a Python script.") from error
