"""What a query reads: its sources by name, and a warning of file sources with `cleanSource`, whose files no second reader finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pipelines.domain import delta, kafka_sign_ins
from pipelines.domain.iceberg import ICEBERG
from pipelines.domain.kafka import KAFKA
from pipelines.driver import secret_values
from pipelines.driver.records import Records
from pipelines.driver.sinks import local_path

T = TypeVar("T")

FILE_RELATION = "StreamingRelation"
"""The leaf of a plan that stands for a file source (Spark's class); sources of the newer kind have no `cleanSource`."""
RELATION = "StreamingRelationV2"
"""The leaf for a source of the newer kind."""
SERVERS, PROTOCOL, FAILS = "kafka.bootstrap.servers", "kafka.security.protocol", "failOnDataLoss"
PLAIN = "PLAINTEXT"
ICEBERG_CLASSES = "org.apache.iceberg."
OPTION = "cleansource"
CLEANS = {"archive", "delete"}


def warn(records: Records, query: str, frame: Any) -> None:
    """Writes an event for each directory that `frame` (a streaming DataFrame) reads and cleans, for a run that begins from a savepoint."""
    for path, how in cleaned(frame):
        message = (
            f"Its source takes files away from {path} once it has read them (cleanSource={how}): those read after the savepoint may be "
            "gone, and two jobs on one directory take them from each other. Give this job a copy of it, or switch cleanSource off."
        )
        records.event("source.cleans", message, query)


@dataclass(frozen=True)
class Read:
    """What a query reads, source by source: as the fields of `QueryStarted` that are called so."""

    sources: tuple[str, ...]
    brokers: tuple[str, ...]
    tables: tuple[str, ...]
    sign_ins: tuple[Mapping[str, str], ...]
    removals: tuple[str, ...]


def read(frame: Any, default_fs: str) -> Read:
    """What `frame` reads, in one walk through its plan; a path without a scheme is one of `default_fs`."""
    referred, sources = secret_values.referred(), list(_sources(frame))
    brokers = tuple(_broker(leaf.extraOptions()) if _is_kafka(leaf) else "" for leaf in sources)
    tables = tuple(_table(leaf.dataSource(), default_fs) if _is_file(leaf) else _iceberg_table(leaf, default_fs) for leaf in sources)
    sign_ins = tuple(
        kafka_sign_ins.noted(_given(leaf.extraOptions(), kafka_sign_ins.READ), referred) if _is_kafka(leaf) else {} for leaf in sources
    )
    removals = tuple(_removals(leaf.dataSource()) if _is_file(leaf) else "" for leaf in sources)
    return Read(tuple(map(_name, sources)), _if_any(brokers), _if_any(tables), _if_any(sign_ins), _if_any(removals))


def names(frame: Any) -> tuple[str, ...]:
    """Spark's name of each source of `frame`: `kafka`, `rate`; of files their format."""
    return tuple(map(_name, _sources(frame)))


def _name(leaf: Any) -> str:
    """Spark calls a source of the newer kind that is read by a table's name like the table."""
    if _is_file(leaf):
        return str(leaf.dataSource().className())
    return ICEBERG if _is_iceberg(leaf) else str(leaf.sourceName())


def _if_any(read: tuple[T, ...]) -> tuple[T, ...]:
    return read if any(read) else ()


def _is_file(leaf: Any) -> bool:
    return bool(leaf.getClass().getSimpleName() == FILE_RELATION)


def _is_iceberg(leaf: Any) -> bool:
    return str(leaf.table().getClass().getName()).startswith(ICEBERG_CLASSES)


def _given(options: Any, names: Iterable[str]) -> dict[str, str]:
    given = {name: options.getOrDefault(f"{kafka_sign_ins.PREFIX}{name}", None) for name in names}
    return {name: str(value) for name, value in given.items() if value is not None}


def _sources(frame: Any) -> Iterator[Any]:
    return (leaf for leaf in _leaves(frame) if leaf.getClass().getSimpleName() in (FILE_RELATION, RELATION))


def _is_kafka(leaf: Any) -> bool:
    return bool(leaf.getClass().getSimpleName() == RELATION and leaf.sourceName() == KAFKA)


def _broker(options: Any) -> str:
    """The servers, behind how they are spoken to where that is not plain; empty where the source may pass over what is gone."""
    servers, protocol = options.getOrDefault(SERVERS, ""), options.getOrDefault(PROTOCOL, PLAIN).upper()
    if options.getOrDefault(FAILS, "true").lower() != "true":
        return ""
    return str(servers) if protocol == PLAIN else f"{protocol}://{servers}"


def _table(source: Any, default_fs: str) -> str:
    if not _is_delta(source):
        return ""
    named = source.catalogTable()
    place = _options(source.options()).get("path") or (str(named.get().location()) if named.isDefined() else "")
    return str(local_path(place, default_fs) or place) if place else ""


def _is_delta(source: Any) -> bool:
    return str(source.className()).lower() == delta.DELTA


def _removals(source: Any) -> str:
    return delta.removals(_options(source.options())) if _is_delta(source) else ""


def _iceberg_table(leaf: Any, default_fs: str) -> str:
    if not _is_iceberg(leaf):
        return ""
    place = str(leaf.table().table().location())
    return str(local_path(place, default_fs) or place)


def cleaned(frame: Any) -> Iterator[tuple[str, str]]:
    """(directory, `archive` or `delete`) of each file source of `frame` that has the option, however it was given."""
    for leaf in _leaves(frame):
        if _is_file(leaf):
            options = _options(leaf.dataSource().options())
            if options.get(OPTION, "").lower() in CLEANS:
                yield options.get("path", ""), options[OPTION].lower()


def _leaves(frame: Any) -> Iterator[Any]:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return (leaves.apply(at) for at in range(leaves.size()))


def _options(scala_map: Any) -> dict[str, str]:
    """The options by name in lower case: Spark ignores case."""
    keys = scala_map.keysIterator()
    options = {}
    while keys.hasNext():
        key = keys.next()
        options[key.lower()] = scala_map.apply(key)
    return options
