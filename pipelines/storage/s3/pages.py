"""A page of a bucket's listing, read from the server's XML in a sixth of the time that botocore takes: it makes trees of it, and reads
each of its thousand dates by trying what notation it may be of."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote_plus
from xml.parsers.expat import ExpatError, ParserCreate

BEFORE_ALL = "before-parse.*.ListObjectsV2"
"""botocore calls who names no service before its own look at each answer, for which it makes a tree, too."""
OBJECTS = "Objects"
"""Where a page has what `shorten` took from its XML."""
CONTENTS = "Contents"


class Listed(NamedTuple):
    """One object: its key, its bytes, when it was written, its ETag without quotes."""

    key: str
    bytes: int
    modified_ms: int
    tag: str


def shorten(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Before botocore reads the answer to a ListObjectsV2: puts its objects among what will be the page, and leaves botocore the rest.
    What is no such XML it is left to refuse."""
    if response_dict["status_code"] != 200:
        return
    try:
        objects, rest = _read(response_dict["body"])
    except (ExpatError, LookupError, ValueError):
        return
    customized_response_dict[OBJECTS], response_dict["body"] = objects, rest


def _read(body: bytes) -> tuple[list[Listed], bytes]:
    """The objects of a page, and its XML without them. No tree of it is made: a thousand elements at a time, which refer to each other,
    have Python look for garbage again and again, which takes as long as reading them."""
    found: list[dict[str, str]] = []
    rest: list[bytes] = []
    fields: dict[str, str] = {}
    page, text, read = fields, "", 0
    parser = ParserCreate()
    parser.buffer_text = True

    def begin(name: str, _: object) -> None:
        nonlocal fields, text, read
        text = ""
        if name == CONTENTS:
            rest.append(body[read : parser.CurrentByteIndex])
            fields = {}

    def data(piece: str) -> None:
        nonlocal text
        text = piece

    def end(name: str) -> None:
        nonlocal fields, read
        if name == CONTENTS:
            found.append(fields)
            fields, read = page, body.index(b">", parser.CurrentByteIndex) + 1
        else:
            fields[name] = text

    parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = begin, data, end
    parser.Parse(body, True)
    rest.append(body[read:])
    decoded, moment = unquote_plus if page.get("EncodingType") == "url" else str, cache(_ms)
    objects = [
        Listed(decoded(each["Key"]), int(each["Size"]), moment(each["LastModified"]), each.get("ETag", "").strip('"')) for each in found
    ]
    return objects, b"".join(rest)


def _ms(text: str) -> int:
    """Epoch ms of a date as S3 writes it, or as botocore understands it."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        from botocore.utils import parse_timestamp

        return int(parse_timestamp(text).timestamp() * 1000)
