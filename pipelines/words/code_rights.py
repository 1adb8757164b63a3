"""Whose rights the code of a job has, in a line."""

from __future__ import annotations

from pipelines.domain.about import Server


def line(user: str, *, apart: bool) -> str:
    """For those who are about to begin a job."""
    if apart:
        return f"Its code runs on the server's machine as the user `{user}`, apart from Tidemark, with that user's rights."
    return f"Its code runs on the server's machine as `{user}`, the user of Tidemark: it may read and change all that the server may."


def short(server: Server) -> str:
    """For lists of facts."""
    apart = "apart from the server" if server.code_apart else "the server's own user: it may do all that the server may"
    return f"{server.code_runs_as}, {apart}"
