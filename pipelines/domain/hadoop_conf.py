"""Hadoop's configuration as Spark finds it: files in the folders that two variables name, and confs of the job, which win."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit
from xml.etree import ElementTree

from pipelines.domain.errors import Invalid, Unavailable

FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables; Spark's launcher puts their folders on its class path, in this order."""
CORE_SITE, YARN_SITE = "core-site.xml", "yarn-site.xml"
PREFIX = "spark.hadoop."
"""Of confs of Spark that are Hadoop's."""
DEFAULT_FS = ("fs.defaultFS", "fs.default.name")
"""Where a path without a scheme lies; the second is what it was called before."""
LOCAL = "file:///"
LOCAL_CONF = {f"{PREFIX}{DEFAULT_FS[0]}": LOCAL}
"""Of a Spark that works on files of this machine alone."""
MANAGER = f"{PREFIX}yarn.resourcemanager."
"""Begins the confs that name YARN's resource manager."""

Read = Callable[[str], bytes | None]
"""The content of a file by its path; None where there is none."""


def folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of Hadoop's configuration, the one that wins first."""
    return tuple(environment[name].rstrip("/") for name in FOLDERS if environment.get(name))


def default_fs(conf: Mapping[str, str], environment: Mapping[str, str], read: Read) -> str:
    """Where Hadoop looks for a path without a scheme. Raises Invalid (`hadoop.conf`) for a `core-site.xml` that is no XML."""
    file_systems = [conf[f"{PREFIX}{name}"] for name in DEFAULT_FS if conf.get(f"{PREFIX}{name}")]
    if file_systems:
        return file_systems[0]
    files = (f"{folder}/{CORE_SITE}" for folder in folders(environment))
    path, content = next(((path, content) for path in files if (content := read(path)) is not None), ("", None))
    return _default_fs(path, content) if content is not None else LOCAL


def settings(conf: Mapping[str, str], environment: Mapping[str, str], read: Read, files: Sequence[str]) -> dict[str, str]:
    """What `files` of Hadoop's configuration and confs of a job say together. Raises Invalid (`hadoop.conf`) for one that is no XML."""
    values: dict[str, str] = {}
    for path in [f"{folder}/{file}" for folder in reversed(folders(environment)) for file in files]:
        content = read(path)
        values |= _values(path, content) if content is not None else {}
    return values | {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}


def is_local(default: str) -> bool:
    """Whether a path without a scheme is one of this machine."""
    return urlsplit(default).scheme == "file"


def located(path: str, default: str) -> str:
    """`path` as Hadoop finds it wherever its default is: one of this machine is told to be that, where others are not."""
    return f"file:{path}" if path.startswith("/") and not is_local(default) else path


def refuse_without_yarn(conf: Mapping[str, str], environment: Mapping[str, str], is_file: Callable[[str], bool]) -> None:
    """Raises Unavailable (`master.yarn`) where Spark would not find YARN: no variable names the folder of its configuration, or
    the folder has none."""
    places = folders(environment)
    if not places:
        message = f"Nothing says where YARN is: neither {' nor '.join(FOLDERS)} is set in the server's environment"
        hint = f"Start the server with {FOLDERS[0]} set to the folder of the cluster's {CORE_SITE} and {YARN_SITE}."
        raise Unavailable("master.yarn", message, hint)
    if not any(is_file(f"{folder}/{YARN_SITE}") for folder in places) and not any(key.startswith(MANAGER) for key in conf):
        message = f"There is no {YARN_SITE} in {' or '.join(places)}, so nothing says where YARN is"
        raise Unavailable("master.yarn", message, f"Set {FOLDERS[0]} to the folder that has the cluster's {YARN_SITE}.")


def _values(path: str, content: bytes) -> dict[str, str]:
    try:
        properties = ElementTree.fromstring(content).iter("property")
    except ElementTree.ParseError as error:
        raise Invalid("hadoop.conf", f"{path} is no XML: {error}", "Correct it: Hadoop cannot read it either.") from error
    return {each.findtext("name", "").strip(): each.findtext("value", "").strip() for each in properties}


def _default_fs(path: str, content: bytes) -> str:
    values = _values(path, content)
    return next((values[name] for name in DEFAULT_FS if values.get(name)), LOCAL)
