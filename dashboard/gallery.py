"""Scripts that a job or a fork can begin from: those of the gallery, or a file of this machine. They are read, never imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from pipelines.client import scripts
from pipelines.domain import syntax
from pipelines.domain.collection import COLLECTION, GENERATORS, Example
from pipelines.domain.errors import Invalid, NotFound, TidemarkError

FOLDER = Path(__file__).resolve().parent.parent / "pipelines" / "jobs"
MOST_BYTES = 2_000_000
MADE = "{made}"
"""In the arguments of the gallery's scripts: the output directory of the job that generates their input."""


@dataclass(frozen=True)
class Script:
    """A script's file name and text, what it says of itself, and the arguments it is usually started with."""

    name: str
    code: str
    source: str = ""
    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Modules and files beside it that it needs, as a version has them."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark confs that it is usually started with."""

    @property
    def title(self) -> str:
        """The first paragraph of its docstring or first comment; empty where it has none, or cannot be read."""
        try:
            text = syntax.title(self.code, self.name)
        except SyntaxError:
            return ""
        return " ".join(text.split("\n\n")[0].split())


def names() -> list[str]:
    """The gallery's scripts: the jobs to begin with, the generators of their input, then second versions."""
    first = [*(example.scripts[0] for example in COLLECTION.values()), *(f"{name}.py" for name in GENERATORS)]
    return [*first, *sorted(example.scripts[1] for example in COLLECTION.values())]


def example(script: str) -> Example | None:
    """The job of the collection that a script is the first or the second version of."""
    stem = PurePath(script).stem
    return next((it for it in COLLECTION.values() if stem in (it.name, it.second)), None)


def from_gallery(name: str) -> Script:
    """A script of the gallery; NotFound (`script.not_found`)."""
    if name not in names():
        raise NotFound("script.not_found", f"The gallery has no script {name!r}", f"It has {', '.join(names())}.")
    read, it = scripts.read(FOLDER / name), example(name)
    args = it.args(MADE) if it else GENERATORS[PurePath(name).stem][0]
    return Script(name, read.code, f"pipelines/jobs/{name}", args, read.files, it.conf if it else {})


def from_path(path: str) -> Script:
    """A script on the server's machine; NotFound (`script.not_found`) or Invalid (`script.unreadable`)."""
    file = Path(path.strip()).expanduser()
    if not file.is_file():
        raise NotFound(
            "script.not_found", f"There is no file {file}", "Give the path of a Python or SQL file on the machine that Tidemark runs on."
        )
    try:
        if file.stat().st_size > MOST_BYTES:
            raise Invalid("script.unreadable", f"{file} is too large for a script", "Give a Python or SQL file of at most 2 MB.")
        script = scripts.read(file)
        return Script(script.name, script.code, script.source, files=script.files)
    except OSError as error:
        raise Invalid("script.unreadable", f"{file} cannot be read: {error}", "Give a text file that Tidemark may read.") from error
    except TidemarkError as error:
        raise Invalid("script.unreadable", error.message, "Give a text file that Tidemark may read.") from error
