"""A lease at a home has one holder: against a real S3 server, whose conditions hold also where many ask at once, and a real HDFS. Here
Python asks them; how a driver's JVM does is in `tests/long/test_home_leases.py`."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.home_leases import LEASED, LOST, HomeLease, Machine, parsed
from pipelines.domain.numbered_leases import Content, NumberedLease
from pipelines.driver.home_lease import HeldLease
from pipelines.storage.hdfs.client import open_client
from tests.partition import Partition, partition
from tests.storage.s3_server import BUCKET
from tests.waiting import until

NOW_MS = 1_800_000_000_000
SHORT_S, PERIOD_S, FOREVER_S = 1.5, 20.0, 3_600.0
"""Periods: of a lease that is to be lost, of one that is to be renewed in time on a busy machine, and of one that needs no renewal."""
SENT_S = 30.0
"""How long a request of these tests waits for its answer."""


class S3File:
    """A file in the bucket, for a driver that reaches it at `endpoint`."""

    def __init__(self, endpoint: str, key: str) -> None:
        from botocore.config import Config
        from botocore.session import Session

        once = Config(connect_timeout=SENT_S, read_timeout=SENT_S, retries={"total_max_attempts": 1})
        self._api = Session().create_client("s3", endpoint_url=endpoint, config=once)
        self._at = {"Bucket": BUCKET, "Key": key}

    def read(self) -> Content | None:
        response = self._asked({"NoSuchKey"}, lambda: self._api.get_object(**self._at))
        return Content(response["Body"].read().decode(), response["ETag"]) if response else None

    def write(self, text: str, over: Content | None) -> bool:
        condition = {"IfNoneMatch": "*"} if over is None else {"IfMatch": over.tag}
        not_met = {"PreconditionFailed", "NoSuchKey"}
        return self._asked(not_met, lambda: self._api.put_object(**self._at, **condition, Body=text.encode())) is not None

    def delete(self) -> None:
        self._api.delete_object(**self._at)

    def _asked(self, answers: set[str], ask: Callable[[], Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return ask()
        except ClientError as error:
            if error.response["Error"]["Code"] not in answers:
                raise OSError(str(error)) from error
            return None
        except BotoCoreError as error:
            raise OSError(str(error)) from error


class WebFolder:
    """A folder in HDFS, by its NameNode's HTTP at `endpoint`; it is what `numbered_lease.HadoopFolder` is in a driver."""

    def __init__(self, endpoint: str, path: str) -> None:
        self._client = open_client(f"webhdfs://{endpoint.removeprefix('http://')}/")
        self._path = path

    def names(self) -> list[str]:
        try:
            return [str(status["pathSuffix"]) for status in self._client.statuses(self._path)]
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str | None:
        try:
            with self._client.get(f"{self._path}/{name}") as answer:
                return str(answer.content.decode())
        except FileNotFoundError:
            return None

    def create(self, name: str, text: str) -> None:
        self._client.create(f"{self._path}/{name}", text.encode())

    def rename(self, name: str, new: str) -> bool:
        answer = self._client.ask("RENAME", f"{self._path}/{name}", "PUT", destination=f"{self._path}/{new}")
        return bool(answer.json()["boolean"])

    def delete(self, name: str) -> None:
        self._client.discard(f"{self._path}/{name}")


class HdfsFile(NumberedLease):
    """The lease in HDFS for a driver that reaches it at `endpoint`."""

    def __init__(self, endpoint: str, path: str) -> None:
        self.folder = WebFolder(endpoint, path)
        super().__init__(self.folder, lambda: secrets.token_hex(8))

    def delete(self) -> None:
        for name in self.folder.names():
            self.folder.delete(name)


