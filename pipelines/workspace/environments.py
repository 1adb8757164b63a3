"""Environments of versions with requirements: made once for equal requirements, shared by all versions that have them, and made anew
where they are missing. An environment appears whole: it is made in the sandbox, and renamed."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.ids import JobName, OperationId, content_id
from pipelines.domain.moments import DAY_MS
from pipelines.domain.versions import Version
from pipelines.domain.watch import Watch
from pipelines.sandbox import installations
from pipelines.sandbox.installer import CODE, PINS, Request
from pipelines.storage import handover
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable

KEPT_MS = 30 * DAY_MS
"""Since it was last used, which the time of its pins says."""


def make(context: Context, version: Version, watch: Watch) -> Version:
    """The version with its pins, and its environment in its place. Raises what `installations.make` raises, and what `watch` does."""
    if not version.requirements:
        return version
    version = _known(context, version)
    with context.claiming(f"environment {_key(version)}", lambda: watch.advance(0)):
        place = _find(context, version) or _made(context, version, watch)
    return version if version.pins else replace(version, pins=(place / PINS).read_text())


def is_missing(context: Context, version: Version) -> bool:
    """Whether the version's environment has to be made before it runs."""
    return bool(version.requirements) and _find(context, _known(context, version)) is None


def entered(context: Context, version: Version) -> Version:
    """The version on the interpreter of its environment; itself where it has no requirements. Unavailable (`environment.gone`)."""
    if not version.requirements:
        return version
    place = _find(context, version)
    if place is None:
        message = f"The environment of version {version.id} is gone"
        raise Unavailable("environment.gone", message, "Resume the job: its environment is made anew.")
    os.utime(place / PINS, (context.now_ms() / 1000,) * 2)
    handover.let_read([place])
    return replace(version, python=str(place / "bin" / "python"))


def clean(context: Context) -> None:
    """Deletes what no run has begun on for `KEPT_MS` and no job wants to run on. Whoever needs one again has it made anew, of its pins.

    Where a document of a job cannot be read, nobody knows what it runs on, and nothing is deleted."""
    unused = [pins for pins in context.layout.environments.glob(f"*/{PINS}") if context.now_ms() - pins.stat().st_mtime * 1000 > KEPT_MS]
    if not unused:
        return
    unread: list[TidemarkError] = []
    versions = readable(lambda job: _version_to_run(context, job), context.files.job_names(), unread)
    if unread:
        return
    used = {_find(context, version) for version in versions}
    for pins in unused:
        if pins.parent not in used:
            shutil.rmtree(pins.parent)
            events.say(context, "environment.cleaned", None, pins.parent.name, f"environment {pins.parent.name} was unused for 30 days")


def _version_to_run(context: Context, job: JobName) -> Version | None:
    """The version that the job is to run, if it is and has requirements."""
    run = context.files.wanted(job).run
    version = None if run is None else context.files.version(context.files.spec(job, run).version)
    return version if version is not None and version.requirements else None


def _known(context: Context, version: Version) -> Version:
    """The version with the pins that it has here already."""
    stored = None if version.pins else context.files.version(version.id)
    return version if stored is None else replace(version, pins=stored.pins)


def _find(context: Context, version: Version) -> Path | None:
    """The environment of equal requirements, where it has the pins that the version has, or one of just these pins."""
    places = [context.layout.environment(_key(replace(version, pins=""))), context.layout.environment(_key(version))]
    fitting = (place for place in places if (place / PINS).is_file())
    return next((place for place in fitting if place == places[1] or (place / PINS).read_text() == version.pins), None)


def _key(version: Version) -> str:
    """What an environment is made of: the requirements with the files that they may name, pins, and the Python that it is based on."""
    python = shutil.which(version.python or sys.executable) or version.python
    binary = os.stat(os.path.realpath(python)) if os.path.exists(python) else None
    based_on = [python, *([binary.st_size, binary.st_mtime_ns] if binary else [])]
    files = dict(version.files) if CODE in version.requirements else {}
    return content_id("env", {"requirements": version.requirements, "pins": version.pins, "files": files, "python": based_on})


def _made(context: Context, version: Version, watch: Watch) -> Path:
    """1. Made in the sandbox, which the opening cleans; 2. renamed."""
    watch.step("making the environment")
    folder = context.layout.sandbox_folder(OperationId(context.new_id("x")))
    place = context.layout.environment(_key(version))
    request = Request(version.python or sys.executable, version.requirements, version.pins, str(place))
    files = version.contents if CODE in version.requirements else {}
    folder.mkdir(parents=True)
    try:
        made = installations.make(folder, request, files, lambda: watch.advance(0))  # 1
        handover.take_back(made)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)  # somebody deleted a part of it
        made.rename(place)  # 2
    finally:
        shutil.rmtree(folder)
    return place
