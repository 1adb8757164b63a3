"""What cloning costs beside doing it without Tidemark: an upload to S3 beside a bare one, a local clone beside `cp -r`.

Run by hand: `python3 -m tests -m bench tests/bench/test_storage.py -s`. Prints ratios; asserts only what does not depend on the machine.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone, How
from tests.storage import s3_server as servers
from tests.storage.s3_server import BUCKET

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
ROUNDS = 7
THREADS = 16
LARGE, LARGE_BYTES = 30, 6_000_000
SMALL, SMALL_BYTES = 300, 4_000


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as RocksDB's state store leaves them: SSTs of some MB, many small ones (changelogs, logs, their checksums)."""
    folder = tmp_path_factory.mktemp("checkpoint")
    for kind, count, size in (("SSTs", LARGE, LARGE_BYTES), ("changelogs", SMALL, SMALL_BYTES)):
        for number in range(count):
            file = folder / "state" / "0" / str(number % 4) / kind / f"{number}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.urandom(size))
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[servers.S3Server]:
    with servers.serving() as serving:
        serving.enter(monkeypatch)
        yield serving


def test_an_upload_beside_a_bare_one(checkpoint: Path, server: servers.S3Server) -> None:
    """In turn and in changing order, so that the machine's drift meets all alike; the faster of the bare ones is what counts."""
    files = {path: path.relative_to(checkpoint).as_posix() for path in sorted(checkpoint.rglob("*")) if path.is_file()}
    ways: dict[str, Callable[[str], None]] = {"tidemark": tidemark(checkpoint), "boto3": boto3_upload(files), "s3fs": s3fs_upload(files)}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        order = list(ways)[turn % 3 :] + list(ways)[: turn % 3]
        for name in order:
            prefix = f"{name}-{turn}"
            began = time.perf_counter()
            ways[name](prefix)
            if turn:  # the first one makes connections and fills the page cache
                took[name].append(time.perf_counter() - began)
            storage = open_storage(f"s3://{BUCKET}/{prefix}")
            assert {entry.path: entry.bytes for entry in storage.list()} == {name: path.stat().st_size for path, name in files.items()}
            storage.delete(list(files.values()))
    report_uploads(took, sum(path.stat().st_size for path in files), len(files))


def tidemark(checkpoint: Path) -> Callable[[str], None]:
    source = LocalStorage(checkpoint)

    def upload(prefix: str) -> None:
        target = open_storage(f"s3://{BUCKET}/{prefix}")
        assert set(target.clone(source, [Clone(entry.path, entry.path) for entry in source.list()])) == {How.COPY}

    return upload


def boto3_upload(files: dict[Path, str]) -> Callable[[str], None]:
    """One `put_object` a file, by threads."""
    import boto3
    from botocore.config import Config

    client: Any = boto3.client("s3", config=Config(max_pool_connections=THREADS))

    def upload(prefix: str) -> None:
        def put(path: Path) -> None:
            client.put_object(Bucket=BUCKET, Key=f"{prefix}/{files[path]}", Body=path.read_bytes())

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(put, files))

    return upload


def s3fs_upload(files: dict[Path, str]) -> Callable[[str], None]:
    """s3fs's own parallel `put`."""
    from s3fs import S3FileSystem

    fs = S3FileSystem(config_kwargs={"max_pool_connections": THREADS}, skip_instance_cache=True)

    def upload(prefix: str) -> None:
        fs.put([str(path) for path in files], [f"{BUCKET}/{prefix}/{name}" for name in files.values()], batch_size=THREADS)

    return upload


def report_uploads(took: dict[str, list[float]], size: int, count: int) -> None:
    seconds = {name: statistics.median(each) for name, each in took.items()}
    bare = min(("boto3", "s3fs"), key=lambda name: seconds[name])
    ratios = [min(took["boto3"][turn], took["s3fs"][turn]) / own for turn, own in enumerate(took["tidemark"])]
    print(f"\n{count} files, {size / 1e6:.0f} MB, {ROUNDS} rounds")
    for name, median in seconds.items():
        print(f"{name:9} median {median:.2f} s = {size / 1e6 / median:.0f} MB/s, best {min(took[name]):.2f} s")
    print(f"tidemark reaches {seconds[bare] / seconds['tidemark']:.2f} of the faster bare upload ({bare}); best to best ", end="")
    print(f"{min(took[bare]) / min(took['tidemark']):.2f}; to the faster one of each round: median {statistics.median(ratios):.2f}")


def test_a_local_clone_beside_cp(checkpoint: Path, tmp_path: Path) -> None:
    source = LocalStorage(checkpoint)
    files = [Clone(entry.path, entry.path) for entry in source.list()]
    linked, copied = [], []
    for turn in range(ROUNDS):
        target = LocalStorage(tmp_path / f"linked-{turn}")
        began = time.perf_counter()
        assert set(target.clone(source, files)) == {How.LINK}
        linked.append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run(["cp", "-r", str(checkpoint), str(tmp_path / "copied")], check=True)
        copied.append(time.perf_counter() - began)
        shutil.rmtree(tmp_path / "copied")
    size = sum((checkpoint / file.source).stat().st_size for file in files)
    own, cp = statistics.median(linked) * 1000, statistics.median(copied) * 1000
    print(f"\n{len(files)} files, {size / 1e6:.0f} MB: clone by links {own:.1f} ms, cp -r {cp:.0f} ms = {cp / own:.0f} x")
