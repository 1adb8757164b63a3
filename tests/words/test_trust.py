"""Trust in words: levels, damage, what a verification reached, what a proof counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.ids import RunId, VersionId
from pipelines.domain.savepoints import Reason
from pipelines.domain.trust import Damage, Trust
from pipelines.words import diagnoses, savepoints, trust
from tests import samples

TAKEN = samples.savepoint("sp-1", "a", version=VersionId("v-1"), run=RunId("r-1"))


@pytest.mark.parametrize(
    ("trust_now", "levels", "damaged", "best"),
    [
        (Trust.COMPLETE, {}, 0, "complete"),
        (Trust.COMPLETE, {Trust.INTACT: 1, Trust.PROVED: 2}, 0, "proved"),
        (Trust.INTACT, {Trust.COMPLETE: 1}, 0, "intact"),
        (Trust.PROVED, {Trust.PROVED: 2}, 1, "damaged"),
    ],
)
def test_the_best_level_counts_unless_there_is_damage(trust_now: Trust, levels: dict[Trust, int], damaged: int, best: str) -> None:
    assert trust.best(replace(TAKEN, trust=trust_now, levels=levels, damaged_files=damaged)) == best


def test_a_savepoint_is_complete_from_its_creation_on_and_a_damaged_one_nothing() -> None:
    assert trust.reached(TAKEN) == {Trust.COMPLETE: TAKEN.created_ms}
    assert trust.reached(replace(TAKEN, damaged_files=1, levels={Trust.INTACT: 5})) == {}


def test_a_verification_falls_short_only_without_damage() -> None:
    intact = samples.verification(TAKEN, Trust.INTACT)
    asked = replace(intact, asked=Trust.PROVED)
    assert trust.falls_short(asked, Trust.PROVED) and not trust.falls_short(asked, Trust.COMPLETE)
    assert not trust.falls_short(replace(asked, reached=None, damages=(Damage("a", "missing", "gone"),)), Trust.PROVED)
    assert trust.shortfall("sp-1", None, Trust.INTACT) == "sp-1 is not even complete, not intact"
    assert trust.reason(replace(asked, proof=None)) == "Nothing is damaged, but the level was not reached."


def test_every_origin_and_every_damage_has_words() -> None:
    assert set(savepoints.ORIGINS) == set(savepoints.ORIGIN_HINTS) == set(Reason)
    assert trust.damage("sp-1", 1) == "sp-1 has 1 damaged file" and trust.damage("sp-1", 2) == "sp-1 has 2 damaged files"
    rows = diagnoses.findings(samples.diagnosis("a", "/a", damaged=True).findings)
    assert [row[1] for row in rows] == ["missing"]


def test_what_can_be_restored() -> None:
    sound = samples.diagnosis("a", "/a", damaged=False)
    assert dict(diagnoses.facts(sound))["can be restored"] == "batches 7–9"
    assert dict(diagnoses.facts(replace(sound, restorable=(9,))))["can be restored"] == "batch 9"
    none = dict(diagnoses.facts(replace(sound, restorable=(), newest_committed=None)))
    assert (none["can be restored"], none["newest committed"]) == ("no batch", "no batch")


def test_new_bytes_are_no_part_of_the_size() -> None:
    """A small savepoint writes more (its manifest) than Spark's files have."""
    assert savepoints.taken(replace(TAKEN, bytes=11_200, new_bytes=15_100)).split(", ")[2:4] == ["11.2 kB", "15.1 kB new on disk"]
