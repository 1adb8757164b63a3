"""Every kind of file of every golden checkpoint damaged in turn: what the doctor says is what is true."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from pipelines.checkpoint import doctor, sink_log
from pipelines.checkpoint.closure import closure
from pipelines.checkpoint.doctor import Examined, Subject
from pipelines.domain.errors import TidemarkError
from tests.checkpoint.golden import NAMES, MemoryStorage, checkpoint, in_memory, sink

SINK = "_spark_metadata/"
HARMS: dict[str, Callable[[bytes], bytes | None]] = {
    "delete": lambda data: None,
    "truncate": lambda data: data[: len(data) // 2],
    "flip": lambda data: data[:-3] + bytes([data[-3] ^ 0xFF]) + data[-2:],
}


@cache
def files(name: str) -> dict[str, bytes]:
    """A golden's checkpoint, and the log of its sink below `_spark_metadata/`."""
    log = {SINK + path: data for path, data in in_memory(sink(name)).files.items()}
    return in_memory(checkpoint(name)).files | log


def subject(held: dict[str, bytes], only: tuple[int, ...] | None = None) -> Subject:
    log = {path.removeprefix(SINK): data for path, data in held.items() if path.startswith(SINK)}
    return Subject(MemoryStorage({path: data for path, data in held.items() if not path.startswith(SINK)}), MemoryStorage(log), only)


def examined(held: dict[str, bytes]) -> Examined:
    return doctor.examine(subject(held))


class Watched(MemoryStorage):
    """Notes what is read."""

    def __init__(self, held: dict[str, bytes]) -> None:
        super().__init__(held)
        self.seen: set[str] = set()

    def read(self, path: str) -> bytes:
        self.seen.add(path)
        return super().read(path)


def with_companions(paths: set[str]) -> set[str]:
    return paths | {re.sub(r"([^/]+)$", r".\1.crc", path) for path in paths}


@cache
def needed(name: str, batch: int) -> frozenset[str]:
    """What a savepoint of `batch` is made from, with Hadoop's checksums of what is read."""
    whole = subject(files(name))
    state, log = Watched(whole.checkpoint.files), Watched(whole.sink_log.files)  # type: ignore[attr-defined, union-attr]
    made = closure(state, batch)
    sink_log.cut(sink_log.read(log, batch), batch)
    in_sink = {SINK + path for path in with_companions(log.seen)}
    return frozenset({entry.path for entry in made.clone} | with_companions(state.seen) | in_sink)


def possible(held: dict[str, bytes], batch: int) -> bool:
    """Whether the files for a savepoint of `batch` are all there and can be read."""
    whole = subject(held)
    try:
        closure(whole.checkpoint, batch)
        assert whole.sink_log is not None
        sink_log.cut(sink_log.read(whole.sink_log, batch), batch)
    except TidemarkError:
        return False
    return True


