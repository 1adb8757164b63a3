"""Paths as Spark writes them into its logs of files: by Java's `URI`, whose text it compares, so that another spelling is another file."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

LEGAL = "/_-!.~'()*,;:$&+=@"
"""What Java's URI leaves as it is in a path, as it does what is beyond ASCII and is neither a space nor a control character."""
SPACES = ("Zs", "Zl", "Zp", "Cc")


def quoted(path: str) -> str:
    """A path as it stands in an address."""
    return "".join(character if _is_left(character) else quote(character, safe=LEGAL) for character in path)


def _is_left(character: str) -> bool:
    return ord(character) > 127 and unicodedata.category(character) not in SPACES


def address(path: str) -> str:
    """Of a file of this machine, by its absolute path: `file:///data/day=1/a%20b`."""
    return f"file://{quoted(path)}"


def path(address: str) -> str:
    """The path of an address of this machine (`file:/data/a%20b`), or of what is a path already."""
    return unquote(f"/{address.removeprefix('file:').lstrip('/')}") if address.startswith("file:") else address
