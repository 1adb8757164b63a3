"""A command line whose workspace is the fake, and whose time passes only where it waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from pipelines.cli.session import Absent, Session
from pipelines.cli.start import app_of
from pipelines.client.servers import Running
from tests.entering import TOKEN
from tests.faces import NOW_MS, FakeFace

RUNNING = Running("http://127.0.0.1:8501", TOKEN)
"""The server that the command line believes to talk to."""
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@dataclass
class Door:
    """Opens the fake for the command line; keeps how often the supervisor was asked to act, and for which path."""

    face: FakeFace
    ticks: int = 0
    waited: float = 0
    paths: list[Path] = field(default_factory=list)

    def act(self) -> None:
        self.ticks += 1

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.waited)

    def sleep(self, seconds: float) -> None:
        self.waited += seconds

    @contextmanager
    def open(self, path: Path, *, rebuilding: bool = False, absent: Absent = Absent.REFUSED) -> Iterator[Session]:
        self.paths.append(path)
        yield Session(self.face, self.act, self.now, self.sleep, RUNNING)

    def __call__(self, *words: str | Path, env: dict[str, str] | None = None) -> Result:
        typed = [str(word) for word in words]
        return CliRunner().invoke(app_of(typed), typed, obj=self.open, env=env or {})

    def json(self, *words: str | Path) -> Any:
        done = self(*words, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)
