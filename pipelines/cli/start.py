"""Runs the command line of this process, with no more of it than what was typed needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import typer

from pipelines.cli import commands
from pipelines.cli.program import program


def app_of(typed: Sequence[str]) -> typer.Typer:
    """A program with the one command that `typed` begins with; with all of them where it names none."""
    for count in (1, 2):
        if typed and (named := commands.named(" ".join(typed[:count]))):
            return program(named)
    from pipelines.cli.app import app

    return app


def _find_no_plugins() -> None:
    """pydantic looks through the metadata of all installed packages for plugins of its own: a tenth of the time of such a command."""
    loader = ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules.setdefault(loader.__name__, loader)


def main(typed: Sequence[str]) -> None:
    """Runs the command line and exits with its code."""
    # httpx brings a command of its own, with all of rich and pygments: a sixth of the time of a command that asks a server.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    _find_no_plugins()
    app_of(typed)(list(typed), prog_name="python -m pipelines")
