"""Reads files that Spark's CompressionCodec wrote. Their first bytes tell the codec; pyarrow has the codecs themselves."""

from __future__ import annotations

from typing import Any

from pipelines.checkpoint import damage

LZ4_MAGIC = b"LZ4Block"
SNAPPY_MAGIC = b"\x82SNAPPY\x00"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZF_MAGIC = b"ZV"
LZ4_HEADER = 21
SNAPPY_HEADER = 16
LZ4_RAW_METHOD = 0x10
BLOCK_LIMIT = 64 * 1024 * 1024


class Truncated(Exception):
    """The bytes end before what was asked for."""


def head(path: str, data: bytes, size: int) -> bytes:
    """The first `size` bytes of what `data` holds compressed; raises Truncated, Corrupt, Unsupported for an unknown codec."""
    if data.startswith(LZ4_MAGIC):
        return _gathered(path, data, size, 0, _lz4_block)
    if data.startswith(SNAPPY_MAGIC):
        return _gathered(path, data, size, SNAPPY_HEADER, _snappy_block)
    if data.startswith(ZSTD_MAGIC):
        return _zstd(path, data, size)
    if data.startswith(LZF_MAGIC):
        raise damage.not_supported(path, "it is compressed with LZF")
    raise damage.malformed(path, "its compression is none of lz4, zstd, snappy")


def is_known(data: bytes) -> bool:
    """Whether `data` begins as one of the codecs that Spark's state is compressed with."""
    return data.startswith((LZ4_MAGIC, SNAPPY_MAGIC, ZSTD_MAGIC, LZF_MAGIC))


def check(path: str, data: bytes) -> None:
    """Decompresses all of `data`; raises Corrupt for a broken or shortened stream, Unsupported for a codec that is not read here."""
    try:
        if data.startswith(LZ4_MAGIC):
            _through(path, data, 0, _lz4_block, marked=True)
        elif data.startswith(SNAPPY_MAGIC):
            _through(path, data, SNAPPY_HEADER, _snappy_block, marked=False)
        elif data.startswith(ZSTD_MAGIC):
            _zstd_through(path, data)
        else:
            head(path, data, 1)
    except Truncated as error:
        raise damage.malformed(path, "it ends too early") from error


def _through(path: str, data: bytes, position: int, next_block: Any, *, marked: bool) -> None:
    """Decompresses all blocks; where the codec marks the end, an empty block is the last."""
    while position < len(data):
        block, position = next_block(path, data, position)
        if marked and not block and position == len(data):
            return
    if marked:
        raise Truncated


def _zstd_through(path: str, data: bytes) -> None:
    import pyarrow

    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
            while stream.read(BLOCK_LIMIT):
                continue
    except (OSError, ValueError) as error:
        raise damage.malformed(path, "its zstd stream is broken") from error


def _gathered(path: str, data: bytes, size: int, position: int, next_block: Any) -> bytes:
    content = b""
    while len(content) < size:
        block, position = next_block(path, data, position)
        if not block:
            raise Truncated
        content += block
    return content[:size]


def _lz4_block(path: str, data: bytes, position: int) -> tuple[bytes, int]:
    """One block of net.jpountz LZ4BlockOutputStream: magic, token, compressed length, length, checksum, bytes."""
    header = data[position : position + LZ4_HEADER]
    if len(header) < LZ4_HEADER or not header.startswith(LZ4_MAGIC):
        raise Truncated
    packed, size = int.from_bytes(header[9:13], "little"), int.from_bytes(header[13:17], "little")
    end = position + LZ4_HEADER + packed
    body = data[position + LZ4_HEADER : end]
    if len(body) < packed:
        raise Truncated
    return (unpacked(path, "lz4_raw", body, size) if header[8] & 0xF0 != LZ4_RAW_METHOD else body), end


def _snappy_block(path: str, data: bytes, position: int) -> tuple[bytes, int]:
    """One block of xerial's SnappyOutputStream: big-endian length, then Snappy, which begins with its length unpacked."""
    packed = int.from_bytes(data[position : position + 4], "big")
    body = data[position + 4 : position + 4 + packed]
    if not packed or len(body) < packed:
        raise Truncated
    return unpacked(path, "snappy", body, _varint(body)), position + 4 + packed


def _varint(data: bytes) -> int:
    value = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    return value


def unpacked(path: str, codec: str, body: bytes, size: int) -> bytes:
    import pyarrow

    if size > BLOCK_LIMIT:
        raise damage.malformed(path, f"a block of {size} bytes")
    if size == 0:
        return b""
    try:
        return bytes(pyarrow.Codec(codec).decompress(body, decompressed_size=size, asbytes=True))
    except (OSError, ValueError) as error:
        raise damage.malformed(path, f"its {codec} block is broken") from error


def _zstd(path: str, data: bytes, size: int) -> bytes:
    """As much as the first bytes give: the stream may well be cut off after them."""
    import pyarrow

    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
            content = bytes(stream.read(size))
    except (OSError, ValueError) as error:
        raise damage.malformed(path, "its zstd stream is broken") from error
    if len(content) < size:
        raise Truncated
    return content
