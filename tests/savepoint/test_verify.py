from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Damage, Proof, Trust, Verification
from pipelines.savepoint import checksums, library, verify
from pipelines.storage import documents
from tests import verified as verifying
from tests.savepoint.golden import NOW_MS, Bench

SP = SavepointId("sp-1")


def verified(bench: Bench, level: Trust = Trust.INTACT, at_ms: int = NOW_MS) -> Verification:
    return verifying.verified(bench.library, SP, level, at_ms)


def victim(bench: Bench) -> Path:
    return bench.folder / "savepoints" / "sp-1" / "queries" / "counts" / "checkpoint" / "offsets" / "13"


def replaced(path: Path, data: bytes) -> None:
    """Under the same name, not in the file: the job's own is the same file by another name."""
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("cpus", [1, 3])
def test_no_more_files_are_read_at_once_than_it_may_have_processors(bench: Bench, cpus: int) -> None:
    """When it is sealed, and when it is compared with that."""
    bench.take()
    reading, most = 0, 0
    lock = threading.Lock()

    def watched(size: int) -> None:
        nonlocal reading, most
        with lock:
            reading += 1
            most = max(most, reading)
        time.sleep(0.01)
        with lock:
            reading -= 1

    for _ in ("sealed", "compared"):
        most = 0
        assert verify.check(bench.library, SP, Trust.INTACT, NOW_MS, watched, cpus).reached is Trust.INTACT
        assert most == cpus


def test_the_first_intact_verification_seals_and_says_when(bench: Bench) -> None:
    bench.take()
    assert library.load(bench.library, SP).verified_ms is None
    first, second = verified(bench), verified(bench, at_ms=NOW_MS + 5)
    assert (first.reached, first.sealed_ms, first.at_ms) == (Trust.INTACT, NOW_MS, NOW_MS)
    assert (second.reached, second.sealed_ms, second.at_ms) == (Trust.INTACT, NOW_MS, NOW_MS + 5)
    shown = library.load(bench.library, SP)
    assert (shown.trust, shown.verified_ms, shown.damaged_files) == (Trust.INTACT, NOW_MS + 5, 0)


def test_a_seal_is_made_once_and_covers_every_file_and_the_manifest(bench: Bench) -> None:
    bench.take()
    done: list[int] = []
    made = checksums.seal(bench.library, SP, 1, done.append)
    assert checksums.seal(bench.library, SP, 2) == made
    manifest = library.manifest(bench.library, SP)
    assert set(made.files) == {file.path for file in manifest.files} | {"manifest.json"}
    assert sum(done) == sum(file.bytes for file in manifest.files)


@pytest.mark.parametrize(
    ("kind", "harm"),
    [
        ("missing", lambda path: path.unlink()),
        ("size", lambda path: replaced(path, path.read_bytes() + b" ")),
        ("checksum", lambda path: replaced(path, path.read_bytes()[:-1] + b"?")),
    ],
)
def test_damage_is_found_named_and_remembered(kind: str, harm: Callable[[Path], None], bench: Bench) -> None:
    bench.take()
    verified(bench)
    harm(victim(bench))
    verification = verified(bench)
    assert verification.reached is None
    assert [(damage.path, damage.kind) for damage in verification.damages] == [("queries/counts/checkpoint/offsets/13", kind)]
    assert library.load(bench.library, SP).damaged_files == 1


def test_an_incomplete_savepoint_is_not_sealed(bench: Bench) -> None:
    bench.take()
    victim(bench).unlink()
    assert verified(bench).reached is None
    assert checksums.read(bench.library, SP) is None


def test_a_changed_manifest_is_damage(bench: Bench) -> None:
    bench.take()
    verified(bench)
    manifest = bench.folder / "savepoints" / "sp-1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"label": ""', '"label": "other"'))
    assert [damage.path for damage in verified(bench).damages] == ["manifest.json"]


def test_a_lower_level_reached_later_does_not_hide_a_higher_one(bench: Bench) -> None:
    bench.take()
    verified(bench)
    assert verified(bench, Trust.COMPLETE, NOW_MS + 9).reached is Trust.COMPLETE
    assert library.load(bench.library, SP).trust is Trust.INTACT


def proof(note: str = "") -> Proof:
    return Proof("4.3.0", (), (), 1.0, note)


def recorded(bench: Bench, reached: Trust | None, at_ms: int, *damages: Damage, note: str = "") -> Verification:
    """What a proof that ended like this leaves."""
    verification = Verification(SP, Trust.PROVED, reached, at_ms, 1, 1, damages, proof=proof(note))
    return verify.record(bench.library, verification)


def test_every_level_keeps_the_time_it_was_last_reached_at(bench: Bench) -> None:
    bench.take()
    recorded(bench, Trust.PROVED, NOW_MS)
    verification = verified(bench, Trust.COMPLETE, NOW_MS + 5)
    assert verification.levels == {Trust.COMPLETE: NOW_MS + 5, Trust.INTACT: NOW_MS, Trust.PROVED: NOW_MS}
    shown = library.load(bench.library, SP)
    assert (shown.trust, shown.verified_ms, shown.levels) == (Trust.PROVED, NOW_MS, verification.levels)


def test_a_proof_that_found_no_data_leaves_the_earlier_one_and_tells_why(bench: Bench) -> None:
    bench.take()
    recorded(bench, Trust.PROVED, NOW_MS)
    verification = recorded(bench, Trust.INTACT, NOW_MS + 5, note="nothing new")
    assert verification.levels == {Trust.COMPLETE: NOW_MS + 5, Trust.INTACT: NOW_MS + 5, Trust.PROVED: NOW_MS}
    assert library.load(bench.library, SP).trust is Trust.PROVED
    assert verified(bench, at_ms=NOW_MS + 6).proof == proof("nothing new")


@pytest.mark.parametrize("asked", [Trust.COMPLETE, Trust.INTACT])
def test_damage_that_only_a_proof_sees_is_not_cleared_by_less(asked: Trust, bench: Bench) -> None:
    bench.take()
    state = Damage("queries/counts/checkpoint/state/0", "state", "has 3 rows")
    recorded(bench, None, NOW_MS, state)
    verification = verified(bench, asked, NOW_MS + 5)
    assert (verification.reached, verification.damages, verification.levels) == (None, (state,), {})
    assert library.load(bench.library, SP).damaged_files == 1
    assert recorded(bench, Trust.PROVED, NOW_MS + 6).damages == ()
    assert library.load(bench.library, SP).damaged_files == 0


def test_a_changed_file_is_not_forgotten_by_a_look_at_the_sizes(bench: Bench) -> None:
    bench.take()
    verified(bench)
    good = victim(bench).read_bytes()
    replaced(victim(bench), good[:-1] + b"?")
    assert verified(bench).damages
    assert verified(bench, Trust.COMPLETE).damages
    replaced(victim(bench), good)
    assert verified(bench).damages == ()


def test_what_was_verified_before_there_were_levels_has_them(bench: Bench) -> None:
    bench.take()
    old = documents.plain(Verification(SP, Trust.INTACT, Trust.INTACT, NOW_MS, 1, 1))
    del old["levels"], old["proof"]
    bench.library.write("sp-1/verified.json", json.dumps(old).encode())
    assert verified(bench, Trust.COMPLETE, NOW_MS + 1).levels == {Trust.COMPLETE: NOW_MS + 1, Trust.INTACT: NOW_MS}
