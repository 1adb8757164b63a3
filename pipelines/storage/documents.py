"""Domain values as JSON documents: one way to write them, one way to read them with their types checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pipelines.domain.errors import Corrupt

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def encode(value: Any) -> bytes:
    """`value` (a domain dataclass, or a list or dict of them) as UTF-8 JSON."""
    return _adapter(type(value)).dump_json(value, indent=1) + b"\n"


def plain(value: Any) -> Any:
    """`value` as dicts, lists and JSON scalars."""
    return _adapter(type(value)).dump_python(value, mode="json")


def decode(kind: type[T], data: bytes | str, name: str) -> T:
    """The `kind` that `data` describes; Corrupt (`document.malformed`) naming `name` where it does not."""
    from pydantic import ValidationError

    try:
        return cast(T, _adapter(kind).validate_json(data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its JSON"
        raise Corrupt(
            "document.malformed",
            f"{name} is damaged: {where}: {first['msg']}",
            "Restore the file from a copy, or remove what it describes.",
        ) from error


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """One adapter a type: making one costs milliseconds."""
    from pydantic import TypeAdapter

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
