"""Usage errors: what is typed wrongly, in the shape of every other error where `--json` is typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from typer._click.exceptions import UsageError

from pipelines.cli import output
from pipelines.domain.errors import Invalid

CODE = "command.usage"
JSON = "--json"
END_OF_OPTIONS = "--"
NOT_OURS = "Value error, "
"""What the parser's library puts before its reason."""


def asks_for_json(typed: Sequence[str]) -> bool:
    """Whether `--json` is among the options; what follows `--` is a job's own."""
    options = typed[: typed.index(END_OF_OPTIONS)] if END_OF_OPTIONS in typed else typed
    return JSON in options


@contextmanager
def told(*, as_json: bool) -> Iterator[None]:
    """Within it, a usage error ends the command with its JSON on stderr where that is asked for; else it is raised."""
    try:
        yield
    except UsageError as error:
        error.message = error.message.replace(NOT_OURS, "", 1)
        if not as_json:
            raise
        output.print_error(_invalid(error), as_json=True)
        raise typer.Exit(error.exit_code) from error


def _invalid(error: UsageError) -> Invalid:
    path = error.ctx.command_path if error.ctx is not None else ""
    return Invalid(CODE, error.format_message(), f"See {path} --help." if path else "")
