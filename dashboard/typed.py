"""What people type into the forms of jobs and forks, as values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass

from pipelines.domain.errors import Invalid
from pipelines.domain.resources import Resources, cpus_of, size_bytes, spelt_bytes


def free_name(name: str, taken: Collection[str], suffix: str = "") -> str:
    """`name`, with the suffix or a number after it where that is taken."""
    base = f"{name}_{suffix}" if suffix else name
    numbered = (f"{base}_{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(name for name in numbered if name not in taken)


def words(text: str) -> tuple[str, ...]:
    """Arguments as a shell would read them; Invalid (`form.arguments`) for a quote that does not end."""
    try:
        return tuple(shlex.split(text.replace("\n", " ")))
    except ValueError as error:
        raise Invalid("form.arguments", f"The arguments cannot be read: {error}", "Close the quote, or leave it out.") from error


_QUERY = re.compile(r"""\.queryName\(\s*(["'])(?P<name>[^"'\n]+)\1\s*\)""")


def query_names(code: str) -> tuple[str, ...]:
    """Names that `code` gives its streaming queries as plain text, in order: a hint only, for the driver sees what really starts."""
    return tuple(dict.fromkeys(match["name"] for match in _QUERY.finditer(code)))


def names(text: str) -> tuple[str, ...]:
    """Names apart by commas or blanks."""
    return tuple(dict.fromkeys(re.findall(r"[^\s,]+", text)))


@dataclass(frozen=True)
class Limits:
    """Limits on memory and processors; an empty text is no limit."""

    memory: str = ""
    cpus: str = ""

    @classmethod
    def of(cls, own: Resources) -> Limits:
        """As somebody would type what a job may take."""
        return cls(spelt_bytes(own.memory_bytes) if own.memory_bytes else "", f"{own.cpus}".removesuffix(".0") if own.cpus else "")

    def differing(self, own: Resources) -> tuple[int | None, float | None]:
        """Bytes and processors that differ from `own`, 0 for no limit; None for what is the same. Raises Invalid (`resources.size`,
        `resources.cpus`)."""
        memory_bytes = size_bytes(self.memory) if self.memory.strip() else 0
        cpus = cpus_of(self.cpus) if self.cpus.strip() else 0.0
        return None if memory_bytes == (own.memory_bytes or 0) else memory_bytes, None if cpus == (own.cpus or 0.0) else cpus
