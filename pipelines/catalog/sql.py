"""Names and texts as DuckDB's SQL writes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """`name` as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as a string."""
    return "'" + text.replace("'", "''") + "'"
