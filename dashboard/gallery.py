"""Scripts that a job or a fork can begin from: those of the gallery, or a file of this machine. They are read, never imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.client import scripts
from pipelines.domain import syntax
from pipelines.domain.errors import Invalid, NotFound, TidemarkError

FOLDER = Path(__file__).resolve().parent.parent / "pipelines" / "jobs"
MOST_BYTES = 2_000_000
ARGUMENTS = {
    "post_events.py": ("--out", "{output}"),
    "post_engagement.py": ("--events", "{events}", "--output", "{output}"),
    "post_engagement_split.py": ("--events", "{events}", "--output", "{output}"),
}
EVENTS = "{events}"
"""In the arguments of the gallery's scripts: the directory that the generator of the example writes to."""


@dataclass(frozen=True)
class Script:
    """A script's file name and text, what it says of itself, and the arguments it is usually started with."""

    name: str
    code: str
    source: str = ""
    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Modules and files beside it that it needs, as a version has them."""

    @property
    def title(self) -> str:
        """The first paragraph of its docstring; empty where it has none, or cannot be read."""
        try:
            docstring = ast.get_docstring(syntax.tree(self.code)) or ""
        except SyntaxError:
            return ""
        return " ".join(docstring.split("\n\n")[0].split())


def names() -> list[str]:
    """The gallery's scripts."""
    return sorted(path.name for path in FOLDER.glob("*.py") if not path.name.startswith("_"))


def from_gallery(name: str) -> Script:
    """A script of the gallery; NotFound (`script.not_found`)."""
    if name not in names():
        raise NotFound("script.not_found", f"The gallery has no script {name!r}", f"It has {', '.join(names())}.")
    return Script(name, (FOLDER / name).read_text(encoding="utf-8"), f"pipelines/jobs/{name}", ARGUMENTS.get(name, ()))


def from_path(path: str) -> Script:
    """A script on the server's machine; NotFound (`script.not_found`) or Invalid (`script.unreadable`)."""
    file = Path(path.strip()).expanduser()
    if not file.is_file():
        raise NotFound(
            "script.not_found", f"There is no file {file}", "Give the path of a Python file on the machine that Tidemark runs on."
        )
    try:
        if file.stat().st_size > MOST_BYTES:
            raise Invalid("script.unreadable", f"{file} is too large for a script", "Give a Python file of at most 2 MB.")
        script = scripts.read(file)
        return Script(script.name, script.code, script.source, files=script.files)
    except OSError as error:
        raise Invalid("script.unreadable", f"{file} cannot be read: {error}", "Give a text file that Tidemark may read.") from error
    except TidemarkError as error:
        raise Invalid("script.unreadable", error.message, "Give a text file that Tidemark may read.") from error
