"""RocksDB's SST files (BlockBasedTable): the checksum that each block carries, for a file that no other checksum vouches for.

The layout is that of RocksDB's `table/format.cc` and `block_builder.cc`: blocks, each followed by a byte for its compression and four
for its checksum, then a footer that leads to two of them. One names the blocks of its own (properties, filter), the other those of the
data. Spark writes format 5 with XXH3 checksums; of another one nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.checkpoint import compression, damage

SUFFIX = ".sst"
MAGIC = bytes.fromhex("f7cff485b741e288")
FOOTER_BYTES = 53
FORMATS = range(2, 6)
"""Formats whose footer and checksums are read here; later ones mix the block's place into its checksum."""
XXH3 = 4
LAST_BYTE_FACTOR = 0x6B9083D9
TRAILER_BYTES = 5
PLAIN, LZ4 = 0, 4
PROPERTIES = b"rocksdb.properties"
INDEX_TYPE, BINARY_SEARCH = b"rocksdb.block.based.table.index.type", bytes(4)
DELTAS = b"rocksdb.index.value.is.delta.encoded"


class Handle(NamedTuple):
    """Where a block is; without its trailer."""

    offset: int
    size: int


class _Ended(Exception):
    """What is read ends in the middle of a value."""


def check(path: str, data: bytes) -> None:
    """Reads every block of an SST; raises Corrupt where one is not what was written, Unsupported for a kind of table not known here."""
    if len(data) < FOOTER_BYTES or not data.endswith(MAGIC):
        raise damage.malformed(path, "it does not end as a RocksDB table does")
    footer = data[-FOOTER_BYTES:]
    if footer[0] != XXH3 or int.from_bytes(footer[-12:-8], "little") not in FORMATS:
        raise damage.not_supported(path, "it is of another format of RocksDB's tables")
    try:
        own, at = _handle(footer, 1)
        index, _ = _handle(footer, at)
        _check_blocks(path, data, own, index)
    except _Ended as error:
        raise damage.not_supported(path, "its blocks are laid out in another way") from error


def _check_blocks(path: str, data: bytes, own: Handle, index: Handle) -> None:
    named = {key: _handle(value, 0)[0] for key, value in _pairs(_content(path, data, own))}
    contents = {name: _block(path, data, handle) for name, handle in named.items()}
    properties = dict(_pairs(contents.get(PROPERTIES, b"")))
    if properties.get(INDEX_TYPE) != BINARY_SEARCH:
        raise damage.not_supported(path, "its index is of another kind")
    for handle in _indexed(_content(path, data, index), properties.get(DELTAS) == b"\1"):
        _block(path, data, handle)


def _block(path: str, data: bytes, handle: Handle) -> bytes:
    """The bytes of a block as they are; raises Corrupt where they are not what was written."""
    import xxhash

    end = handle.offset + handle.size
    if end + TRAILER_BYTES > len(data) - FOOTER_BYTES:
        raise damage.malformed(path, f"a block at {handle.offset} lies outside of it")
    checksum = xxhash.xxh3_64_intdigest(data[handle.offset : end]) ^ data[end] * LAST_BYTE_FACTOR
    if checksum & 0xFFFFFFFF != int.from_bytes(data[end + 1 : end + TRAILER_BYTES], "little"):
        raise damage.malformed(path, f"its bytes from {handle.offset} to {end} are not what was written")
    return data[handle.offset : end]


def _content(path: str, data: bytes, handle: Handle) -> bytes:
    """A block, checked and decompressed."""
    block, kind = _block(path, data, handle), data[handle.offset + handle.size]
    if kind == PLAIN:
        return block
    if kind != LZ4:
        raise damage.not_supported(path, "its index is compressed in another way")
    size, at = _varint(block, 0)
    return compression.unpacked(path, "lz4_raw", block[at:], size)


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key begins with so many bytes of the one before."""
    key, at, end = b"", 0, _entries_end(block)
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        size, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        yield key, block[at + fresh : at + fresh + size]
        at += fresh + size


def _indexed(block: bytes, deltas: bool) -> Iterator[Handle]:
    """The data blocks that an index names. With `deltas` one whose key shares bytes with that before only says how its size differs."""
    if not deltas:
        yield from (_handle(value, 0)[0] for _, value in _pairs(block))
        return
    last, at, end = Handle(0, 0), 0, _entries_end(block)
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        last, at = _follower(block, at + fresh, last) if shared else _handle(block, at + fresh)
        yield last


def _follower(block: bytes, at: int, last: Handle) -> tuple[Handle, int]:
    zigzag, at = _varint(block, at)
    return Handle(last.offset + last.size + TRAILER_BYTES, last.size + (zigzag >> 1 ^ -(zigzag & 1))), at


def _entries_end(block: bytes) -> int:
    """Where a block's entries end: a list of places to begin at follows them, and its length."""
    places = int.from_bytes(block[-4:], "little")
    return len(block) - 4 * (places + 1) if block else 0


def _handle(data: bytes, at: int) -> tuple[Handle, int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return Handle(offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _Ended
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise _Ended