def kind(path: str) -> str:
    """The path without what distinguishes one file of its kind from the next; the four stores of a join are of one kind."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+|(?<=/)(left|right)-key\w+", "#", path)


def victims(name: str) -> list[str]:
    """The oldest and the newest of each kind."""
    by_kind: dict[str, list[str]] = {}
    for path in sorted(files(name), key=lambda path: [int(number) for number in re.findall(r"\d+", re.sub(r"_[0-9a-f-]{36}", "", path))]):
        by_kind.setdefault(kind(path), []).append(path)
    return [path for paths in by_kind.values() for path in dict.fromkeys((paths[0], paths[-1]))]


def true_batches(name: str, victim: str, harm: str, held: dict[str, bytes], healthy: tuple[int, ...]) -> set[int]:
    if harm == "delete":
        return {batch for batch in healthy if victim not in needed(name, batch) or possible(held, batch)}
    return {batch for batch in healthy if victim not in needed(name, batch)}


OPTIONAL = re.compile(r"\.crc$|/_metadata/(schema|metadata|v2/)|^commits/\d+$|^sources/0/0$")
"""What nothing in a checkpoint says that it was there: optional checksums, the newest commit, what Spark writes anew."""


def undetectable(victim: str, harm: str) -> bool:
    return harm == "delete" and OPTIONAL.search(victim) is not None


def seems_purged(name: str, victim: str, harm: str) -> bool:
    """The oldest snapshot of a store whose older files Spark has purged: without it, it looks as if Spark had purged one more."""
    return (name, harm) == ("hdfs_purged", "delete") and victim.endswith("/8.snapshot")


def mentions(examination: Examined, victim: str) -> set[int] | None:
    """The batches of the finding on `victim` or on the file that it is the checksum of; None where nothing is said of it."""
    main = re.sub(r"\.([^/]+)\.crc$", r"\1", victim)
    for finding in examination.findings:
        if finding.damage.path in (victim, main, victim.removesuffix(".compact")) or re.fullmatch(
            finding.damage.path.replace(".", r"\.").replace("*", ".*"), victim
        ):
            return set(finding.batches)
    return None


def cases(name: str) -> Iterator[tuple[str, str, dict[str, bytes]]]:
    for victim in victims(name):
        for harm, done in HARMS.items():
            after = done(files(name)[victim])
            rest = {path: data for path, data in files(name).items() if path != victim}
            yield victim, harm, rest if after is None else rest | {victim: after}


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_checkpoint_has_no_findings(name: str) -> None:
    examination = examined(files(name))
    assert examination.findings == ()
    assert examination.files == len(files(name))
    assert examination.restorable and all(possible(files(name), batch) for batch in examination.restorable)


@pytest.mark.parametrize("name", NAMES)
def test_no_damage_is_missed(name: str) -> None:
    healthy = examined(files(name)).restorable
    wrong: list[str] = []
    for victim, harm, held in cases(name):
        examination = examined(held)
        truth = true_batches(name, victim, harm, held, healthy)
        lost = set(healthy) - truth
        if set(examination.restorable) != truth:
            wrong.append(f"{harm} {victim}: restorable {examination.restorable}, in truth {sorted(truth)}")
        batches = mentions(examination, victim)
        if batches is None and lost and not undetectable(victim, harm) and not seems_purged(name, victim, harm):
            wrong.append(f"{harm} {victim}: not named, though {sorted(lost)} depend on it: {examination.findings[:2]}")
        if batches is not None and batches & set(healthy) != lost and harm != "delete":
            wrong.append(f"{harm} {victim}: said to be needed by {sorted(batches)}, in truth by {sorted(lost)}")
    assert wrong == []


FORMAT_2 = "rocksdb_format2"


def test_a_file_that_only_a_planned_batch_needs_is_named_and_affects_none() -> None:
    held = files("hdfs") | {"offsets/14": b"v1\nbroken", "state/0/0/15.delta": b"half"}
    examination = examined(held)
    assert {finding.damage.path: finding.batches for finding in examination.findings} == {"offsets/14": (), "state/0/0/15.delta": ()}
    assert examination.restorable == examined(files("hdfs")).restorable


def test_a_finding_says_what_it_is_and_what_depends_on_it() -> None:
    held = dict(files("hdfs"))
    del held["state/0/1/7.delta"], held["state/0/1/.7.delta.crc"]
    finding = examined(held).findings[0]
    assert (finding.damage.kind, finding.part) == ("missing", "state of operator 0, partition 1")
    assert 6 in finding.batches and 13 not in finding.batches, "a later snapshot holds what it held"


def test_an_sst_of_another_size_is_damage_without_any_checksum() -> None:
    victim = next(path for path in files("rocksdb") if path.endswith(".sst"))
    held = {path: data for path, data in files("rocksdb").items() if not path.endswith(".crc")}
    examination = examined(held | {victim: held[victim] + b"more"})
    assert [(finding.damage.path, finding.damage.kind) for finding in examination.findings] == [(victim, "size")]


@pytest.mark.parametrize("name", ["hdfs", "rocksdb_changelog", FORMAT_2])
def test_a_shortened_state_file_is_damage_without_any_checksum(name: str) -> None:
    held = {path: data for path, data in files(name).items() if not path.endswith(".crc")}
    for victim in [path for path in victims(name) if re.search(r"\.(delta|snapshot|changelog|zip)$", path)]:
        examination = examined(held | {victim: held[victim][:-7]})
        assert [finding.damage.path for finding in examination.findings] == [victim]


def test_only_the_batch_of_a_savepoint_is_judged() -> None:
    made = closure(checkpoint(FORMAT_2), 11)
    held = {entry.path: checkpoint(FORMAT_2).read(entry.path) for entry in made.clone} | dict(made.write)
    examination = doctor.examine(Subject(MemoryStorage(held), None, (11,)))
    assert (examination.restorable, examination.findings) == ((11,), ())
    del held["commits/11"]
    examination = doctor.examine(Subject(MemoryStorage(held), None, (11,)))
    assert (examination.restorable, [finding.damage.path for finding in examination.findings]) == ((), ["commits/11"])


@pytest.mark.parametrize("name", [name for name in NAMES if "purged" not in name])
@pytest.mark.parametrize("batch", [1, 2])
def test_what_a_savepoint_left_behind_is_no_damage(name: str, batch: int) -> None:
    """A checkpoint restored from it has the batch before in its logs, and need not have its state."""
    made = closure(checkpoint(name), batch)
    held = {entry.path: checkpoint(name).read(entry.path) for entry in made.clone} | dict(made.write)
    examination = doctor.examine(Subject(MemoryStorage(held)))
    assert examination.findings == () and batch in examination.restorable


class Purging(MemoryStorage):
    """A live checkpoint: what Spark purges goes while it is read, after it was listed."""

    def __init__(self, held: dict[str, bytes], purged: frozenset[str]) -> None:
        super().__init__(held)
        self.purged = purged

    def read(self, path: str) -> bytes:
        for gone in self.purged:
            self.files.pop(gone, None)
        return super().read(path)


def test_what_is_purged_meanwhile_is_no_damage() -> None:
    """Spark's own purge of everything that only batches up to 7 need."""
    whole = in_memory(checkpoint("hdfs")).files
    kept = {path for batch in range(9, 14) for path in needed("hdfs", batch)}
    old = frozenset(path for path in whole if path not in kept and re.search(r"^(offsets|commits)/\.?[0-7]\b|^state/0/\d/\.?[0-7]\.", path))
    assert "offsets/3" in old
    examination = doctor.examine(Subject(Purging(whole, old)))
    assert examination.findings == ()
    assert set(range(9, 14)) <= set(examination.restorable)
    assert not set(range(7)) & set(examination.restorable)
