"""Python's syntax, read by one thread at a time."""

from __future__ import annotations

import ast
import threading

_READING = threading.Lock()
"""Python 3.11 counts how deep all threads together are in building syntax trees, and raises SystemError where two do."""


def tree(code: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """The syntax tree of `code`; raises what `ast.parse` raises."""
    with _READING:
        return ast.parse(code, filename)