@dataclass
class Driver:
    """One that wants the lease, with a clock that may be wrong, and what became of it."""

    file: S3File | HdfsFile
    name: str
    period_s: float = PERIOD_S
    clock_ms: int = NOW_MS
    gone: frozenset[str] = frozenset()
    """The runs whose machine says that they are gone."""
    halts_at: float = float("inf")
    lost: list[TidemarkError] = field(default_factory=list)
    taken_at: float = 0.0

    def __post_init__(self) -> None:
        mine = HomeLease(self.name, f"holder of {self.name}", "host", Machine("", 0, 0), self.period_s, self.clock_ms, self.clock_ms)
        self.lease = HeldLease("s3a://home/job", self.file, self, mine, lambda: self.clock_ms, lambda it: it.run in self.gone, self._lose)

    def take(self) -> None:
        self.lease.take()
        self.taken_at = time.monotonic()

    def arm(self, seconds: float) -> None:
        self.halts_at = time.monotonic() + seconds

    def disarm(self) -> None:
        self.halts_at = float("inf")

    def _lose(self, error: TidemarkError) -> None:
        self.lost.append(error)


Begin = Callable[..., Driver]


@dataclass(frozen=True)
class Home:
    """Where the lease of a test is."""

    endpoint: str
    """`http://host:port`."""
    file: Callable[[str, str], S3File | HdfsFile]
    """A lease, by its name, for who reaches it at an endpoint."""


@pytest.fixture(params=["s3", "hdfs"])
def home(request: pytest.FixtureRequest) -> Home:
    folder = request.getfixturevalue(f"{request.param}_url").rpartition("/")[2]
    if request.param == "hdfs":
        return Home(request.getfixturevalue("hdfs").web.replace("webhdfs", "http"), lambda at, of: HdfsFile(at, f"/{folder}/{of}"))
    return Home(request.getfixturevalue("s3_server").endpoint, lambda at, of: S3File(at, f"{folder}/{of}.json"))


@pytest.fixture
def begin(home: Home) -> Iterator[Begin]:
    """Makes drivers of one lease, unless they say which; what they hold is released in the end."""
    drivers: list[Driver] = []

    def make(name: str, endpoint: str = "", lease: str = "lease", **told: Any) -> Driver:
        drivers.append(Driver(home.file(endpoint or home.endpoint, lease), name, **told))
        return drivers[-1]

    yield make
    for driver in drivers:
        if driver.taken_at and not driver.lost:
            driver.lease.release()


@pytest.fixture
def between(home: Home) -> Iterator[Partition]:
    with partition(home.endpoint) as between:
        yield between


def refused(driver: Driver) -> Conflict:
    with pytest.raises(Conflict) as error:
        driver.take()
    assert error.value.code == LEASED
    return error.value


def test_a_second_driver_is_refused_while_the_first_renews_and_told_by_whom(begin: Begin) -> None:
    first, second = begin("r-1"), begin("r-2", clock_ms=NOW_MS + 86_400_000)
    first.take()
    error = refused(second)
    assert "run r-1 (on host, since 2027-01-15T08:00:00+00:00)" in error.message and "until 2027-01-15T08:00:20+00:00" in error.message
    assert "20 s after the last renewal" in error.hint and not first.lost


def test_of_many_at_once_one_has_it(begin: Begin) -> None:
    drivers = [begin(f"r-{number}") for number in range(8)]
    together = threading.Barrier(len(drivers))

    def attempt(driver: Driver) -> bool:
        together.wait()
        try:
            driver.take()
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(len(drivers)) as beside:
        taken = list(beside.map(attempt, drivers))
    assert taken.count(True) == 1
    there = drivers[0].file.read()
    assert there and parsed(there.text) and parsed(there.text).run == drivers[taken.index(True)].name  # type: ignore[union-attr]


def test_what_a_driver_gives_back_is_free_at_once(begin: Begin) -> None:
    first, second = begin("r-1", period_s=FOREVER_S), begin("r-2", period_s=FOREVER_S)
    first.take()
    assert first.halts_at < float("inf")
    first.lease.release()
    second.take()
    assert first.halts_at == float("inf")


def test_a_run_that_its_machine_knows_to_be_gone_is_not_waited_for(begin: Begin) -> None:
    first, second = begin("r-1", period_s=FOREVER_S), begin("r-2", period_s=FOREVER_S, gone=frozenset({"r-1"}))
    first.take()
    second.take()


