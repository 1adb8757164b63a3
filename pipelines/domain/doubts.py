"""What two versions have beside their scripts that planning does not see: jars, files, archives, another interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.domain import secrets
from pipelines.domain.files import is_module
from pipelines.domain.placeholders import CODE
from pipelines.domain.references import HADOOP
from pipelines.domain.versions import Version

BESIDE = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles", "spark.yarn.dist")
"""Confs (their beginnings) that bring code and files along."""
BY_VERSION = ("spark.jars.packages", "spark.jars.repositories", "spark.jars.excludes", "spark.jars.ivy")
"""Those that name a version, so that equal names are equal bytes."""
CLASS_PATH = re.compile(r"spark\.(driver|executor)\.(extraClassPath|extraLibraryPath)")
"""Confs that name jars, folders and all jars of a folder (`/lib/*`), between colons."""
OPTIONS = re.compile(r"spark\.(driver|executor)\.(extra|default)JavaOptions")
AGENT = re.compile(r"-(javaagent|agentpath|agentlib|Xbootclasspath|-patch-module)\b|@")
"""Begins an option that brings code along, or more options."""
"""Begins confs of Hadoop: where files lie, and how long a line of text may be."""
USER_FIRST = re.compile(r"spark\.(driver|executor)\.userClassPathFirst")
SPARKS = re.compile(
    r"spark\.(acls|admin|app|appStatusStore|appStateStore|api|authenticate|barrier|blockManager|broadcast|buffer|checkpoint|cleaner|connect"
    r"|cores|decommission|default|deploy|driver|dynamicAllocation|eventLog|excludeOnFailure|executor|extraListeners|history|io|job|kerberos"
    r"|kryo|kryoserializer|kubernetes|launcher|local|locality|log|logConf|master|maxRemoteBlockSizeFetchToMem|memory|metrics|modify|network|port|python|r|rdd|reducer"
    r"|redaction|repl|resources|rpc|scheduler|security|serializer|shuffle|speculation|sql|ssl|stage|standalone|storage|streaming|submit|task"
    r"|taskMetrics|ui|unsafe|user|worker|yarn)\b.*"
)
"""Confs of Spark's own that say where and how fast it runs, or that are compared elsewhere. All others are of connectors, which read where
and what they say (`spark.mongodb.read.connection.uri`)."""
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
            yield from _brought(old, new, key, [] if key in BY_VERSION else new.conf.get(key, "").split(","))
        elif CLASS_PATH.fullmatch(key):
            yield from _brought(old, new, key, new.conf.get(key, "").split(":"))
        elif OPTIONS.fullmatch(key):
            yield from _brought(old, new, key, [option for option in new.conf.get(key, "").split() if AGENT.match(option)])
        elif is_read(key) and old.conf.get(key) != new.conf.get(key):
            yield _other(key, old, new)
    for path in sorted({**old.files, **new.files}):
        if not is_module(path) and old.files.get(path) != new.files.get(path):
            yield f"The file {path} beside the script differs."


def is_connectors(key: str) -> bool:
    """Whether a conf is none of Spark's own."""
    return not SPARKS.fullmatch(key) and not key.startswith((*BESIDE, *ENVIRONMENT, HADOOP))


def is_read(key: str) -> bool:
    """Whether a conf may say which rows are read, or what code gets, beside those of Spark SQL."""
    return key.startswith((*ENVIRONMENT, HADOOP)) or bool(USER_FIRST.fullmatch(key)) or not SPARKS.fullmatch(key)


def _brought(old: Version, new: Version, key: str, places: list[str]) -> Iterator[str]:
    """Of a conf whose value names `places` of code: that it is another, or that their bytes are, or were not noted."""
    if old.conf.get(key, "") != new.conf.get(key, ""):
        yield _other(key, old, new)
        return
    for place in places:
        path = place.partition("#")[0]
        was, now = old.outside.get(path), new.outside.get(path)
        if place and CODE not in place and (was is None or now is None):
            yield f"{key} names {place}, whose bytes were not noted."
        elif was != now:
            yield f"{key} names {place}, whose bytes are others."


def _other(key: str, old: Version, new: Version) -> str:
    was, now = (secrets.shown(key, version.conf.get(key, "")) if version.conf.get(key) else "not set" for version in (old, new))
    return f"The conf {key} was {was}, is {now}."
