"""The files that a version has beside its script: where they are, and their content as text or, of what is none, as base64."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.texts import CODE, MOST_ITEMS, is_plain

PUT_BACK = "The workspace does not keep it: put it back"
BASE64 = "data:;base64,"
"""How the content of a file begins that is no plain text (RFC 2397)."""
MOST_PATH = 1_000
MOST_NAME = 255


def packed(data: bytes) -> str:
    """`data` as a version holds it; every content has one form alone, so that equal files give equal ids."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _in_base64(data)
    return text if is_plain(text) and not text.startswith(BASE64) else _in_base64(data)


def content(packed: str) -> bytes:
    """The bytes of a file; ValueError for what `packed` never makes."""
    if not packed.startswith(BASE64):
        return packed.encode()
    try:
        data = base64.b64decode(packed[len(BASE64) :].encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(f"it is no base64: {error}") from error
    if _in_base64(data) != packed:
        raise ValueError("it is not base64 as RFC 4648 writes it")
    return data


def text(packed: str) -> str | None:
    """The text of a file; None of one that is no text."""
    return None if packed.startswith(BASE64) else packed


def problem(script: str, code: str, files: Mapping[str, str]) -> str:
    """Why these cannot be the files of a version; empty where they can."""
    size = len(code) + sum(map(len, files.values()))
    if len(files) > MOST_ITEMS:
        return f"there are {len(files):,} files beside the script; a version has at most {MOST_ITEMS:,}"
    if size > CODE.most:
        largest = max(files, key=lambda path: len(files[path]))
        return f"script and files have {size:,} characters, {largest} most of them; a version has at most {CODE.most:,}"
    return next(_problems(script, files), "")


def _problems(script: str, files: Mapping[str, str]) -> Iterator[str]:
    folders = {folder for path in files for folder in _folders(path)}
    for path, packed in files.items():
        if not is_relative(path):
            yield f"{path[:MOST_PATH]!r} is no path below the script's folder"
        if path == script or path in folders or script in _folders(path):
            yield f"{path!r} is in the way of another file"
        try:
            content(packed)
        except ValueError as error:
            yield f"the content of {path!r} cannot be read: {error}"


def is_relative(path: str) -> bool:
    """Whether `path` leads to a file below a folder, whatever the system: no root, no way up, no other separator, no control character."""
    parts = path.split("/")
    return (
        len(path) <= MOST_PATH
        and "\\" not in path
        and "\n" not in path
        and "\t" not in path
        and is_plain(path)
        and all(part not in ("", ".", "..") and len(part.encode()) <= MOST_NAME for part in parts)
    )


def is_digest(path: str, digest: str) -> bool:
    """Whether these can be a file outside of a version and its SHA-256."""
    return path.startswith("/") and len(digest) == 64 and not digest.strip("0123456789abcdef")


def outside_gone(path: str, digest: str) -> NotFound:
    """The error for a file outside of a version that is not there."""
    message = f"{path}, which this version knows by its SHA-256 ({digest}), is not there."
    return NotFound("code.outside_gone", message, f"{PUT_BACK}, or name another place of it: --files, --archives or --jars.")


def outside_changed(path: str, present: str, digest: str) -> Conflict:
    """The error for a file outside of a version that is another one now."""
    message = f"{path} is not what it was: its SHA-256 is {present}, not {digest}."
    return Conflict("code.outside_changed", message, f"{PUT_BACK} as it was, or begin with the new one, which makes another version.")


def names_path(text: str, path: str) -> bool:
    """Whether an argument or a conf names the file at `path`, among others, as a `file:` URL, or with a name behind `#`."""
    return _named(path).search(text) is not None


def moved(text: str, places: Mapping[str, str]) -> str:
    """An argument or a conf that names files (keys of `places`) with the places where they are."""
    for path, place in places.items():
        text = _named(path).sub(lambda _, place=place: place, text)  # type: ignore[misc]
    return text


def _named(path: str) -> re.Pattern[str]:
    """`path` where no letter makes it another path's beginning or end."""
    return re.compile(rf"(?<![\w.-]){re.escape(path)}(?![\w./-])")


def is_module(path: str) -> bool:
    """Whether Python could import it: a template of a module usually has a name that is none."""
    return path.endswith(".py") and all(part.isidentifier() for part in path.removesuffix(".py").split("/"))


def changed(old: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """`old` with `changes` by path; None takes a file away."""
    return {path: text for path, text in {**old, **changes}.items() if text is not None}


def instead_of(old: Iterable[str], new: Mapping[str, str | None]) -> dict[str, str | None]:
    """The changes by path that put `new` in the place of all files of `old`."""
    return {**dict.fromkeys(old), **new}


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _in_base64(data: bytes) -> str:
    return BASE64 + base64.b64encode(data).decode()
