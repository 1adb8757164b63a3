"""Secrets that a version refers to, as the server sees them: with the environment and the rights that the job's code has."""

from __future__ import annotations

from pipelines.domain import references, secrets
from pipelines.domain.errors import Unavailable
from pipelines.domain.versions import Version
from pipelines.sandbox import environment
from pipelines.storage import file_rights, users


def refuse(version: Version) -> None:
    """Raises Unavailable (`secret.missing`, `secret.unreadable`) for one that its driver would not get."""
    for text in (*version.args, *version.conf.values()):
        _values(text)


def hidden(version: Version) -> tuple[bytes, ...]:
    """What must not be shown of the driver's log: literal secrets, and the values that are there now, the longest first."""
    found = set(secrets.of_version(version.conf, version.args))
    for text in (*version.args, *version.conf.values()):
        try:
            found.update(value.encode() for value in _values(text))
        except Unavailable:
            continue  # no value is there, so none can be looked for
    return tuple(sorted((value for value in found if len(value) >= secrets.LEAST_BYTES), key=lambda value: (-len(value), value)))


def _values(text: str) -> tuple[str, ...]:
    return tuple(references.values((text,), users.environ(environment.inherited()), file_rights.read_for_job))
