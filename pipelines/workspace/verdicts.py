"""Verdicts that are known without planning: of a savepoint's own version, and what checks have found.

A verdict is kept under all that it rests on: the savepoint (which never changes, and neither do its version, its contract, and what it
stood on), the changed version, what that would stand on now, and the judge. So nothing has to be forgotten when one of these changes.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pipelines
from pipelines.domain import doubts, dropping, errors, read_variables, verdicts
from pipelines.domain.errors import Corrupt, Incompatible, NotFound, Refusal, Unavailable, Unsupported
from pipelines.domain.ids import JobName, content_id
from pipelines.domain.installed import (
    FILE,
    FOLDER,
    KINDS,
    LINK,
    Installed,
    are_names,
    is_same,
    is_unread,
    link,
    names,
    other_answers,
    other_files,
    unread,
)
from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.savepoints import Manifest
from pipelines.domain.verdicts import Outcome, Verdict
from pipelines.domain.versions import Version
from pipelines.sandbox import environment, installed
from pipelines.verbs.migrating import Migrating
from pipelines.workspace import environments, runs, savepoints
from pipelines.workspace.context import Context

BY_FORCE = "To begin it all the same: --force."
JUDGES = ("domain", "driver")
"""Folders of what plans code and what compares it."""
MOST = 500
"""So many are kept; those that were found first go first."""


@dataclass(frozen=True)
class KeptVerdict:
    """A verdict, with what of this machine it rests on besides: files (path -> SHA-256) and variables (as `Installed.variables`)."""

    verdict: Verdict
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def nearest(
    context: Context, manifest: Manifest, version: Version, new_queries: Sequence[str], told: Mapping[str, str] | None
) -> Verdict | None:
    """The verdict on `version` where the user has told which operator goes on as which; before that was checked, the one without it."""
    return known(context, manifest, version, new_queries, told) or (known(context, manifest, version, new_queries) if told else None)


def known(
    context: Context, manifest: Manifest, version: Version, new_queries: Sequence[str] = (), told: Mapping[str, str] | None = None
) -> Verdict | None:
    """The verdict on `version` going on from the savepoint; None where it would have to be checked. No Spark is started.

    Unchanged code is the same where nothing beneath it has changed since.
    """
    now = _installed(context, version)
    if now is None:
        return None
    if version.id == manifest.version.id and _is_beneath(manifest, now) and not doubted(manifest, version):
        return verdicts.unchanged(manifest.id, version.id, [image.query for image in manifest.begun])
    kept = _find(context, _key(manifest, version, new_queries, now, told or {}))
    return kept.verdict if kept is not None and are_same(kept.files, kept.variables) else None


def doubted(manifest: Manifest, version: Version) -> tuple[str, ...]:
    """Why nothing can be called the same, whatever is planned: what the versions have beside their scripts, and what the script read."""
    read = (*other_files(manifest.installed, files_now(manifest)), *read_variables.others(_variables(manifest), environment.of_code()))
    return (*doubts.of(manifest.version, version), *read, *other_answers(manifest.installed))


def variables_now(manifest: Manifest) -> dict[str, str]:
    """The environment variables that the script had read, as `Installed.variables` has them, but now."""
    return read_variables.noted(_variables(manifest), environment.of_code(), manifest.id)


def _variables(manifest: Manifest) -> Mapping[str, str]:
    return manifest.installed.variables if manifest.installed is not None else {}


def files_now(manifest: Manifest) -> dict[str, str]:
    """The files that the script had read, as `Installed.files` has them, but now; empty where one is not there."""
    noted = manifest.installed.files if manifest.installed is not None else {}
    return {path: _now(path, was) for path, was in noted.items()}


def _is_beneath(manifest: Manifest, now: Installed) -> bool:
    """Whether the savepoint was taken of a run that stood on what there is now."""
    return is_same(manifest.installed, now) and now.packages.get("pyspark") == manifest.spark_version


def refusal(verdict: Verdict | None, change: Migrating, *, is_forced: bool, otherwise: str = BY_FORCE) -> Refusal | None:
    """Why a run with that verdict is refused: what is dropped of the state and was not accepted, what is to be dropped and is not, and code
    that is known not to start, which would fail at its first batch; `otherwise` says how that begins all the same. One that is forced is
    refused where its state would not be migrated."""
    if verdict is None or (is_forced and (not change.is_migrated or verdict.told != (change.map or {}))):
        return None
    refused = not_accepted(verdict, change) or not_dropped(verdict, change)
    if refused is not None or is_forced:
        return refused
    if verdict.outcome.starts or (verdict.outcome is Outcome.NEEDS_REWRITING and change.is_migrated):
        return None
    part = next(part for part in verdict.parts if part.outcome is verdict.outcome)
    message = f"The verdict on this code is {verdict.outcome.value!r}: {'; '.join(part.reasons)}"
    return errors.refusal(Incompatible("code.cannot_start", message, f"{part.hint} {otherwise}".strip()))


def not_accepted(verdict: Verdict | None, change: Migrating) -> Refusal | None:
    """Why a run is refused that drops state: nobody has accepted that, by its name."""
    told = (*change.drop, *(change.map or {}))
    missing = [name for name in verdict.dropped if name not in told] if verdict is not None else []
    return errors.refusal(verdicts.drops(missing)) if missing else None


def not_dropped(verdict: Verdict | None, change: Migrating) -> Refusal | None:
    """Why a run is refused that is to drop what its code goes on with."""
    idle = dropping.idle(change.drop, verdict) if verdict is not None else ()
    return errors.refusal(dropping.kept(idle, dropping.droppable(verdict))) if verdict is not None and idle else None


def stand_in(context: Context, job: JobName) -> Manifest | None:
    """The savepoint whose state stands for the one that the job has now: the newest of the version that it ran last, on its present
    checkpoint. None where there is none, or it cannot be read."""
    ran = runs.of_job(context, job)
    here = [run for run in ran if run.checkpoints == ran[0].checkpoints]
    last = next((run.version for run in here if (context.layout.run(job, run.id) / QUERIES_FILE).is_file()), None)
    ids = {run.id for run in here}
    newest = (saved for saved in savepoints.newest_first(context, job) if saved.version == last and saved.run in ids)
    savepoint = next(newest, None)
    try:
        return savepoints.manifest(context, savepoint.id) if savepoint is not None else None
    except (Corrupt, NotFound, Unavailable, Unsupported):
        return None


def keep(
    context: Context,
    manifest: Manifest,
    version: Version,
    new_queries: Sequence[str],
    verdict: Verdict,
    files: Mapping[str, str],
    variables: Mapping[str, str],
) -> None:
    """Keeps what a check has found. The environment of `version` has been made."""
    now = _installed(context, version)
    if now is not None:
        kept = KeptVerdict(verdict, files, variables)
        context.files.write(context.layout.verdict(_key(manifest, version, new_queries, now, verdict.told)), kept)
        bound(context)


def _installed(context: Context, version: Version) -> Installed | None:
    """What the version would stand on; None where its environment has to be made first, or its interpreter does not answer."""
    if environments.is_missing(context, version):
        return None
    return installed.of(environments.entered(context, version).runtime)


def _key(manifest: Manifest, version: Version, new_queries: Sequence[str], now: Installed, told: Mapping[str, str]) -> str:
    rests_on = {"savepoint": manifest.id, "version": version.id, "new_queries": list(new_queries), "installed": asdict(now)}
    return content_id("verdict", {**rests_on, **({"told": dict(told)} if told else {}), "judge": judge()})


@functools.cache
def judge() -> str:
    """Who judges, by the bytes of its modules: another one may see what this one did not."""
    ours, digest = Path(pipelines.__file__).parent, hashlib.sha256()
    for path in sorted(path for folder in JUDGES for path in (ours / folder).rglob("*") if path.suffix in (".py", ".java")):
        digest.update(f"{path.relative_to(ours)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def _find(context: Context, key: str) -> KeptVerdict | None:
    """The verdict under `key`; None where there is none, or a damaged one, which can be found again."""
    try:
        return context.files.find(KeptVerdict, context.layout.verdict(key))
    except Corrupt:
        return None


def are_same(files: Mapping[str, str], variables: Mapping[str, str]) -> bool:
    """Whether files of this machine (path -> SHA-256) and variables (as `Installed.variables`) are what they were."""
    is_other = any(read_variables.others(variables, environment.of_code()))
    return not is_other and all(_now(path, digest) == digest for path, digest in files.items())


def _now(path: str, noted: str) -> str:
    """What would be noted of a path, as it was: the SHA-256 of a file, what tells it without its bytes, the names in a folder, where a link
    leads, or its kind; empty where it cannot be read."""
    if noted.startswith(LINK):
        return link(os.readlink(path)) if os.path.islink(path) else ""
    if are_names(noted):
        return names(os.listdir(path)) if os.path.isdir(path) and os.access(path, os.R_OK) else ""
    if not os.path.exists(path):
        return ""
    if is_unread(noted):
        return unread(os.stat(path).st_size, os.stat(path).st_ctime_ns)
    if os.path.isdir(path) or noted in ("", *KINDS):
        return FOLDER if os.path.isdir(path) else FILE
    if not os.access(path, os.R_OK):
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bound(context: Context) -> None:
    """Deletes the oldest of what was kept, beyond `MOST`."""
    files = sorted(context.layout.verdicts.glob("verdict-*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in files[MOST:]:
        path.unlink(missing_ok=True)
