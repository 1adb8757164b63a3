"""What people type into the forms of jobs and forks, as values."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from pipelines.domain.errors import Invalid


def free_name(wanted: str, taken: Collection[str], suffix: str = "") -> str:
    """`wanted`, with the suffix or a number after it where that is taken."""
    base = f"{wanted}_{suffix}" if suffix else wanted
    numbered = (f"{base}_{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(name for name in numbered if name not in taken)


def words(text: str) -> tuple[str, ...]:
    """Arguments as a shell would read them; Invalid (`form.arguments`) for a quote that does not end."""
    try:
        return tuple(shlex.split(text.replace("\n", " ")))
    except ValueError as error:
        raise Invalid("form.arguments", f"The arguments cannot be read: {error}", "Close the quote, or leave it out.") from error
