"""What two versions have beside their scripts that planning does not see: jars, files, archives, another interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.domain import secrets
from pipelines.domain.files import is_module
from pipelines.domain.placeholders import CODE
from pipelines.domain.versions import Version

BESIDE = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles", "spark.yarn.dist")
"""Confs (their beginnings) that bring code and files along."""
BY_VERSION = ("spark.jars.packages", "spark.jars.repositories", "spark.jars.excludes", "spark.jars.ivy")
"""Those that name a version, so that equal names are equal bytes."""
ENVIRONMENT = ("spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv.", "spark.pyspark.")


def unplannable(old: Version, new: Version, *, is_noted: bool) -> str:
    """Why the code of `old` cannot be planned beside that of `new`; empty where it can. `is_noted`: what it stood on is known, and is
    compared afterwards."""
    if not old.code:
        return "its job was attached without its code"
    if is_noted:
        return ""
    if old.python != new.python:
        return f"it ran on the interpreter {old.python or 'of Tidemark'}, not on {new.python or 'that of Tidemark'}"
    if (old.requirements, old.pins) != (new.requirements, new.pins):
        return "it ran with other packages"
    return ""


def of(old: Version, new: Version) -> Iterator[str]:
    """Why nothing can be called the same, whatever is planned."""
    for key in sorted({**old.conf, **new.conf}):
        if key.startswith(BESIDE):
            yield from _brought(old, new, key)
        elif key.startswith(ENVIRONMENT) and old.conf.get(key) != new.conf.get(key):
            yield _other(key, old, new)
    for path in sorted({**old.files, **new.files}):
        if not is_module(path) and old.files.get(path) != new.files.get(path):
            yield f"The file {path} beside the script differs."


def _brought(old: Version, new: Version, key: str) -> Iterator[str]:
    was, now = old.conf.get(key, ""), new.conf.get(key, "")
    if was != now:
        yield _other(key, old, new)
    elif key not in BY_VERSION:
        for place in filter(None, now.split(",")):
            if CODE not in place and new.outside.get(place.partition("#")[0]) is None:
                yield f"{key} names {place}, whose bytes were not noted."


def _other(key: str, old: Version, new: Version) -> str:
    was, now = (secrets.shown(key, version.conf.get(key, "")) if version.conf.get(key) else "not set" for version in (old, new))
    return f"The conf {key} was {was}, is {now}."
