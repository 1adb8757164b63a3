"""Values of confs that may be secrets, by Spark's own rule: never shown. What is shown in their place may be sent back, and means them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pipelines.domain.errors import Invalid

V = TypeVar("V")
MASK = "*********(redacted)"
"""What Spark shows (`Utils.REDACTION_REPLACEMENT_TEXT`)."""
LEAST_BYTES = 6
"""A value that is shorter is not looked for in texts: it stands there by chance."""
SECRET = re.compile(r"(?i)secret|password|token|access[.]?key")
"""The default of `spark.redaction.regex`. As in Spark, a value is a secret where its name or the value itself has one of these words."""


def shown(name: str, value: V) -> V | str:
    """The value of a conf as it may be shown; what is no text is none."""
    return MASK if isinstance(value, str) and (SECRET.search(name) or SECRET.search(value)) else value


def masked(conf: Mapping[str, str]) -> dict[str, str]:
    """Confs as they may be shown."""
    return {name: shown(name, value) for name, value in conf.items()}


def values(conf: Mapping[str, str]) -> tuple[bytes, ...]:
    """The secret values of `conf` as they may stand in a text, the longest first; a short one, such as `true`, is no secret there."""
    kept = {value.encode() for name, value in conf.items() if shown(name, value) == MASK and value != MASK}
    return tuple(sorted((value for value in kept if len(value) >= LEAST_BYTES), key=lambda value: (-len(value), value)))


def starred(data: bytes, secret: Sequence[bytes]) -> bytes:
    """`data` with as many asterisks in place of each secret value: every other byte keeps its place. Those that overlap are all found, so
    that any two cuts of one text agree."""
    if not secret:
        return data
    covered = bytearray(data)
    for value in secret:
        at = data.find(value)
        while at >= 0:
            covered[at : at + len(value)] = b"*" * len(value)
            at = data.find(value, at + 1)
    return bytes(covered)


def unmasked(conf: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Confs that somebody sends back: what was shown in place of a secret is its value in `before`; Invalid (`conf.masked`) where that has
    none."""
    for name, value in conf.items():
        if value == MASK and name not in before:
            raise Invalid("conf.masked", f"The value of {name} is only what is shown in its place", "Give the value itself.")
    return {name: before[name] if value == MASK else value for name, value in conf.items()}
