"""Two machines and one checkpoint in a bucket: real drivers, the conditions of a real S3 server, a partition, a kill, a theft.

What makes them two machines: each has run folders of its own, so neither can ask the kernel whether the other's run is gone.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.checkpoint import commits, logs, sink_log
from pipelines.domain.home_leases import LEASE_FILE, PERIOD_VARIABLE, HomeLease, parsed
from pipelines.storage.addresses import open_storage
from tests import s3_connector
from tests.driver.process import Driver, Drivers
from tests.driver.test_lease import STEADY, jvm_of
from tests.partition import partition
from tests.storage.s3_server import S3Server
from tests.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(s3_connector.missing()), reason=s3_connector.missing() or "it is there"),
]
PERIOD_S = 20.0
"""Of leases: a machine that is busy renews them in time."""
PATIENCE_S = 300.0


@dataclass
class Home:
    """The job's folder in the bucket, as any machine sees it."""

    url: str

    @property
    def place(self) -> str:
        return f"{self.url.replace('s3://', 's3a://')}/job-run-1"

    @property
    def committed(self) -> int:
        storage = open_storage(f"{self.place}/checkpoints/run-1/counts")
        return max(logs.batch_ids(entry.path.rpartition("/")[2] for entry in storage.list(commits.FOLDER)), default=-1)

    @property
    def lease(self) -> HomeLease:
        lease = parsed(open_storage(self.place).read(LEASE_FILE))
        assert lease is not None
        return lease

    def rows(self) -> list[int]:
        import pyarrow.parquet as parquet

        output = open_storage(f"{self.place}/output/counts")
        files = sink_log.live_files(sink_log.whole(output, sink_log.FOLDER), sys.maxsize)
        tables = (parquet.read_table(io.BytesIO(output.read(file.path.rpartition("/counts/")[2]))) for file in files)
        return sorted(value for table in tables for value in table["value"].to_pylist())


class Machine:
    """Where drivers of the job start, which reach the bucket at `endpoint`."""

    def __init__(self, folder: Path, home: Home, endpoint: str) -> None:
        self.drivers = Drivers(folder)
        self._home = home
        self._variables = {"AWS_ENDPOINT_URL": endpoint, PERIOD_VARIABLE: str(PERIOD_S)}

    def start(self, run: str) -> Driver:
        output, checkpoints = f"{self._home.place}/output", f"{self._home.place}/checkpoints/run-1"
        told: Mapping[str, Any] = {"checkpoints": checkpoints, "output": output}
        return self.drivers.start(run, STEADY, output, conf=s3_connector.conf(), environment=self._variables, told=told)


@pytest.fixture
def home(s3_url: str) -> Home:
    return Home(s3_url)


@pytest.fixture
def machines(tmp_path: Path, home: Home, s3_server: S3Server) -> Iterator[tuple[Machine, Machine, Any]]:
    """The first reaches the bucket by way of what can be cut."""
    with partition(s3_server.endpoint) as between:
        both = Machine(tmp_path / "one", home, between.endpoint), Machine(tmp_path / "other", home, s3_server.endpoint)
        try:
            yield *both, between
        finally:
            for machine in both:
                machine.drivers.end()


def goes_on(driver: Driver, home: Home) -> None:
    """Until it has committed a batch more than is there."""
    before = home.committed
    driver.until(lambda _: home.committed > before, PATIENCE_S)


def ended_with(driver: Driver, error_class: str) -> str:
    """What the driver says of its end, which it has come to, and its Spark too."""
    assert driver.wait(PATIENCE_S) == 1
    assert driver.exit["error_class"] == error_class, driver.log
    return str(driver.exit["message"])


def test_two_machines_never_commit_to_one_checkpoint(home: Home, machines: tuple[Machine, Machine, Any]) -> None:
    machine, other, between = machines
    first = machine.start("run-1")
    goes_on(first, home)
    assert "in use by run run-1" in ended_with(other.start("run-2"), "checkpoint.leased")

    jvm = jvm_of(first)
    between.cut()
    third = other.start("run-3")
    assert "could not be renewed for 17 s" in ended_with(first, "checkpoint.lease_lost")
    assert not jvm.is_running() or jvm.status() == psutil.STATUS_ZOMBIE
    before = home.committed
    between.heal()
    until(lambda: third.process.poll() is not None or home.committed > before, PATIENCE_S)
    if third.process.poll() is not None:  # it saw a renewal, of before the partition or one that was under way and arrived late
        ended_with(third, "checkpoint.leased")
        third = other.start("run-4")
        goes_on(third, home)
    assert home.lease.run in ("run-3", "run-4")

    third.process.send_signal(signal.SIGKILL)
    fifth = machine.start("run-5")
    goes_on(fifth, home)
    assert "it was not renewed" in fifth.log and home.lease.run == "run-5"

    stolen = replace(home.lease, run="run-9", holder="a thief")
    open_storage(home.place).write(LEASE_FILE, stolen.text.encode())
    assert "was taken by another driver" in ended_with(fifth, "checkpoint.lease_lost")
    open_storage(home.place).write(LEASE_FILE, replace(stolen, released=True).text.encode())

    last = machine.start("run-6")
    goes_on(last, home)
    last.terminate()
    assert last.wait(PATIENCE_S) == 0, last.log
    assert home.lease.released and home.lease.run == "run-6"
    rows = home.rows()
    assert rows == list(range(3 * (home.committed + 1))), "every row once, none is lost"


def test_on_one_machine_a_killed_driver_is_not_waited_for(home: Home, machines: tuple[Machine, Machine, Any]) -> None:
    _, machine, _ = machines
    first = machine.start("run-1")
    goes_on(first, home)
    jvm = jvm_of(first)
    jvm.suspend()
    first.process.send_signal(signal.SIGKILL)
    second = machine.start("run-2")
    second.until(lambda driver: "watching for" in driver.log, PATIENCE_S)
    jvm.kill()
    goes_on(second, home)
    until(lambda: home.lease.run == "run-2")
