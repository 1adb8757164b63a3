"""Versions: code frozen under the id that its content gives it, checked for syntax before anything is stored."""

from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import PurePosixPath

from pipelines.catalog import versions as version_rows
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import VersionId
from pipelines.domain.versions import Version, version
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.revision import Revision
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


def changed(old: Version, revision: Revision, now_ms: int) -> Version:
    """`old` with `revision`, under the id of its content; Invalid (`runtime.not_found`) for an interpreter that is not on this machine.

    Where the old one's is not (the savepoint came from another machine), it gives way to Tidemark's own.
    """
    return version(
        old.script if revision.script is None else script_name(revision.script),
        old.code if revision.code is None else revision.code,
        args=old.args if revision.args is None else revision.args,
        conf=old.conf if revision.conf is None else revision.conf,
        master=old.master if revision.master is None else revision.master,
        python=_kept(old.python) if revision.python in (None, old.python) else runtime(revision.python or ""),
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


def freeze(context: Context, version: Version) -> Version:
    """Stores a version once and answers with the stored one; raises Invalid (`code.syntax`) for code that Python cannot read."""
    check(version)
    return keep(context, version)


def check(version: Version) -> None:
    """Raises Invalid (`code.syntax`, `code.script`) for a version that cannot be frozen."""
    check_syntax(version.script, version.code)
    script_name(version.script)


def keep(context: Context, version: Version) -> Version:
    """Stores a version once, as it is: one that ran elsewhere may be written for another Python than ours."""
    stored = context.files.version(version.id)
    if stored is None:
        stored = version if version.created_ms else replace(version, created_ms=context.now_ms())
        context.files.write_bytes(context.layout.script(version.id, version.script), version.code.encode())
        context.files.write(context.layout.version_file(version.id), stored)
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


def get(context: Context, version_id: str) -> Version:
    """The version with this id; raises NotFound (`version.not_found`)."""
    version = context.files.version(VersionId(version_id)) if "/" not in version_id and not version_id.startswith(".") else None
    if version is None:
        raise NotFound("version.not_found", f"There is no version {version_id!r}", "The page of a job lists the versions of its runs.")
    return version


@answers(ShowVersion)
def show(context: Context, question: ShowVersion) -> Version:
    return get(context, question.version)
