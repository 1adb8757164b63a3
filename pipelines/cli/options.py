"""Options that several commands take, and what people type in them, read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.domain.errors import Invalid, NotFound

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
Confs = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A Spark conf; may be given again.")]
Args = Annotated[
    list[str] | None, typer.Option("--arg", metavar="ARG", help="An argument of the script, in place of those it had; may be given again.")
]
Master = Annotated[str | None, typer.Option("--master", help="Spark master; the one it had if not given.")]
Runtime = Annotated[
    str | None,
    typer.Option(
        "--runtime",
        metavar="PYTHON",
        help="Interpreter whose PySpark runs it, an empty text for Tidemark's own; the one it had if not given.",
    ),
]
Code = Annotated[
    Path | None,
    typer.Option("--code", exists=True, dir_okay=False, readable=True, help="Script with changed code; the code it had if not given."),
]
NewQueries = Annotated[
    list[str] | None,
    typer.Option("--new-query", metavar="QUERY", help="A query that the changed code adds, and that begins anew; may be given again."),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it runs; exit code 1 if it fails before.")]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long to wait at most.")]
Label = Annotated[str, typer.Option("--label", help="A note to find the savepoint by.")]
JobNamed = Annotated[str, typer.Argument(metavar="JOB", help="Name of a job.", show_default=False)]
SavepointNamed = Annotated[
    str, typer.Argument(metavar="SAVEPOINT", help="Id of a savepoint, a unique beginning of it, or its path.", show_default=False)
]


def confs(given: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` texts as a mapping; a usage error for anything else."""
    return pairs(given, "KEY=VALUE", "--conf")


def pairs(given: list[str] | None, shape: str, option: str) -> dict[str, str]:
    """Texts with a `=` as a mapping; a usage error that says the `shape` for one without."""
    split = [text.partition("=") for text in given or ()]
    for key, equals, _ in split:
        if not key or not equals:
            raise typer.BadParameter(f"{key!r} is not {shape}", param_hint=option)
    return {key: value for key, _, value in split}


def sinks(given: list[str] | None) -> dict[str, str]:
    """`fresh` and `QUERY=fresh` as query -> what its sink does (`*`: every other); a usage error for another word."""
    named = pairs([text if "=" in text else f"*={text}" for text in given or ()], "QUERY=fresh or QUERY=continue", "--sink")
    for does in named.values():
        if does not in ("fresh", "continue"):
            raise typer.BadParameter(f"{does!r} is neither fresh nor continue", param_hint="--sink")
    return named


def at_most_one(**given: object) -> None:
    """A usage error where more than one of these options is given (not None, not empty)."""
    names = [f"--{name.replace('_', '-').strip('-')}" for name, value in given.items() if value not in (None, "")]
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
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound("file.unreadable", f"{path} cannot be read: {error.strerror}", "Give the path of a Python script.") from error
    except UnicodeDecodeError as error:
        raise Invalid("file.not_text", f"{path} is not UTF-8 text", "Give a Python script.") from error
