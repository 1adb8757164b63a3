"""The address of the running server on the shell, with the token in it that lets a browser in."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.additions import command
from pipelines.cli.session import Here
from pipelines.domain.errors import Unavailable


@command("address", "system")
def address(
    here: Here,
    token: Annotated[bool, typer.Option("--token", help="Print the token alone, for curl and Prometheus.")] = False,
) -> None:
    """Print the address of the running server, with the token that lets a browser in. Who has it can do what you can."""
    running = here.session.running
    if running is None:
        raise Unavailable("server.not_running", "no server of this workspace runs", "Start one: python3 -m dashboard")
    shown = {"url": running.url, "token": running.token, "address": running.address}
    here.show(shown, running.token if token else running.address)
