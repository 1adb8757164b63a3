"""The position up to which each of the workspace's growing files was read, noted in the transaction that holds its rows."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, replace

_COLUMNS = {"path": TEXT, "byte_offset": WHOLE}


def positions(reader: Reader) -> dict[str, int]:
    """File (relative to the workspace) -> bytes of it that are in the catalog."""
    return dict(reader.execute("SELECT path, byte_offset FROM tails").fetchall())


def advance(writer: Writer, consumed: Mapping[str, int]) -> None:
    """Note that each file was read up to that byte."""
    replace(writer, "tails", _COLUMNS, ["path"], list(consumed.items()))


def forget(writer: Writer, folder: str) -> None:
    """Drop the positions of the file `folder`, and of all files below it."""
    writer.execute("DELETE FROM tails WHERE path = ? OR starts_with(path, ?)", [folder, f"{folder.rstrip('/')}/"])
