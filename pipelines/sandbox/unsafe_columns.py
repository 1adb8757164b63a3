"""Rows as Spark keeps them in state (`unsafe_rows`) under other columns: bytes that mean the same are copied as they are."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipelines.domain.struct_columns import Column
from pipelines.sandbox.unsafe_rows import LONG_DECIMAL_BYTES, SMALL_DECIMAL, WORD, CannotEncode
from pipelines.sandbox.unsafe_rows import word as form

BEHIND = ("string", "binary", "variant")
"""Types that stand behind the words; so do structs, arrays and maps, decimals of many digits, and intervals of months, days and
microseconds: of these two something stands there even where they are null."""


def changed(columns: Sequence[Column], before: int) -> Callable[[bytes], bytes]:
    """What makes a row of `columns` of an old one, which had `before` columns; raises CannotEncode for a type that is not known."""
    bits, old_bits = (WORD * ((number + 63) // 64) for number in (len(columns), before))
    size = bits + WORD * len(columns)
    sorts = [_sort(column.kind) for column in columns]
    inner = [changed(column.inner, len(column.was["fields"])) if column.inner is not None else None for column in columns]

    def change(row: bytes) -> bytes:
        fixed, behind = bytearray(size), bytearray()
        for place, column in enumerate(columns):
            at, sort, word = column.at, sorts[place], bits + WORD * place
            if at is None or row[at // 8] >> at % 8 & 1:
                fixed[place // 8] |= 1 << place % 8
                if sort == "reserved":
                    struct.pack_into("<q", fixed, word, (size + len(behind)) << 32)
                    behind += bytes(LONG_DECIMAL_BYTES)
                continue
            was = old_bits + WORD * at
            if sort == "fixed" and column.was != column.kind:
                struct.pack_into(form(column.kind), fixed, word, struct.unpack_from(form(column.was), row, was)[0])
            elif sort == "fixed":
                fixed[word : word + WORD] = row[was : was + WORD]
            else:
                where = struct.unpack_from("<q", row, was)[0]
                offset, length = where >> 32, where & 0xFFFFFFFF
                converter = inner[place]
                data = row[offset : offset + length] if converter is None else converter(row[offset : offset + length])
                struct.pack_into("<q", fixed, word, (size + len(behind)) << 32 | len(data))
                behind += data.ljust(LONG_DECIMAL_BYTES if sort == "reserved" else -(-len(data) // WORD) * WORD, b"\0")
        return bytes(fixed + behind)

    return change


def _sort(kind: Any) -> str:
    if isinstance(kind, Mapping) and kind.get("type") in ("struct", "array", "map"):
        return "behind"
    if isinstance(kind, str):
        if form(kind) or kind == "void":
            return "fixed"
        if kind in BEHIND or kind.startswith("string collate "):
            return "behind"
        if kind == "interval":
            return "reserved"
        if kind.startswith("decimal("):
            return "fixed" if int(kind.removeprefix("decimal(").partition(",")[0]) <= SMALL_DECIMAL else "reserved"
    raise CannotEncode(f"the type {kind} is not known to be kept in a word or behind one")
