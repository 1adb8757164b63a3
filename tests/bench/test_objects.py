"""Savepoints at an S3 home beside a client's copy of the same files in the same run: requests, bytes at the store and time.

Run by hand: `python3 -m tests -m bench tests/bench/test_objects.py -s`. Prints ratios; asserts only what does not depend on the machine.
The server is moto, or the one on this machine that `TIDEMARK_BENCH_S3` names (`http://127.0.0.1:PORT`, with a bucket `tidemark`).
"""

from __future__ import annotations

import os
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psutil
import pytest

from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import restore, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.shelves import open_shelf
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.savepoint.targets import Resume
from pipelines.storage.addresses import open_storage
from pipelines.storage.s3.client import open_client
from tests.bench.browsers import cpu_seconds
from tests.savepoint import golden
from tests.savepoint.golden import NOW_MS, VERSION
from tests.savepoint.test_remote import upload
from tests.storage import s3_server as servers
from tests.storage.s3_server import BUCKET

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
T = TypeVar("T")
OTHER = os.environ.get("TIDEMARK_BENCH_S3", "")
SAVEPOINTS = 20
OBJECTS = 200_000 if OTHER else 20_000
"""moto takes 3 ms to store one, and longer for each page of a listing the more it has."""
ADDED = 700
ADDED_BYTES = int(os.environ.get("TIDEMARK_BENCH_OBJECT_BYTES", "600000"))
"""Of each file that is added to the golden job's checkpoint, for one of about a thousand files."""
DESCRIBED = "state/0/0/_metadata/added"
"""Every savepoint holds what is here."""
LIVE, HOME = f"s3://{BUCKET}/live", f"s3://{BUCKET}/home"
"""Below them each test has a folder of its own: the server may have served others."""


@dataclass(frozen=True)
class Spent:
    """What some work took by the clock, of this process and of the server."""

    clock_s: float
    own_s: float
    server_s: float

    @property
    def processor_s(self) -> float:
        return self.own_s + self.server_s

    def times(self, other: Spent) -> str:
        return f"{self.clock_s / other.clock_s:.2f} x, of processors {self.processor_s / other.processor_s:.2f} x"

    def __str__(self) -> str:
        return f"{self.clock_s:.3f} s (processor {self.own_s:.3f} s here, {self.server_s:.3f} s the server's)"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The process of the server that S3 clients talk to."""
    for name, url in (("LIVE", LIVE), ("HOME", HOME)):
        monkeypatch.setattr(f"{__name__}.{name}", f"{url}/{uuid.uuid4().hex}")
    if OTHER:
        servers.S3Address(OTHER).enter(monkeypatch)
        port = urlsplit(OTHER).port
        yield next(at.pid for at in psutil.net_connections("tcp") if at.status == "LISTEN" and at.laddr.port == port and at.pid)
        return
    with servers.serving() as serving:
        serving.enter(monkeypatch)
        yield serving.process.pid


@pytest.fixture
def requests(server: int) -> Counter[str]:
    """Requests of this process by operation, from now on."""
    counted: Counter[str] = Counter()
    events: Any = open_client().api.meta.events
    events.register("before-send.s3", lambda request, event_name, **_: counted.update([event_name.rpartition(".")[2]]))
    return counted


def source() -> JobSource:
    place = QueryLocation(QueryName("counts"), LIVE, "noop", "")
    return JobSource(JobName("job"), RunId("r-1"), VERSION, "4.3.0", (place,))


def prepared(folder: Path) -> int:
    """The golden job's checkpoint in the bucket, with more files that every savepoint of it holds; how many it has."""
    bench = golden.bench(folder, "rocksdb_format2")
    folder = bench.checkpoint / DESCRIBED
    folder.mkdir(parents=True)
    for number in range(ADDED):
        (folder / str(number)).write_bytes(os.urandom(ADDED_BYTES))
    upload(bench.checkpoint, LIVE)
    return sum(1 for _ in open_storage(LIVE).list())


def spent(server: int, work: Callable[[], T]) -> tuple[T, Spent]:
    began = time.perf_counter(), time.process_time(), cpu_seconds(server)
    done = work()
    ended = time.perf_counter(), time.process_time(), cpu_seconds(server)
    return done, Spent(*(end - begin for begin, end in zip(began, ended, strict=True)))


def median(rounds: Sequence[Spent]) -> Spent:
    clock, own, of_server = (statistics.median(times) for times in zip(*map(astuple, rounds), strict=True))
    return Spent(clock, own, of_server)


