"""A revision: what changed code differs in from a version. Everything that begins a run with changed code is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from pipelines.domain.texts import VALUE
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Shell, option

AGAIN = "may be given again"
JAVA = "JAVA_HOME of the runtime; a Java that fits its PySpark is found if not given"
FILES = (
    "A file that the script has beside it, NAME being its path below the script's folder; NAME= takes it away. May be given again. Modules "
    "that a script imports from its folder, and files it names, come along by themselves."
)
OUTSIDE = "Path and SHA-256 of large files that confs or arguments name: no run begins where one is not what it was."
REQUIREMENTS = (
    "A requirements file (pip's): an environment with these packages is made for the job, once, and shared by all that ask for the same. "
    "What it names by a relative path comes along. {code} in it is the folder of the script and its files; an empty file is none."
)
FORCE = "Begin it although its verdict says that it cannot start, or rows that it would go on with are gone."
NEW_QUERY = f"A query that the changed code adds, and that begins anew; {AGAIN}."


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What differs from a version; None keeps what the version has. `python` is the interpreter whose PySpark runs it, `java_home` names
    the Java that this runs on."""

    code: str | None = option(
        "Script with changed code; the code it had if not given.", None, flag="--code", metavar="FILE", reads=Reads.FILE
    )
    script: str | None = option("The script's file name.", None, shell=Shell.ABSENT)
    files: Mapping[str, str | None] | None = option(FILES, None, flag="--file", metavar="[NAME=]PATH", reads=Reads.FILES)
    outside: Mapping[str, str] | None = option(OUTSIDE, None, shell=Shell.ABSENT, text=VALUE)
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
    java_home: str | None = option(f"{JAVA}. Another runtime begins without.", None, metavar="DIR")
    requirements: str | None = option(REQUIREMENTS, None, metavar="FILE", reads=Reads.FILE, text=VALUE)

    @property
    def is_revised(self) -> bool:
        """Whether anything differs from the version."""
        return any(getattr(self, part.name) is not None for part in fields(Revision))
