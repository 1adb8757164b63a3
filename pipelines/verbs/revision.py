"""A revision: what changed code differs in from a version. Everything that begins a run with changed code is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.texts import VALUE
from pipelines.verbs.verb import Reads, Shell, option

DEFAULT_MASTER = "local[2]"
"""Of a new job."""
AGAIN = "may be given again"
NEW_QUERY = f"A query that the changed code adds, and that begins anew; {AGAIN}."


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What differs from a version; None keeps what the version has. `python` is the interpreter whose PySpark runs it."""

    code: str | None = option(
        "Script with changed code; the code it had if not given.", None, flag="--code", metavar="FILE", reads=Reads.FILE
    )
    script: str | None = option("The script's file name.", None, shell=Shell.ABSENT)
    args: tuple[str, ...] | None = option(
        f"An argument of the script, in place of those it had; {AGAIN}.", None, flag="--arg", metavar="ARG", text=VALUE
    )
    conf: Mapping[str, str] | None = option(f"A Spark conf; {AGAIN}.", None, flag="--conf", metavar="KEY=VALUE", reads=Reads.PAIRS)
    master: str | None = option("Spark master; the one it had if not given.", None)
    python: str | None = option(
        "Interpreter whose PySpark runs it, an empty text for Tidemark's own; the one it had if not given.",
        None,
        flag="--runtime",
        metavar="PYTHON",
    )
