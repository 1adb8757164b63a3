"""A run whose driver is not on this machine, as two folders: what the driver writes, and what lies at the job's home; and a third here."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from pipelines.domain.segments import ORDERS_FILE, SEGMENTS, Orders
from pipelines.driver.afar.carrier import Carrier


class Carried:
    """A carrier on this machine's disk, which may fail."""

    def __init__(self, root: Path) -> None:
        self.folder, self.home, self.here = (root / name for name in ("folder", "home", "here"))
        for folder in (self.folder, self.home / SEGMENTS, self.here):
            folder.mkdir(parents=True)
        self.fails_after: int | None = None
        """How many more writes succeed; None for all."""
        self.carrier = Carrier(self.folder, cast(Path, Failing(self.home, self)), lambda: None)

    def grow(self, name: str, data: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(data)

    def replace(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        aside = path.with_name(f".{path.name}")
        aside.write_bytes(data)
        aside.replace(path)

    def order(self, orders: Orders) -> None:
        """The driver's next look finds them at home."""
        (self.home / ORDERS_FILE).write_text(orders.text)
        self.carrier._obey()

    def segments(self) -> list[str]:
        return [path.name for path in (self.home / SEGMENTS).iterdir()]


class Failing:
    """A path at home whose writes may fail: before anything is there, or after all of it is."""

    def __init__(self, path: Path, run: Carried) -> None:
        self._path = path
        self._run = run

    def __truediv__(self, name: str) -> Failing:
        return Failing(self._path / name, self._run)

    def write_bytes(self, data: bytes) -> None:
        if self._run.fails_after == 0:
            if len(data) % 2:
                self._path.write_bytes(data)
            raise OSError("the storage is away")
        if self._run.fails_after is not None:
            self._run.fails_after -= 1
        self._path.write_bytes(data)

    def unlink(self, missing_ok: bool = False) -> None:
        self._path.unlink(missing_ok)

    def exists(self) -> bool:
        return self._path.exists()

    def read_text(self) -> str:
        return self._path.read_text()
