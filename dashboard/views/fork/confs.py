"""Spark confs of a draft: as text, with the event log's apart, and those that change nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.errors import Invalid
from pipelines.domain.event_logs import ENABLED, is_on
from pipelines.domain.savepoints import Manifest


def settings(text: str) -> dict[str, str]:
    """Spark confs, one `name=value` a line; Invalid (`fork.confs`) for a line without `=`."""
    confs: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise Invalid("fork.confs", f"{line!r} is not a Spark conf", "Write one name=value a line.")
        confs[name.strip()] = value.strip()
    return confs


def confs_text(conf: Mapping[str, str]) -> str:
    """The confs as `settings` reads them."""
    return "\n".join(f"{name}={value}" for name, value in sorted(conf.items()))


def pinned(manifest: Manifest, conf: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Confs that would change nothing, because the savepoint pins them: name, what is asked for, what it stays."""
    return [
        (name, conf[name], value)
        for query in manifest.queries
        for name, value in query.conf.items()
        if name in conf and conf[name] != value
    ]


def without_event_log(conf: Mapping[str, str]) -> dict[str, str]:
    """The confs without the one that a box of the form stands for."""
    return {name: value for name, value in conf.items() if name != ENABLED}


def said_of_event_log(before: Mapping[str, str], is_kept: bool) -> str:
    """What that conf says once the box is ticked or not; as `before` where that is the same. A conf that a version has is not taken away
    but `false`: a command adds its confs to those that were."""
    value = before.get(ENABLED, "")
    return value if is_kept == is_on(value) else str(is_kept).lower()
