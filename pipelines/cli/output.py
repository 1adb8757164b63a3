"""Output of commands: data on stdout (JSON, or tables aligned for people), narration and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.domain import texts
from pipelines.domain.errors import TidemarkError

if TYPE_CHECKING:
    from pipelines.domain.audit import AuditLine
    from pipelines.domain.jobs import Event

COLOURS = {
    "running": "green",
    "failed": "red",
    "stopping": "yellow",
    "starting": "yellow",
    "wanted": "yellow",
    "damaged": "red",
    "proved": "green",
}
_narrates_in_json: ContextVar[bool] = ContextVar("narrates_in_json", default=False)


@dataclass(frozen=True)
class Table:
    """Rows of text under titles; a title that ends in '>' is of a column aligned to the right. A cell is one line, whatever is in it."""

    titles: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def plain(self) -> str:
        """Columns two spaces apart, for pipes and files."""
        heads = [title.rstrip(">") for title in self.titles]
        lines = [heads, *([texts.shown_in_line(cell) for cell in row] for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
        return "\n".join(self._line(line, widths) for line in lines)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        aligned = [
            cell.rjust(width) if title.endswith(">") else cell.ljust(width)
            for title, cell, width in zip(self.titles, cells, widths, strict=True)
        ]
        return "  ".join(aligned).rstrip()


def any_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of any columns as a table."""
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    return Table(columns, [[str(row.get(column, "")) for column in columns] for row in rows]).plain()


def details(pairs: Iterable[tuple[str, str]]) -> str:
    """`name   value` lines, aligned."""
    lines = list(pairs)
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in lines)


def print_human(shown: str | Table) -> None:
    """A text as it is (nothing for an empty one); a table in colours on a terminal, plainly elsewhere."""
    if isinstance(shown, Table) and sys.stdout.isatty():
        _print_rich(shown)
        return
    text = shown.plain() if isinstance(shown, Table) else shown
    if text:
        print_text(f"{text}\n")


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """`value` (domain values, or lists and dicts of them) as JSON; with `indent` None on one line."""
    from pipelines.storage.documents import plain

    print(_json(plain(value), indent), flush=True)


def print_text(text: str) -> None:
    """`text` on stdout, its control characters escaped: a job's log, or a name from elsewhere, never steers a terminal."""
    print(texts.shown(text), end="", flush=True)


def _json(value: Any, indent: int | None = None) -> str:
    """JSON with letters of all scripts as they are, and every control character escaped."""
    return texts.escaped_in_json(json.dumps(value, indent=indent, ensure_ascii=False))


def with_fields(value: Any, **more: Any) -> dict[str, Any]:
    """A domain value as a dict of JSON values, with more fields beside its own."""
    from pipelines.storage.documents import plain

    return {**plain(value), **{name: None if field is None else plain(field) for name, field in more.items()}}


@contextmanager
def narrating(*, as_json: bool) -> Iterator[None]:
    """Within it, narration is lines of JSON where that was asked for."""
    before = _narrates_in_json.set(as_json)
    try:
        yield
    finally:
        _narrates_in_json.reset(before)


def tell(text: str) -> None:
    """Prints a line of narration on stderr; as JSON `{"note": text}`."""
    _print_beside(_json({"note": text}) if _narrates_in_json.get() else text)


def tell_more(rows: Sequence[Event | AuditLine], limit: int, sort: str) -> None:
    """Tells how to go on behind `rows` of a list with such a limit and order, where they may not be all."""
    if len(rows) == limit:
        tell(f"{'More' if sort else 'Older ones'}: --before {rows[-1].cursor}")


def print_error(error: TidemarkError, *, as_json: bool) -> None:
    """`error:` and `hint:` lines, or the JSON of the error, on stderr: stdout holds data only."""
    if as_json:
        _print_beside(_json(error.as_json()))
        return
    tell(f"error: {error.message}")
    if error.hint:
        tell(f"hint: {error.hint}")


def _print_beside(line: str) -> None:
    print(texts.shown(line), file=sys.stderr, flush=True)


def _print_rich(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold")
    for title in table.titles:
        drawn.add_column(title.rstrip(">"), justify="right" if title.endswith(">") else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(texts.shown_in_line(cell), style=COLOURS.get(cell, "")) for cell in row))
    Console().print(drawn)
