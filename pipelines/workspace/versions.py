"""Versions: code frozen under the id that its content gives it, checked for syntax before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from pipelines.catalog import versions as version_rows
from pipelines.domain import files, log_configuration, masters, references, secrets, sql_jobs, syntax
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import VersionId
from pipelines.domain.placeholders import CODE
from pipelines.domain.requirements import refuse
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version, version
from pipelines.domain.watch import Watch
from pipelines.sandbox import secret_values
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.revision import Revision
from pipelines.workspace import environments, hadoop, large_files, runtimes
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


def changed(old: Version, revision: Revision, now_ms: int) -> Version:
    """`old` with `revision`, under the id of its content; raises what `runtimes.named` raises, and Invalid (`master.conf`).

    Where the old one's runtime is not here (the savepoint came from another machine), it gives way to Tidemark's own.
    """
    script = old.script if revision.script is None else script_name(revision.script)
    code, beside = _files(old, script, revision)
    runtime = runtimes.changed(old.runtime, revision)
    args = old.args if revision.args is None else secrets.unmasked_args(revision.args, old.args)
    conf = old.conf if revision.conf is None else secrets.unmasked(revision.conf, old.conf)
    master = old.master if revision.master is None else revision.master
    if revision.conf is not None:
        masters.check_confs(master, conf)
    return version(
        script,
        code,
        args=args,
        conf=conf,
        master=master,
        python=runtime.python,
        source=old.source,
        created_ms=now_ms,
        files=beside,
        outside=_named({**old.outside, **(revision.outside or {})}, [*args, *conf.values()]),
        requirements=old.requirements if revision.requirements is None else given(revision.requirements),
        pins=old.pins if _keeps_environment(old, revision, beside) else "",
        java_home=runtime.java_home,
    )


def given(requirements: str | None) -> str:
    """Requirements as a version has them: a file of blanks is none. Invalid (`requirements.path`) where it does not hold what they name."""
    if not requirements or not requirements.strip():
        return ""
    refuse(requirements)
    return requirements


def _keeps_environment(old: Version, revision: Revision, beside: Mapping[str, str]) -> bool:
    """Whether requirements, and the files that they may name, stay as they were."""
    names_files = CODE in old.requirements
    return revision.requirements in (None, old.requirements) and (not names_files or beside == old.files)


def of_fork(manifest: Manifest, revision: Revision, now_ms: int) -> Version:
    """The savepoint's version with the changes; raises Invalid (`fork.code_needed`) where neither has code."""
    if revision.code is None and not manifest.version.code:
        message = f"Savepoint {manifest.id} is of {manifest.job}, a job that was attached without its code"
        raise Invalid("fork.code_needed", message, "Name the script that goes on with it (--code FILE).")
    return changed(manifest.version, revision, now_ms)


