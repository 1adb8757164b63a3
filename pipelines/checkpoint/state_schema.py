"""State schemas: what a store's keys and values are (SchemaHelper.SchemaReader, StateSchemaCompatibilityChecker).

`state/<operator>/<partition>[/<store>]/_metadata/schema` (v1, v2), or `state/<operator>/_stateSchema/<store>/<batch>_<uuid>` (v3). Each
is written by Java's DataOutputStream: a version, then for v3 column families by name, and structs in Spark's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.checkpoint import damage, logs, operators

FOLDER = "_stateSchema"


@dataclass(frozen=True)
class StoreSchema:
    """Key and value of one store, or of one column family in it (empty for a store without), as `name type, …`."""

    family: str
    key: str
    value: str


def path(paths: Iterable[str], operator: int, store: str, batch: int | None = None) -> str | None:
    """The newest schema file of a store among `paths` (of a checkpoint), up to `batch` where one is named; None where it has none. Spark
    writes one with each batch from which on there are other variables, also of a batch that it only plans."""
    known = set(paths)
    single = f"{operators.store_folder(operator, 0, store)}/{operators.METADATA}/schema"
    if single in known:
        return single
    folder = f"{operators.folder(operator)}/{FOLDER}/{store}/"
    numbers = {file: _name(file).partition("_")[0] for file in known if file.startswith(folder)}
    entries = [file for file, number in numbers.items() if logs.is_number(number) and (batch is None or int(number) <= batch)]
    return max(entries, key=lambda file: (int(numbers[file]), file), default=None)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


@dataclass(frozen=True)
class StoreStructs:
    """As `StoreSchema`, with the structs of Spark's JSON."""

    family: str
    key: dict[str, Any]
    value: dict[str, Any]


def parse(path: str, data: bytes) -> tuple[StoreSchema, ...]:
    """The schemas in one file; raises Corrupt."""
    return tuple(StoreSchema(schema.family, ddl(schema.key), ddl(schema.value)) for schema in structs(path, data))


def structs(path: str, data: bytes) -> tuple[StoreStructs, ...]:
    """The structs in one file; raises Corrupt."""
    file = _Reader(path, data)
    version = file.text()
    if version == "v1":
        return (StoreStructs("", file.json(file.text()), file.json(file.text())),)
    if version == "v2":
        return (StoreStructs("", file.json(file.chunks()), file.json(file.chunks())),)
    if version == "v3":
        return tuple(_family(file) for _ in range(file.number(4)))
    raise damage.malformed(path, f"{version!r} is no version of a state schema")


def _family(file: _Reader) -> StoreStructs:
    """A column family: name, id and key, id and value, then how keys are encoded and what the user's key is."""
    name = file.text()
    file.number(2)
    key = file.json(file.chunks())
    file.number(2)
    value = file.json(file.chunks())
    file.chunks()
    file.chunks()
    return StoreStructs(name, key, value)


class _Reader:
    """What Java's DataOutputStream wrote, in order."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path, self._data, self._at = path, data, 0

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def text(self) -> str:
        """`writeUTF`: its length in two bytes, then the text."""
        try:
            return self._take(self.number(2)).decode()
        except UnicodeDecodeError as error:
            raise damage.malformed(self._path, "its text is no UTF-8") from error

    def chunks(self) -> str:
        """A long text in as many pieces as it says."""
        return "".join(self.text() for _ in range(self.number(4)))

    def json(self, text: str) -> dict[str, Any]:
        return logs.json_object(self._path, text)

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            raise damage.malformed(self._path, "it ends early")
        self._at += size
        return piece


def ddl(struct: dict[str, Any]) -> str:
    """A struct of Spark's JSON as `name type, …`."""
    return ", ".join(f"{field.get('name')} {_type(field.get('type'))}" for field in struct.get("fields", ()))


def _type(data_type: Any) -> str:
    if not isinstance(data_type, dict):
        return str(data_type)
    match data_type.get("type"):
        case "struct":
            return f"struct<{ddl(data_type)}>"
        case "array":
            return f"array<{_type(data_type.get('elementType'))}>"
        case "map":
            return f"map<{_type(data_type.get('keyType'))}, {_type(data_type.get('valueType'))}>"
        case _:
            return json.dumps(data_type)
