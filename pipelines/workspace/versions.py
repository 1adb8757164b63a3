"""Versions: code frozen under the id that its content gives it, checked for syntax before anything is stored."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from pipelines.catalog import versions as version_rows
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import VersionId
from pipelines.domain.versions import Version, version
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Change:
    """What a new version has of its own; None keeps what the old one has."""

    code: str | None = None
    script: str | None = None
    args: tuple[str, ...] | None = None
    conf: Mapping[str, str] | None = None
    master: str | None = None
    python: str | None = None


def changed(old: Version, change: Change, now_ms: int) -> Version:
    """`old` with `change`, under the id of its content; Invalid (`runtime.not_found`) for an interpreter that is not on this machine.

    Where the old one's is not (the savepoint came from another machine), it gives way to Tidemark's own.
    """
    return version(
        old.script if change.script is None else script_name(change.script),
        old.code if change.code is None else change.code,
        args=old.args if change.args is None else change.args,
        conf=old.conf if change.conf is None else change.conf,
        master=old.master if change.master is None else change.master,
        python=_kept(old.python) if change.python in (None, old.python) else runtime(change.python or ""),
        source=old.source,
        created_ms=now_ms,
    )


def _kept(python: str) -> str:
    return python if shutil.which(python) else ""


def runtime(python: str) -> str:
    """The interpreter `python`, empty for Tidemark's own; Invalid (`runtime.not_found`) where this machine does not have it."""
    if python and not shutil.which(python):
        raise Invalid("runtime.not_found", f"There is no interpreter {python}", "Name the Python of an environment with PySpark in it.")
    return python


def freeze(context: Context, wanted: Version) -> Version:
    """Stores a version once and answers with the stored one; raises Invalid (`code.syntax`) for code that Python cannot read."""
    check_syntax(wanted.script, wanted.code)
    script_name(wanted.script)
    return keep(context, wanted)


def keep(context: Context, wanted: Version) -> Version:
    """Stores a version once, as it is: one that ran elsewhere may be written for another Python than ours."""
    stored = context.files.version(wanted.id)
    if stored is None:
        stored = wanted if wanted.created_ms else replace(wanted, created_ms=context.now_ms())
        context.files.write_bytes(context.layout.script(wanted.id, wanted.script), wanted.code.encode())
        context.files.write(context.layout.version_file(wanted.id), stored)
    with context.catalog.writing() as writer:
        version_rows.save(writer, [stored])
    return stored


def check_syntax(script: str, code: str) -> None:
    """Raises Invalid with the line and its text where `code` is no Python."""
    try:
        ast.parse(code, filename=script)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise Invalid("code.syntax", f"{script}, line {error.lineno}: {error.msg}: {line}", "Correct the line and try again.") from error
    except ValueError as error:
        raise Invalid("code.syntax", f"{script}: {error}", "Remove the null bytes; Python source is text.") from error


def script_name(script: str) -> str:
    """The file name of `script`; raises Invalid (`code.script`) for one that is no Python file's."""
    name = PurePosixPath(script.replace("\\", "/")).name
    if not name.endswith(".py") or name.startswith("."):
        raise Invalid("code.script", f"{script!r} is not a Python script's name", "Name a file that ends in .py.")
    return name


def get(context: Context, named: str) -> Version:
    """The version with this id; raises NotFound (`version.not_found`)."""
    found = context.files.version(VersionId(named)) if "/" not in named and not named.startswith(".") else None
    if found is None:
        raise NotFound("version.not_found", f"There is no version {named!r}", "The page of a job lists the versions of its runs.")
    return found
