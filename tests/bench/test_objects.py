"""Savepoints at an S3 home beside a client's copy of the same files in the same run: requests, bytes at the store and time.

Run by hand: `python3 -m tests -m bench tests/bench/test_objects.py -s`. Prints ratios; asserts only what does not depend on the machine.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import objects, restore, take
from pipelines.savepoint.batch_choice import Newest
from pipelines.savepoint.shelves import open_shelf
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.savepoint.targets import Resume
from pipelines.storage.addresses import open_storage
from pipelines.storage.s3.client import open_client
from tests.savepoint import golden
from tests.savepoint.golden import NOW_MS, VERSION
from tests.savepoint.test_remote import upload
from tests.storage import s3_server as servers
from tests.storage.s3_server import BUCKET

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
SAVEPOINTS = 20
ADDED = 700
ADDED_BYTES = int(os.environ.get("TIDEMARK_BENCH_OBJECT_BYTES", "600000"))
"""Of each file that is added to the golden job's checkpoint, for one of about a thousand files."""
DESCRIBED = "state/0/0/_metadata/added"
"""Every savepoint holds what is here."""
LIVE, HOME = f"s3://{BUCKET}/live/counts", f"s3://{BUCKET}/home"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[servers.S3Server]:
    with servers.serving() as serving:
        serving.enter(monkeypatch)
        yield serving


@pytest.fixture
def requests(server: servers.S3Server) -> Counter[str]:
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


def taken(number: int) -> tuple[Savepoint, float]:
    began = time.perf_counter()
    savepoint = take.take(source(), Newest(), open_shelf(HOME), take.Naming(SavepointId(f"sp-{number}"), NOW_MS))
    return savepoint, time.perf_counter() - began


def copied_by_a_client(names: list[str]) -> float:
    """Each file read and written by boto3, 16 at a time."""
    import boto3
    from botocore.config import Config

    client: Any = boto3.client("s3", config=Config(max_pool_connections=16))

    def copy(name: str) -> None:
        data = client.get_object(Bucket=BUCKET, Key=f"live/counts/{name}")["Body"].read()
        client.put_object(Bucket=BUCKET, Key=f"copied/{name}", Body=data)

    began = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(copy, names))
    return time.perf_counter() - began


def test_savepoints_that_share(requests: Counter[str], tmp_path: Path) -> None:
    count = prepared(tmp_path)
    requests.clear()
    first, first_s = taken(0)
    of_first = requests.total()
    rounds: list[tuple[float, int]] = []
    for number in range(1, SAVEPOINTS):
        open_storage(LIVE).write(f"{DESCRIBED}/new-{number}", os.urandom(ADDED_BYTES))
        requests.clear()
        rounds.append((taken(number)[1], requests.total()))
    names = [entry.path for entry in open_storage(LIVE).list()]
    began = time.perf_counter()
    listed = sum(len(list(open_storage(url).list())) for url in (LIVE, f"{HOME}/{objects.FILES}"))
    listed_s = time.perf_counter() - began
    client_s = min(copied_by_a_client(names) for _ in range(2))
    stored = sum(entry.bytes for entry in open_storage(HOME).list())
    took_s, asked = statistics.median(took for took, _ in rounds), max(asked for _, asked in rounds)
    print(f"\n{count} files, {first.files} of them and {first.bytes / 1e6:.0f} MB in a savepoint")
    print(f"{SAVEPOINTS} savepoints take {stored / first.bytes:.3f} x the bytes of one")
    print(f"requests: {of_first} for the first, at most {asked} for each other one")
    print(f"listing the checkpoint and the content store, {listed} objects: {listed_s:.2f} s; a savepoint takes {took_s / listed_s:.2f} x")
    print(f"first {first_s:.2f} s, others median {took_s:.3f} s; a client's copy {client_s:.2f} s = {client_s / took_s:.0f} x")
    assert stored <= 1.1 * first.bytes and asked < 60
    requests.clear()
    began = time.perf_counter()
    restored = restore.restore(open_shelf(HOME), SavepointId("sp-7"), Resume(JobName("job"), f"s3://{BUCKET}/again/r-2"), NOW_MS)
    print(f"restore of {restored.files} files {time.perf_counter() - began:.2f} s, {dict(requests)}")
    assert requests["GetObject"] + requests["PutObject"] < 60, "no state passes through this machine"
