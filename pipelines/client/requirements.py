"""A requirements file of this machine with all that it names: other requirements files in the place of their names, constraints and local
packages as files of the version, so that whoever has the version needs nothing else of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.client.scripts import read_code, read_file, walk
from pipelines.domain import requirements
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.placeholders import CODE
from pipelines.domain.requirements import Names
from pipelines.domain.texts import MOST_ITEMS


@dataclass
class Required:
    """The text of requirements, and the files of the version that it names."""

    text: str = ""
    files: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Required:
    """The requirements in the file at `path`: as they are, unless they name something by a path.

    Raises NotFound (`file.unreadable`, `requirements.gone`), Invalid (`file.not_text`, `code.files`, `requirements.circle`, `.clash`).
    """
    text = read_code(path)
    if not any(map(requirements.reference, requirements.lines(text))):
        return Required(text)
    required = Required()
    required.text = "".join(f"{line}\n" for line in _lines(path.resolve().parent, path.resolve(), required.files, ()))
    return required


def _lines(home: Path, path: Path, files: dict[str, str], outer: tuple[Path, ...], *, limits: bool = False) -> Iterator[str]:
    """The lines of the file at `path` (`limits`: of constraints, which are one file then), relative paths being relative to its folder;
    what comes along is added to `files`."""
    if path in outer:
        raise Invalid("requirements.circle", f"{path} names itself", "Take out one of the lines that name another requirements file.")
    for line in requirements.lines(read_code(path)):
        named = requirements.reference(line)
        is_text = named is not None and named.names in (Names.REQUIREMENTS, Names.CONSTRAINTS)
        if named is None or named.path.startswith(CODE) or (os.path.isabs(named.path) and not is_text):
            yield line
            continue
        place = Path(os.path.normpath(path.parent / named.path))
        if not place.exists():
            hint = "Correct the path: it is relative to the file that names it."
            raise NotFound("requirements.gone", f"{path} names {named.path}, and there is no {place}", hint)
        if is_text:
            inner = _lines(home, place, files, (*outer, path), limits=limits or named.names is Names.CONSTRAINTS)
        if named.names is Names.REQUIREMENTS or (is_text and limits):
            yield from inner
        elif named.names is Names.CONSTRAINTS:
            yield named.instead(_taken(home, place, "".join(f"{part}\n" for part in inner), files))
        else:
            yield named.instead(_along(home, place, files))


def _along(home: Path, place: Path, files: dict[str, str]) -> str:
    """How requirements name a file, or a folder with all its files, which come along with the version."""
    inside = [place] if place.is_file() else walk(place)
    if len(inside) > MOST_ITEMS:
        raise Invalid("code.files", f"{place} has more than {MOST_ITEMS:,} files", "Name a wheel that is made of it.")
    for file in inside:
        _taken(home, file, read_file(file), files)
    return f"{CODE}/{_name(home, place)}".removesuffix("/.")


def _taken(home: Path, place: Path, packed: str, files: dict[str, str]) -> str:
    name = _name(home, place)
    if files.setdefault(name, packed) != packed:
        raise Invalid("requirements.clash", f"Two files that the requirements name would both be {name}", "Give one of them another name.")
    return f"{CODE}/{name}"


def _name(home: Path, place: Path) -> str:
    """The path in the version: that below the folder of the requirements, or without the way up from there."""
    return Path(*(part for part in Path(os.path.relpath(place, home)).parts if part != "..")).as_posix()
