"""What lines of a requirements file name by a path, as pip reads them (pip/_internal/req: `req_file.py`, `constructors.py`)."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain.errors import Invalid
from pipelines.domain.placeholders import CODE

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz", ".tar.xz", ".txz")
COMMENT = re.compile(r"(^|\s+)#.*$")
LONG = {"--requirement": "-r", "--constraint": "-c", "--editable": "-e", "--find-links": "-f"}
OPTION = re.compile(rf"\s*({'|'.join(LONG)}|-[rcef])(?:\s*=\s*|\s+|(?<=\s-[rcef])|(?<=^-[rcef]))(\S.*)")
PACKAGE = re.compile(r"\s*([^-\s][^;\[]*?)(\s*(?:\[|;|\s--).*)?$")
HINT = "Give the file to the command line (--requirements), which takes along what it names; or name a file of the version: {code}/…"


class Names(enum.Enum):
    """What a path in requirements is."""

    REQUIREMENTS = "-r"
    CONSTRAINTS = "-c"
    PACKAGES = "-f"
    PACKAGE = ""


@dataclass(frozen=True)
class Reference:
    """A path in a line of requirements, and what stands behind it."""

    names: Names
    path: str
    after: str = ""

    def instead(self, path: str) -> str:
        """The line with another path. A package is then a plain one: what is made of a version is not edited."""
        return f"{self.names.value} {path}{self.after}".strip()


def lines(text: str) -> Iterator[str]:
    """The lines without their comments, those that end with a backslash joined with the next."""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        bare = COMMENT.sub("", line)
        if bare.strip():
            yield bare


def reference(line: str) -> Reference | None:
    """The path that a line names; None where it names a package of an index, a URL, or nothing."""
    if "://" in line or " @ " in line:
        return None
    option = OPTION.fullmatch(line)
    if option and (flag := LONG.get(option[1], option[1])) != "-e":
        return Reference(Names(flag), option[2].strip())
    package = PACKAGE.fullmatch(option[2] if option else line)
    is_path = package and (option or "/" in package[1] or package[1].startswith(".") or package[1].endswith(ARCHIVES))
    return Reference(Names.PACKAGE, package[1], package[2] or "") if package and is_path else None


def refuse(text: str) -> None:
    """Raises Invalid (`requirements.path`) for a path that means nothing where the environment is made: the version lacks what is there."""
    for line in lines(text):
        named = reference(line)
        if named is None or named.path.startswith(CODE):
            continue
        if named.names in (Names.REQUIREMENTS, Names.CONSTRAINTS) or not named.path.startswith("/"):
            raise Invalid("requirements.path", f"The requirements name {named.path}, which the version does not hold: {line.strip()}", HINT)
