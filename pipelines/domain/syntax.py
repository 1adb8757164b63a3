"""What a script is written in: Python's syntax, read by one thread at a time, or a SQL job's."""

from __future__ import annotations

import ast
import threading

from pipelines.domain import sql_jobs
from pipelines.domain.errors import Invalid

_READING = threading.Lock()
"""Python 3.11 counts how deep all threads together are in building syntax trees, and raises SystemError where two do."""


def tree(code: str | bytes) -> ast.Module:
    """The syntax tree of `code`; raises what `ast.parse` raises. It is told no name: Python would quote a line of the file that has it here
    as the wrong one."""
    with _READING:
        return ast.parse(code, "")


def check(code: str | bytes, filename: str) -> None:
    """Raises SyntaxError with the line where `code` is not what a file of this name has to be; ValueError for null bytes."""
    if sql_jobs.is_sql(filename):
        sql_jobs.check(code.decode(errors="replace") if isinstance(code, bytes) else code, filename)
    else:
        tree(code)


def refuse(code: str | bytes, filename: str) -> None:
    """Raises Invalid (`code.syntax`) with the line and its text where `code` is no Python, or no SQL job."""
    try:
        check(code, filename)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise Invalid("code.syntax", f"{filename}, line {error.lineno}: {error.msg}: {line}", "Correct the line and try again.") from error
    except ValueError as error:
        raise Invalid("code.syntax", f"{filename}: {error}", "Remove the null bytes; Python source is text.") from error


def title(code: str, filename: str) -> str:
    """What a script says of itself: its docstring, or the comment that a SQL file begins with. SyntaxError where Python cannot be read."""
    return sql_jobs.title(code) if sql_jobs.is_sql(filename) else ast.get_docstring(tree(code)) or ""
