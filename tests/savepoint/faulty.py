"""A storage that fails, stands still, or dies, at the k-th thing that is done to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.storage import folders, paths
from pipelines.storage.copies import Streams
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched


class Killed(BaseException):
    """The process is gone: from here on nothing it does has an effect."""


@dataclass
class Fault:
    """What happens at step `at`, counted from 1; `at` 0 never comes, and counts the steps."""

    at: int
    steps: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.at and self.steps >= self.at:
            self.strike()

    def strike(self) -> None:
        raise NotImplementedError


class Kills(Fault):
    """Every step from the k-th on has no effect, those of error handling too."""

    def strike(self) -> None:
        raise Killed


class Fails(Fault):
    """The k-th step fails; the storage works again afterwards."""

    def strike(self) -> None:
        if self.steps == self.at:
            raise Unavailable("storage.failed", "the disk said no", "Look at the disk.")


@dataclass
class Delays(Fault):
    """The k-th step takes so long that others get all of `meanwhile` done before it."""

    meanwhile: Callable[[], object] = field(kw_only=True)
    struck: bool = False

    def strike(self) -> None:
        if not self.struck:
            self.struck = True
            self.meanwhile()


class KillsForReal(Fault):
    """The k-th step is the last of this process."""

    def strike(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class FaultyStorage:
    """`Storage` over another, one step a file."""

    inner: Storage
    fault: Fault

    @property
    def url(self) -> str:
        return self.inner.url

    def require(self) -> None:
        if isinstance(self.inner, folders.Rooted):
            self.inner.require()

    def read(self, path: str) -> bytes:
        self.fault.step()
        return self.inner.read(path)

    def list(self, folder: str = "") -> Iterator[Entry]:
        self.fault.step()
        return self.inner.list(folder)

    def write(self, path: str, data: bytes) -> None:
        self.fault.step()
        self.inner.write(path, data)

    def stream(self, path: str) -> BinaryIO:
        self.fault.step()
        assert isinstance(self.inner, Streams)
        return self.inner.stream(path)

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """One step to begin and one to publish; a kill in between leaves the unfinished file that it would leave."""
        self.fault.step()
        assert isinstance(self.inner, Streams)
        try:
            with self.inner.writing(path) as file:
                yield file
                self.fault.step()
        except Killed:
            self.inner.write(paths.temporary(path), b"half")
            raise

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Iterable[How]:
        done: list[How] = []
        for file in files:
            self.fault.step()
            done.extend(self.inner.clone(source, [file], advance))
        return done

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.fault.step()
            self.inner.delete([path])


def break_folders(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """What is done with whole folders counts too: one step a file written, one a call otherwise."""
    put = folders.put

    def put_each(storage: Storage, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            fault.step()
            put(storage, {path: data})

    monkeypatch.setattr(folders, "put", put_each)
    for name in ("flush", "rename", "remove"):
        monkeypatch.setattr(folders, name, _stepping(getattr(folders, name), fault))


def _stepping(call: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    def stepping(*args: Any) -> Any:
        fault.step()
        return call(*args)

    return stepping