def take_one(number: int) -> Savepoint:
    return take.take(source(), Newest(), open_shelf(HOME), take.Naming(SavepointId(f"sp-{number}"), NOW_MS))


def copy_by_a_client(names: list[str]) -> None:
    """Each file read and written by boto3, 16 at a time."""
    import boto3
    from botocore.config import Config

    folder = urlsplit(LIVE).path[1:]
    client: Any = boto3.client("s3", config=Config(max_pool_connections=16))

    def copy(name: str) -> None:
        data = client.get_object(Bucket=BUCKET, Key=f"{folder}/{name}")["Body"].read()
        client.put_object(Bucket=BUCKET, Key=f"copied/{name}", Body=data)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(copy, names))


def test_savepoints_that_share(server: int, requests: Counter[str], tmp_path: Path) -> None:
    count = prepared(tmp_path)
    requests.clear()
    first, first_spent = spent(server, lambda: take_one(0))
    of_first = requests.total()
    rounds: list[tuple[Spent, int]] = []
    for number in range(1, SAVEPOINTS):
        open_storage(LIVE).write(f"{DESCRIBED}/new-{number}", os.urandom(ADDED_BYTES))
        requests.clear()
        rounds.append((spent(server, partial(take_one, number))[1], requests.total()))
    names = [entry.path for entry in open_storage(LIVE).list()]
    copies = [spent(server, lambda: copy_by_a_client(names))[1] for _ in range(2)]
    stored = sum(entry.bytes for entry in open_storage(HOME).list())
    each, asked = median([took for took, _ in rounds]), max(asked for _, asked in rounds)
    copy = min(copies, key=lambda took: took.clock_s)
    print(f"\n{count} files, {first.files} of them and {first.bytes / 1e6:.0f} MB in a savepoint")
    print(f"{SAVEPOINTS} savepoints take {stored / first.bytes:.3f} x the bytes of one")
    print(f"requests: {of_first} for the first, at most {asked} for each other one")
    print(f"first {first_spent}, others median {each}")
    print(f"a client's copy {copy} = {copy.times(each)}")
    assert stored <= 1.1 * first.bytes and asked < 60


def test_a_restore_that_the_server_copies(server: int, requests: Counter[str], tmp_path: Path) -> None:
    prepared(tmp_path)
    savepoint = take_one(0)
    requests.clear()
    again = Resume(JobName("job"), f"s3://{BUCKET}/again/r-2")
    restored, took = spent(server, lambda: restore.restore(open_shelf(HOME), savepoint.id, again, NOW_MS))
    print(f"\nrestore of {restored.files} files, {savepoint.bytes / 1e6:.0f} MB: {took}, {dict(requests)}")
    assert requests["GetObject"] + requests["PutObject"] < 60, "no state passes through this machine"


def test_a_savepoint_of_a_few_objects_among_many(server: int, requests: Counter[str], tmp_path: Path) -> None:
    """What Spark has not purged is listed, and no more is asked about it: beside the listing alone."""
    job = golden.bench(tmp_path, "rocksdb_format2")
    upload(job.checkpoint, LIVE)
    strew(OBJECTS)
    rounds: list[tuple[Spent, Spent]] = []
    for number in range(3):
        count, listed = spent(server, lambda: sum(1 for _ in open_storage(LIVE).list()))
        requests.clear()
        savepoint, took = spent(server, partial(take_one, number))
        rounds.append((listed, took))
    listed, took = median([listed for listed, _ in rounds]), median([took for _, took in rounds])
    print(f"\n{count:,} objects, {savepoint.files} files in a savepoint; requests {dict(requests)}")
    print(f"listing {listed}; a savepoint {took} = {took.times(listed)}")
    assert savepoint.files < 100 and requests.total() < count / 1000 + 60
    assert took.processor_s < 2 * listed.processor_s


def strew(count: int) -> None:
    """So many empty changelogs beside those of the golden job's two partitions, put there without signatures."""
    at, folder = urlsplit(os.environ["AWS_ENDPOINT_URL"]), urlsplit(LIVE).path

    def put(numbers: range) -> None:
        connection = HTTPConnection(at.hostname or "", at.port)
        for number in numbers:
            name = f"state/0/{number % 2}/{number % 13 + 1}_{uuid.uuid4()}.changelog"
            connection.request("PUT", f"/{BUCKET}{folder}/{name}", b"")
            answer = connection.getresponse()
            assert (answer.read(), answer.status) == (b"", 200), answer.status
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [range(start, count, 4) for start in range(4)]))
