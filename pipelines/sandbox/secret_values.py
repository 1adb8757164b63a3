"""Secrets that a version refers to, as the server sees them: with the environment and the rights that the job's code has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.domain import references, secrets
from pipelines.domain.errors import Unavailable
from pipelines.domain.versions import Version
from pipelines.sandbox import environment
from pipelines.storage import file_rights, users


def refuse(version: Version) -> None:
    """Raises Unavailable (`secret.missing`, `secret.unreadable`) for one that its driver would not get."""
    for text in (*version.args, *version.conf.values()):
        _values(text)


def put_in(text: str) -> str:
    """`text` with the values; raises Unavailable (`secret.missing`, `secret.unreadable`)."""
    return references.resolved(text, users.environ(environment.inherited()), file_rights.read_for_job)


def hidden(conf: Mapping[str, str], args: Sequence[str] = ()) -> tuple[bytes, ...]:
    """What must not be shown of the log of code that has these: literal secrets, and the values that are there now, the longest first."""
    found: list[str] = []
    for text in (*args, *conf.values()):
        try:
            found += _values(text)
        except Unavailable:
            continue  # no value is there, so none can be looked for
    return secrets.hidden(conf, args, found)


def _values(text: str) -> tuple[str, ...]:
    return tuple(references.values((text,), users.environ(environment.inherited()), file_rights.read_for_job))