def _named(outside: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
    """The files outside that an argument or a conf still names."""
    return {path: digest for path, digest in outside.items() if any(files.names_path(text, path) for text in texts)}


def _files(old: Version, script: str, revision: Revision) -> tuple[str, Mapping[str, str]]:
    """The code of the script, which may be named among the files that differ, and the files beside it."""
    beside = files.changed(old.files, revision.files or {})
    code = beside.pop(script, None) if script in (revision.files or {}) else None
    return (old.code if revision.code is None else revision.code) if code is None else code, beside


def freeze(context: Context, version: Version, watch: Watch) -> Version:
    """Stores a version once, with its environment made, and answers with the stored one; raises Invalid (`code.syntax`) for code that
    Python cannot read, and what `environments.make` raises."""
    check_here(context, version)
    large_files.keep(context, version, watch)
    return keep(context, environments.make(context, version, watch))


def check(version: Version) -> None:
    """Raises Invalid (`code.syntax`, `code.script`, `code.files`, `code.log4j`, `master.unknown`, `secret.reference`,
    `secret.conf`, `secret.sql`) and Unsupported (`master.deploy_mode`, `master.cluster_mode`) for a version that cannot be frozen."""
    masters.check(version.master, version.conf)
    references.check(version.master, version.args, version.conf, is_sql=sql_jobs.is_sql(version.script))
    syntax.refuse(version.code, version.script)
    script_name(version.script)
    if sql_jobs.is_sql(version.script):
        check_values(version)
    problem = files.problem(version.script, version.code, version.files)
    if problem:
        raise Invalid("code.files", problem[:1].upper() + problem[1:], "Give each file by its path below the script's folder.")
    check_logging(version)
    wrong = next((path for path, digest in version.outside.items() if not files.is_digest(path, digest)), "")
    if wrong:
        hint = "Give its absolute path with the SHA-256 of its content, 64 hex digits."
        raise Invalid("code.outside", f"{wrong!r} is no file outside of a version", hint)
    for path, packed in version.files.items():
        if files.is_module(path):
            syntax.refuse(files.content(packed), path)


def check_logging(version: Version) -> None:
    """Raises Invalid (`code.log4j`) for a log4j2 configuration beside the script that log4j2 would pass over without a word."""
    name = log_configuration.chosen(version.files)
    problem = log_configuration.problem(name, files.content(version.files[name])) if name else ""
    if problem:
        hint = "Correct it, or take the file away (--file NAME=): Spark would log as it usually does, and say nothing."
        raise Invalid("code.log4j", f"log4j2 cannot use {name}: {problem}", hint)


def check_to_try(version: Version) -> None:
    """Raises what `check` and `secret_values.refuse` do, for a version whose code will be run in the sandbox."""
    check(version)
    secret_values.refuse(version)


def check_here(context: Context, version: Version) -> None:
    """Raises what `check_to_try`, `hadoop.check` and `runtimes.check` do, and what `large_files.refuse` raises where a file that the
    version knows by its hash is lost."""
    check_to_try(version)
    hadoop.check(version)
    runtimes.check(version)
    large_files.refuse(context, version)


def keep(context: Context, version: Version) -> Version:
    """Stores a version once, as it is: one that ran elsewhere may be written for another Python than ours. Its pins come with the first
    that has them."""
    stored = context.files.version(version.id)
    if stored is None or (version.pins and not stored.pins):
        stored = version if version.created_ms else replace(version, created_ms=context.now_ms())
        for path, data in version.contents.items():
            context.files.write_bytes(context.layout.script(version.id, path), data)
        context.files.write(context.layout.version_file(version.id), stored)
    with context.catalog.writing() as writer:
        version_rows.save(writer, [stored])
    return stored


def check_values(version: Version) -> None:
    """Raises Invalid (`code.arguments`) where a `${name}` of a SQL job has no value, or an argument gives none."""
    hint = "Give each ${name} of the file as an argument: -- --name VALUE."
    try:
        given = sql_jobs.values(version.args)
    except ValueError as error:
        raise Invalid("code.arguments", f"{version.script}: the argument {error}", hint) from error
    for name, line in sql_jobs.variables(version.code, version.script).items():
        if name not in given:
            raise Invalid("code.arguments", f"{version.script}, line {line}: ${{{name}}} has no value", hint)


def script_name(script: str) -> str:
    """The file name of `script`; raises Invalid (`code.script`) for one that is neither Python's nor SQL's."""
    name = PurePosixPath(script.replace("\\", "/")).name
    if not (name.endswith(".py") or sql_jobs.is_sql(name)) or name.startswith(".") or not files.is_relative(name):
        hint = f"Name a file that ends in .py or .sql; a name has at most {files.MOST_NAME} bytes."
        raise Invalid("code.script", f"{script!r} is not a script's name", hint)
    return name


def get(context: Context, version_id: str) -> Version:
    """The version with this id; raises NotFound (`version.not_found`)."""
    version = context.files.version(VersionId(version_id)) if "/" not in version_id and not version_id.startswith(".") else None
    if version is None:
        raise NotFound("version.not_found", f"There is no version {version_id!r}", "The page of a job lists the versions of its runs.")
    return version


@answers(ShowVersion)
def show(context: Context, question: ShowVersion) -> Version:
    return without_secrets(get(context, question.version))


def without_secrets(version: Version) -> Version:
    """The version as it may be shown: its id stays that of what is kept."""
    return replace(version, args=secrets.masked_args(version.args), conf=secrets.masked(version.conf))
