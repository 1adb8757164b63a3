"""An object store in memory, as consistent as S3: each request is whole, a listing is as many requests as it has pages. And who asks it
in turns: actors of which one at a time makes one request, in an order that a seed gives, until it is killed at one of them.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import greenlet

from pipelines.domain.errors import NotFound
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched
from tests.savepoint.faulty import Killed

PAGE = 2
Step = Callable[[], None]


@dataclass
class Bucket:
    """Its objects, by key."""

    objects: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """How often each object was read, and (`list FOLDER`) each folder listed from its beginning."""

    def below(self, folder: str) -> list[str]:
        return sorted(key for key in self.objects if not folder or key.startswith(f"{folder}/"))


@dataclass(frozen=True)
class BucketStorage:
    """`Storage` of a bucket, with a step before each request."""

    bucket: Bucket
    step: Step = lambda: None
    url: str = "mem://bucket"

    def read(self, path: str) -> bytes:
        self.step()
        self.bucket.asked[path] += 1
        return self._there(path)

    def stream(self, path: str) -> BinaryIO:
        return io.BytesIO(self.read(path))

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        file = io.BytesIO()
        yield file
        self.write(path, file.getvalue())

    def list(self, folder: str = "") -> Iterator[Entry]:
        """Two objects a page: what is put or deleted between two pages is seen or not by where it stands."""
        last = ""
        self.bucket.asked[f"list {folder}"] += 1
        while True:
            self.step()
            page = [key for key in self.bucket.below(folder) if key > last][:PAGE]
            yield from [Entry(key, len(self.bucket.objects[key]), 0, tag(self.bucket.objects[key])) for key in page]
            if len(page) < PAGE:
                return
            last = page[-1]

    def write(self, path: str, data: bytes) -> None:
        self.step()
        self.bucket.objects[path] = data

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Iterable[How]:
        assert isinstance(source, BucketStorage)
        for file in files:
            self.step()
            data = source._there(file.source)
            if file.tag and tag(data) != file.tag:
                raise NotFound("storage.not_found", f"{file.source} was replaced by another", "")
            self.bucket.objects[file.target] = data
        return [How.SERVER_COPY] * len(files)

    def copies_from(self, source: Storage) -> bool:
        return isinstance(source, BucketStorage)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.step()
            self.bucket.objects.pop(path, None)

    def children(self, folder: str = "") -> list[str]:
        """In two pages, as a listing."""
        names: list[str] = []
        for half in (0, 1):
            self.step()
            top = f"{folder}/" if folder else ""
            inner = sorted({key[len(top) :].partition("/")[0] for key in self.bucket.below(folder) if "/" in key[len(top) :]})
            names += [name for name in inner if (name > names[-1] if names else True)][: max(1, len(inner) // 2) if half == 0 else None]
        return names

    def remove(self, folder: str) -> None:
        self.delete([entry.path for entry in self.list(folder)])

    def _there(self, path: str) -> bytes:
        if path not in self.bucket.objects:
            raise NotFound("storage.not_found", f"{path} does not exist", "")
        return self.bucket.objects[path]


def tag(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


@dataclass
class Actor:
    """Somebody who works on a bucket, up to the request `last` where that is not 0."""

    work: Callable[[Step], object]
    last: int = 0
    steps: int = 0
    raised: BaseException | None = None

    def begin(self, back: greenlet.greenlet) -> greenlet.greenlet:
        def run() -> None:
            try:
                self.work(lambda: self._step(back))
            except BaseException as error:  # noqa: BLE001  # a kill too; who runs the actors looks at it
                self.raised = error

        return greenlet.greenlet(run, back)

    def _step(self, back: greenlet.greenlet) -> None:
        self.steps += 1
        if self.last and self.steps >= self.last:
            raise Killed
        back.switch()


def in_turns(actors: Sequence[Actor], seed: int, looks: Callable[[], None]) -> Mapping[int, int]:
    """Each actor to its end, one request at a time; `looks` after each. Some seeds let one of them wait for long stretches."""
    chance = random.Random(seed)
    main = greenlet.getcurrent()
    alive = [actor.begin(main) for actor in actors]
    longest = chance.choice([1, 1, 3, 12, 40])
    while alive:
        turn = chance.choice(alive)
        for _ in range(chance.randint(1, longest)):
            turn.switch()
            looks()
            if turn.dead:
                alive.remove(turn)
                break
    return {number: actor.steps for number, actor in enumerate(actors)}
