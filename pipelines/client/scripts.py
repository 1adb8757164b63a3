"""A script of this machine with what it needs from its folder: the modules that it imports, and those import, the files they name, and
the log4j2 configuration that is there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

from pipelines.client.references import Imported, References, references
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.files import packed
from pipelines.domain.log_configuration import chosen
from pipelines.domain.sql_jobs import is_sql
from pipelines.domain.texts import CODE, MOST_ITEMS

PACKAGE = "__init__.py"
SKIPPED = {"__pycache__", "node_modules", "venv"}
"""Folders that are no part of what somebody wrote; hidden ones are none either."""
DATA_BYTES, DATA_FILES = 1_000_000, 100
"""A file that a module names, or a folder with its files, is taken along up to this size."""


@dataclass(frozen=True)
class Script:
    """A script with the files that it needs, as a version has them (`domain.files`)."""

    name: str
    code: str
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    """Files beside a script that looks for files there, which are not taken along because nothing names them, or too large."""


def read(path: Path) -> Script:
    """The script at `path`. NotFound (`file.unreadable`), or Invalid (`file.not_text`, `code.files`) where a module is too large."""
    code, folder = read_code(path), path.resolve().parent
    modules, data, looks = _needs(folder, path.resolve())
    data |= _logging(folder)
    files = {_inside(folder, file): _content(file) for file in sorted(modules | data)}
    return Script(path.name, code, str(path.resolve()), files, _left(folder, {path.resolve(), *modules, *data}) if looks else ())


def read_code(path: Path) -> str:
    """A script's text; NotFound and Invalid say which file."""
    try:
        with path.open("rb") as script:
            text = script.read(4 * (CODE.most + 1))  # longer than a script may be: refused like every other text
            return text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise NotFound(
            "file.unreadable", f"{path} cannot be read: {error.strerror}", "Give the path of a file with Python or SQL code."
        ) from error
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise Invalid("file.not_text", f"{path}, line {line}: it is not UTF-8 text", "Save the script as UTF-8.") from error


def read_file(path: Path) -> str:
    """The content of any file as a version holds it; NotFound (`file.unreadable`), Invalid (`code.files`) for one that is too large."""
    return _content(path.expanduser())


def digest(path: Path) -> str:
    """The SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(path: Path) -> str:
    return packed(_bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(CODE.most + 1)
    except OSError as error:
        raise NotFound("file.unreadable", f"{path} cannot be read: {error.strerror}", "Give the path of a file.") from error
    if len(data) > CODE.most:
        message = f"{path} is larger than the {CODE.most:,} bytes that a version can hold"
        raise Invalid("code.files", message, "Put it where every run can read it, and let an argument name it.")
    return data


def _logging(folder: Path) -> set[Path]:
    """The log4j2 configuration beside a script, if there is one."""
    name = chosen([path.name for path in folder.iterdir() if path.is_file()])
    return {folder / name} if name else set()


def _needs(folder: Path, script: Path) -> tuple[set[Path], set[Path], bool]:
    """The modules and the data that `script` and its modules need, and whether any of them looks for files beside itself."""
    modules: set[Path] = set()
    data: set[Path] = set()
    looks, todo = False, [script]
    while todo:
        module = todo.pop()
        refers = References() if is_sql(module.name) else references(_bytes(module))
        new = {file for named in refers.imports for file in _modules(folder, module, named)} - {*modules, script}
        modules |= new
        data |= set(_data(folder, module, refers))
        looks = looks or refers.looks_beside
        todo += sorted(new)
    return modules, data - {*modules, script}, looks


def _modules(folder: Path, module: Path, named: Imported) -> Iterator[Path]:
    """The files below `folder` that an import in `module` executes, as Python looks for them: package, module, folder of modules."""
    here = folder if not named.level else module.parents[named.level - 1]
    if not here.is_relative_to(folder):
        return
    for name in named.name.split("."):
        package, single = here / name / PACKAGE, here / f"{name}.py"
        if package.is_file():
            yield package
        elif single.is_file():
            yield single
            return
        elif not (here / name).is_dir():
            return
        here = here / name


def _data(folder: Path, module: Path, refers: References) -> Iterator[Path]:
    """The files that a module names; of a folder that it names all, unless it names one inside of it."""
    homes = [home for home in module.parents if home.is_relative_to(folder)]
    named = {place for path in refers.paths for home in homes if (place := _place(folder, home, path))}
    files = {place for place in named if place.is_file()}
    yield from (file for file in files if file.stat().st_size <= DATA_BYTES)
    for place in named - files:
        if not any(file.is_relative_to(place) for file in files):
            yield from _small(walk(place))


def _place(folder: Path, home: Path, path: str) -> Path | None:
    """What there is at `path` below the folder itself; None where nothing is."""
    if not path.strip("./") or "\0" in path or PurePosixPath(path).is_absolute():
        return None
    place = Path(os.path.normpath(home / path))
    return place if place != folder and place.is_relative_to(folder) and os.path.exists(place) else None


def walk(folder: Path) -> list[Path]:
    """The files below `folder` that somebody wrote, in order; as many as a version can hold, and one more."""
    return sorted(islice(_walked(folder), MOST_ITEMS + 1))


def _walked(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        yield from (Path(here, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".pyc"))


def _small(files: list[Path]) -> list[Path]:
    """`files` where they are few and small, else none."""
    return files if len(files) <= DATA_FILES and sum(file.stat().st_size for file in files) <= DATA_BYTES else []


def _left(folder: Path, taken: Iterable[Path]) -> tuple[str, ...]:
    beside = {path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    return tuple(sorted(path.name for path in beside - set(taken)))


def _inside(folder: Path, file: Path) -> str:
    return file.relative_to(folder).as_posix()
