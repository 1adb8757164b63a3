"""What people type into the forms of jobs and forks, as values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from pipelines.domain.errors import Invalid


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
