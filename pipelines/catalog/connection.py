"""The one place that opens DuckDB: a root connection a process, a cursor a use, one writer at a time.

A connection shared by threads returns one thread's rows to another, and concurrent updates conflict; so every use gets its own
cursor and transaction, and writers queue at a lock.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NewType, TypeAlias, TypeVar

from pipelines.catalog.errors import translated
from pipelines.storage import file_rights, handover

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    Reader: TypeAlias = DuckDBPyConnection
    """A cursor in a transaction: what queries ask for."""
    Writer = NewType("Writer", DuckDBPyConnection)
    """A cursor in a transaction that may write; it reads too."""
else:
    Reader = Writer = Any

T = TypeVar("T")
_SETTINGS: dict[str, Any] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class Catalog:
    """An open catalog file. Safe for many threads: they read side by side, and write one after the other."""

    def __init__(self, path: Path, root: DuckDBPyConnection) -> None:
        self.path = path
        self._root = root
        self._turn = threading.Lock()
        self.generation = 0
        """How many times it was written to since it was opened."""
        self.changes = 0
        """How many of these were more than figures of batches, which come all the time."""

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """A cursor that sees one state of the catalog for as long as it is open, and cannot write."""
        with translated(str(self.path)):
            cursor = self._root.cursor()
            try:
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                yield cursor
            finally:
                cursor.close()

    @contextmanager
    def writing(self, *, only_figures: bool = False) -> Iterator[Writer]:
        """A transaction: committed when the block ends, rolled back when it raises. Do not nest."""
        with self._turn, translated(str(self.path)):
            cursor: Any = self._root.cursor()
            try:
                cursor.begin()
                yield cursor
                cursor.commit()
                self.generation += 1
                self.changes += not only_figures
            finally:
                cursor.close()

    def close(self) -> None:
        """Write everything into the file and let it go; waits for a writer that is at work."""
        with self._turn:
            self._root.close()


class Kept(Generic[T]):
    """What was read of a catalog, for who asks again and again: read anew once anything but figures of batches was written, so what is
    read has none of these."""

    def __init__(self, catalog: Catalog, read: Callable[[Reader], T]) -> None:
        self._catalog = catalog
        self._read = read
        self._newest: tuple[int, T] | None = None

    def now(self) -> T:
        """What the catalog has now; raises what reading it raises. What is written meanwhile is read the next time at the latest."""
        changes, newest = self._catalog.changes, self._newest
        if newest is None or newest[0] != changes:
            with self._catalog.reading() as reader:
                newest = self._newest = (changes, self._read(reader))
        return newest[1]


def connect(where: str, memory_limit: str, **settings: Any) -> DuckDBPyConnection:
    """Opens DuckDB on the file `where` (`:memory:` for none), without extensions; raises its errors as the catalog's."""
    import duckdb

    with translated(where):
        return duckdb.connect(where, config={**_SETTINGS, "memory_limit": memory_limit, **settings})


@contextmanager
def scratch(*, memory_limit: str = "1GB") -> Iterator[DuckDBPyConnection]:
    """A database in memory for one piece of work on what jobs wrote, apart from the catalog so that neither starves the other; spills to
    disk. It opens files with the rights of jobs' code, which names them."""
    with tempfile.TemporaryDirectory(prefix="tidemark-compare-") as spill, translated("The comparison"):
        handover.hand_over(Path(spill).resolve())
        with file_rights.of_job(), closing(connect(":memory:", memory_limit, temp_directory=spill)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection


BROKEN_OPTIMIZER = "unused_columns"
"""With it DuckDB 2.0.0 fails where a filter on a field of a struct reaches dictionary-encoded Parquet of several files, one of them empty
("INTERNAL Error: Vector::Reference used on vector of different type")."""


@contextmanager
def sealed(files: Sequence[str]) -> Iterator[DuckDBPyConnection]:
    """A database in memory that can read `files` and nothing else: no other file, no network, no extension, no spilling, for good."""
    with translated("The question"):
        connection = connect(":memory:", "512MB")
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET temp_directory = ''")
            connection.execute("SET allowed_paths = ?", [list(files)])
            connection.execute(f"SET disabled_optimizers = '{BROKEN_OPTIMIZER}'")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection
        finally:
            connection.close()
