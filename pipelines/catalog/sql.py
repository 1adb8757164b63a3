"""Names and texts as DuckDB's SQL writes them, and its types of numbers."""

from __future__ import annotations

import re

NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))")
NEWEST_FIRST = "ORDER BY created_ms DESC, id DESC"


def quoted(name: str) -> str:
    """`name` as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as a string."""
    return "'" + text.replace("'", "''") + "'"
