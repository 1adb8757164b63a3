"""Input rows of a batch in words: how many are shown of a source, and what is not. Pure."""

from __future__ import annotations

from pipelines.domain.input_rows import MOST_CHARS, SourceRows
from pipelines.words import formats


def amount(source: SourceRows) -> str:
    """`100 rows, the batch has more; 2 values cut after 500 characters`; why there is none."""
    if source.problem and not source.rows:
        return f"no rows: {source.problem}"
    count = formats.plural(len(source.rows), "row")
    parts = [f"{count}, the batch has more" if source.more else count]
    if source.cut:
        parts.append(f"{formats.plural(source.cut, 'value')} cut after {MOST_CHARS} characters")
    if source.columns_left_out:
        parts.append(f"{formats.plural(source.columns_left_out, 'column')} more not shown")
    return "; ".join([*parts, *filter(None, [source.problem])])
