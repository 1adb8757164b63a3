"""The command line with all its commands."""

from __future__ import annotations

from pipelines.cli import commands
from pipelines.cli.program import program

app = program(commands.every())
