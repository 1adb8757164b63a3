"""Domain values as JSON documents: one way to write them, one way to read them with their types and bounds checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NewType, TypeVar, cast

from pipelines.domain.bounds import Format
from pipelines.domain.errors import Corrupt, Unsupported

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


@dataclass(frozen=True)
class Numbered:
    """The one field that documents of every format have."""

    format: Format


def encode(value: Any) -> bytes:
    """`value` (a domain dataclass, or a list or dict of them) as UTF-8 JSON."""
    return _adapter(type(value)).dump_json(value, indent=1) + b"\n"


def encode_line(value: Any) -> str:
    """`value` as JSON in one line, without its end."""
    return _adapter(type(value)).dump_json(value).decode()


def plain(value: Any) -> Any:
    """`value` as dicts, lists and JSON scalars."""
    return _adapter(type(value)).dump_python(value, mode="json")


def decode(kind: type[T], data: bytes | str, name: str, newest: int | None = None) -> T:
    """The `kind` that `data` describes; Corrupt (`document.malformed`) naming `name` where it does not, or passes a bound of a field.

    With `newest` the format is looked at first, because a newer one may have other fields: Unsupported (`savepoint.newer_format`).
    """
    if newest is not None:
        _refuse_newer(data, name, newest)
    return cast(T, _validated(name, lambda: _adapter(kind).validate_json(data)))


def parse(data: bytes) -> Any:
    """The JSON in `data` as dicts, lists and scalars, in half the time that Python's own reader takes; ValueError where it is none, is
    nested too deeply, or has text that is no Unicode."""
    from pydantic_core import from_json

    return from_json(data)


def compact(value: Any) -> str:
    """What `parse` answered as JSON in one line, in a quarter of the time that Python's own writer takes; NaN and infinite numbers are
    written as Python names them, and ValueError is raised for text that is no Unicode."""
    from pydantic_core import to_json

    return to_json(value).decode()


def made(kind: type[T], fields: Mapping[str, Any], name: str) -> T:
    """The `kind` with those fields, their types and bounds checked; Corrupt like `decode`."""
    return cast(T, _validated(name, lambda: _adapter(kind).validate_python(fields)))


def _refuse_newer(data: bytes | str, name: str, newest: int) -> None:
    with suppress(Corrupt):
        number = decode(Numbered, data, name).format
        if number > newest:
            message = f"{name} has format {number}; this Tidemark reads up to {newest}"
            raise Unsupported("savepoint.newer_format", message, "Update Tidemark to read it.")


def _validated(name: str, validate: Callable[[], object]) -> object:
    try:
        return validate()
    except ValueError as error:
        from pydantic import ValidationError

        if not isinstance(error, ValidationError):
            raise
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its JSON"
        hint = "Restore the file from a copy, or remove what it describes."
        raise Corrupt("document.malformed", f"{name} is damaged: {where}: {first['msg']}", hint) from error


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """One adapter a type: making one costs milliseconds. No number is NaN or infinite, and a value at hand is checked as a read one is.

    pydantic takes such rules for a type by another name only.
    """
    if kind not in _ADAPTERS:
        from pydantic import ConfigDict, TypeAdapter

        document = NewType("document", kind)  # type: ignore[valid-newtype]
        _ADAPTERS[kind] = TypeAdapter(document, config=ConfigDict(allow_inf_nan=False, revalidate_instances="always"))
    return _ADAPTERS[kind]