def test_one_that_is_cut_off_ends_before_another_has_it(begin: Begin, between: Partition) -> None:
    """Whatever its clock says: those of the two are days apart."""
    first = begin("r-1", between.endpoint, period_s=SHORT_S)
    second = begin("r-2", period_s=FOREVER_S, clock_ms=NOW_MS - 10 * 86_400_000)
    first.take()
    between.cut()
    second.take()
    assert first.halts_at < second.taken_at
    until(lambda: len(first.lost) == 1)
    assert first.lost[0].code == LOST and f"could not be renewed for {0.85 * SHORT_S:g} s" in first.lost[0].message


def test_a_renewal_that_arrives_late_takes_nothing_back(begin: Begin, between: Partition) -> None:
    first, second = begin("r-1", between.endpoint, period_s=SHORT_S), begin("r-2", period_s=FOREVER_S)
    first.take()
    between.cut()
    second.take()
    there = second.file.read()
    between.heal()
    until(lambda: len(first.lost) == 1 and first.lease._renewals.settled(0))
    assert second.file.read() == there


def test_a_driver_whose_lease_is_not_there_any_more_ends_and_one_whose_renewal_nobody_heard_of_goes_on(begin: Begin) -> None:
    """Each has a lease of its own, so that all wait for their renewals at once."""
    taken, deleted, unheard = (begin("r-1", lease=fate) for fate in ("taken", "deleted", "unheard"))
    taken.take()
    there = taken.file.read()
    theirs = parsed(there.text) if there else None
    assert there and theirs
    assert taken.file.write(replace(theirs, run="r-9", holder="another").text, there)
    deleted.take()
    deleted.file.delete()
    unheard.take()
    ours = renewed_unheard(unheard)
    for driver in (taken, deleted):
        until(lambda driver=driver: len(driver.lost) == 1)  # type: ignore[misc]
        assert "was taken by another driver, or deleted" in driver.lost[0].message
    until(lambda: unheard.file.read() != ours)
    assert not unheard.lost


def renewed_unheard(driver: Driver) -> Content | None:
    """The store took a renewal and its answer was lost: what is there is the driver's own, with an ETag that it does not know."""
    there = driver.file.read()
    lease = parsed(there.text) if there else None
    assert there and lease
    assert driver.file.write(lease.renewed(NOW_MS + 1).text, there)
    return driver.file.read()


def test_a_file_that_is_no_lease_gives_way_in_time(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.domain.home_leases.PERIOD_S", 0.3)
    first = begin("r-1", period_s=FOREVER_S)
    first.file.write('{"format": 1, "run": ["r"]}', None)
    first.take()


@pytest.mark.parametrize("home", ["s3"], indirect=True)
def test_a_store_that_passes_over_conditions_is_found_out(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    first = begin("r-1", period_s=FOREVER_S)
    first.take()
    assert first.lease.conditions_hold() and isinstance(first.file, S3File)
    put = first.file._api.put_object
    monkeypatch.setattr(first.file._api, "put_object", lambda **told: put(**{k: v for k, v in told.items() if not k.startswith("If")}))
    assert not first.lease.conditions_hold()


@pytest.mark.parametrize("home", ["hdfs"], indirect=True)
def test_one_so_late_that_its_number_is_free_again_has_written_nothing(begin: Begin) -> None:
    """It looked before another wrote twice, and removed what it had written first; what is left of all that is one file."""
    late, file = begin("r-1").file, begin("r-2").file
    assert isinstance(late, HdfsFile) and isinstance(file, HdfsFile)
    rename, written = late.folder.rename, list[Content]()

    def overtaken(name: str, new: str) -> bool:
        for text in ("first", "second"):
            assert file.write(text, written[-1] if written else None)
            written.append(file.read() or Content("", ""))
        return rename(name, new)

    late.folder.rename = overtaken  # type: ignore[method-assign]
    assert not late.write("late", None)
    assert file.read() == late.read() == Content("second", "2")
    assert file.write("third", written[-1]) and file.folder.names() == ["3"]
