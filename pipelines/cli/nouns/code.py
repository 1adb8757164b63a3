"""The code of a run as it is typed: a script with what it needs beside it, a project, and what spark-submit's options ship."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter
from pipelines.cli.session import Here
from pipelines.client import projects, requirements, scripts
from pipelines.client.requirements import Required
from pipelines.client.scripts import Script
from pipelines.domain.event_logs import ENABLED
from pipelines.domain.texts import CODE
from pipelines.verbs.savepoints import ReadManifest

MOST_NAMES = 8
"""So many files are named; of more their number is said."""
MOST_SHIPPED_BYTES = CODE.most * 3 // 4
"""More is no part of a version: base64 makes four characters of three bytes."""
BESIDE = "{code}/"
"""How a conf names a file of the version."""
CONFS = {"py_files": "spark.submit.pyFiles", "spark_files": "spark.files", "jars": "spark.jars", "archives": "spark.archives"}
PACKAGES = "spark.jars.packages"


def _list(flag: str, what: str) -> Parameter:
    return Parameter(str, typer.Option(flag, metavar="A,B", help=f"{what}, as spark-submit has it.", show_default=False), None)


SHIPPED = {
    "py_files": _list("--py-files", "Modules and archives of modules"),
    "spark_files": _list("--files", "Files for every machine (SparkFiles.get)"),
    "jars": _list("--jars", "Jars"),
    "archives": _list("--archives", "Archives that are unpacked on every machine: a packed environment"),
    "packages": _list("--packages", "Jars by their Maven coordinates"),
}
EVENT_LOG = Parameter(bool, typer.Option("--event-log", help="Keep Spark's event log of its runs (spark.eventLog.enabled)."), False)
MODULE = Parameter(
    str,
    typer.Option("-m", "--module", metavar="MODULE", help="Run this module of the folder SCRIPT, as python -m does.", show_default=False),
    None,
)


def of_script(here: Here, values: Mapping[str, Any], path: Path | None, module: str | None = None) -> dict[str, Any]:
    """The fields of the code at `path` (none: the code stays as it was), with all that it needs and that was given besides."""
    asked, args = _shipped(here, values), values.get("args") or ()
    if path is None:
        _tell_relative(args, asked.get("files", {}))
        return asked
    script = projects.read(path, module or "") if path.is_dir() or module else scripts.read(path)
    _tell(script, asked.get("files", {}))
    files = {**script.files, **asked.get("files", {})}
    _tell_relative(args, files, path if path.is_dir() else path.parent)
    return {**asked, "script": script.name, "code": script.code, **({"files": files} if files else {})}


def for_savepoint(here: Here, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the code that goes on from a savepoint: confs that are given are added to those of its version."""
    asked = of_script(here, values, here.words["code"])
    if "conf" not in asked:
        return asked
    return {**asked, "conf": {**here.face.ask(ReadManifest(values["savepoint"])).version.conf, **asked["conf"]}}


def _tell(script: Script, given: Mapping[str, Any]) -> None:
    if script.files:
        output.tell(f"{script.name} takes along {_listed(script.files)}")
    left = [name for name in script.left if name not in given]
    if left:
        output.tell(f"{script.name} leaves {_listed(left)} (large, or named by nothing; --file takes one along)")


def _tell_relative(args: Collection[str], files: Mapping[str, Any], folder: Path | None = None) -> None:
    """Says of arguments that name something below the shell's folder that the job, which runs in another one, does not find it by them.
    `files` are those of the version, `folder` is where they lie: what is one of them is found wherever the job runs."""
    for arg in args:
        named = arg.partition("=")[2] if arg.startswith("--") else arg
        path = Path(named)
        if named and not path.is_absolute() and _is_there(path):
            found = _beside(path.resolve(), files, folder) or path.resolve()
            output.tell(f"{arg} is relative to this folder; a job runs in a folder of its own: give {found}")


def _beside(path: Path, files: Mapping[str, Any], folder: Path | None) -> str:
    """`{code}/…` of what the version takes along; empty for anything else."""
    if folder is None or not path.is_relative_to(folder.resolve()):
        return ""
    name = path.relative_to(folder.resolve()).as_posix()
    return f"{BESIDE}{name}" if name in files else ""


def _is_there(path: Path) -> bool:
    """Whether something is there; no path (a text that is too long, or has a NUL) is nowhere."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:MOST_NAMES]
    return ", ".join(shown) + (f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else "")


def _shipped(here: Here, values: Mapping[str, Any]) -> dict[str, Any]:
    """Files and confs that were given, and those that spark-submit's options stand for."""
    needed = requirements.read(here.words["requirements"]) if here.words.get("requirements") else Required()
    files: dict[str, str | None] = {**needed.files, **(values.get("files") or {})}
    conf, outside = dict(values.get("conf") or {}), dict[str, str]()
    for name, key in CONFS.items():
        places = [_place(text, files, outside) for text in (here.words.get(name) or "").split(",") if text]
        conf |= {key: ",".join(places)} if places else {}
    conf |= {PACKAGES: here.words["packages"]} if here.words.get("packages") else {}
    conf |= {ENABLED: "true"} if here.words.get("event_log") else {}
    asked = {name: given for name, given in (("files", files), ("conf", conf), ("outside", outside)) if given}
    return {**asked, "requirements": needed.text} if here.words.get("requirements") else asked


def _place(text: str, files: dict[str, str | None], outside: dict[str, str]) -> str:
    """How a conf names a file: as one of the version's, which it becomes; a URL, and what is too large, by its own place.

    Behind `#` is the name of an unpacked archive.
    """
    if "://" in text:
        return text
    place, mark, name = text.partition("#")
    path = Path(place).expanduser()
    if path.is_file() and path.stat().st_size > MOST_SHIPPED_BYTES:
        outside[str(path.resolve())] = scripts.digest(path)
        output.tell(f"{path.name} is too large for a version: the workspace keeps it once, by its SHA-256, and savepoints carry it")
        return f"{path.resolve()}{mark}{name}"
    files[path.name] = scripts.read_file(path)
    return f"{BESIDE}{path.name}{mark}{name}"
